"""JSON Schema keywords that a Python type does not express."""

from typing import Any


class Keywords:
    """An annotation for the OpenAPI document: `Annotated[int, Keywords(minimum=0)]`."""

    def __init__(self, **keywords: Any) -> None:
        self.schema = keywords
