"""What JSON Schema can say of a type beyond the type itself."""

from typing import Any


class Keywords:
    """Stands in Annotated, for the OpenAPI document: `Annotated[int, Keywords(minimum=0)]`."""

    def __init__(self, **keywords: Any) -> None:
        self.schema = keywords
