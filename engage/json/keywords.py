"""What the OpenAPI document says of a type that Python does not express: annotations such as `Annotated[int, …]`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# The keywords that a schema has instead in the strict form of the OpenAPI document: see engage/schema/forms.py.
STRICT = "x-strict"


class Keywords:
    """JSON Schema keywords: `Annotated[int, Keywords(minimum=0)]`."""

    def __init__(self, *, strict: Mapping[str, Any] | None = None, **keywords: Any) -> None:
        self.schema = {**keywords, STRICT: strict} if strict else keywords


@dataclass(frozen=True)
class Choice:
    """One of these texts, as a type with a name: `JobStatus = Annotated[str, Choice("JobStatus", ("queued", …))]`."""

    name: str
    values: tuple[str, ...]
