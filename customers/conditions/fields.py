"""A condition's fields: values of the customer, of the trigger's payload, of the event, or of webhooks' answers.

Dots lead into objects, never into arrays. `customer.<field>` is the attribute of that name, but for the names of
identifiers: those mean the identifier and nothing else, in every spelling, because anybody who sends an in-app message
may write attributes. `customer.attributes.<name>` is always the attribute. `api.payload` and `api.properties` are the
same.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from engage.json.documents import Part
from engage.json.storable import STORED_DEPTH, unstorable

MAX_FIELD_LENGTH = 512
_POSITION = re.compile(r"\[-?[0-9]+\]")

# The identifiers' spellings, and their columns.
IDENTIFIER_COLUMNS = {
    "external_id": "external_id",
    "externalId": "external_id",
    "email": "email",
    "phone": "phone",
    "user_id": "user_id",
    "userId": "user_id",
    "customerId": "id",
    "id": "id",
}


class Root(StrEnum):
    """The first name of a field. Which roots are known depends on where the condition is used."""

    CUSTOMER = "customer"
    API = "api"
    EVENT = "event"
    ENTRANCE = "entrance"
    STEPS = "steps"
    ANSWER = "answer"


# What an enrollment knows; the answer is that of a webhook, which is asked about alone.
ENROLLED = (Root.CUSTOMER, Root.API, Root.EVENT, Root.ENTRANCE, Root.STEPS)


class Source(StrEnum):
    """Where a field's value is looked up."""

    CUSTOMER = "customer"
    ATTRIBUTES = "customer.attributes"
    PAYLOAD = "api.payload"
    EVENT_NAME = "event.name"
    EVENT_MESSAGE = "event.messageId"
    EVENT_VERIFIED = "event.verified"
    EVENT_PROPERTIES = "event.properties"
    ENTRANCE_ID = "entrance.id"
    STEPS = "steps"
    ANSWER = "answer"


_FORMS = {
    Root.CUSTOMER: "customer.<field>",
    Root.API: "api.payload.<key>",
    Root.EVENT: "event.name, event.messageId, event.deliveryId, event.verified or event.properties.<key>",
    Root.ENTRANCE: "entrance.id",
    Root.STEPS: "steps.<id>.<name>",
    Root.ANSWER: "answer.status, answer.headers.<name> or answer.body.<key>",
}


@dataclass(frozen=True)
class Field:
    """A source, and the names that lead to the value in it."""

    source: Source
    path: tuple[str, ...] = ()

    @property
    def root(self) -> Root:
        return Root(self.source.partition(".")[0])

    @property
    def name(self) -> str:
        """As it is written: `api.payload.total`."""
        return ".".join((self.source, *self.path))

    @property
    def identifier_column(self) -> str | None:
        """The column of the identifier that it means; None if it means something else."""
        return IDENTIFIER_COLUMNS.get(self.path[0]) if self.source is Source.CUSTOMER else None

    @property
    def identifier(self) -> str | None:
        """The same, unless it looks for something within the identifier, which has nothing in it."""
        return self.identifier_column if len(self.path) == 1 else None


def parse_field(part: Part, *, roots: Collection[str]) -> Field:
    """The field that a condition's `field` names. Refuses a text that names no field of these roots."""
    text = part.text(at_most=MAX_FIELD_LENGTH)
    if problem := unstorable(text):
        part.refuse(f"holds {problem}, which no name can hold.")
    names = text.split(".")
    if "" in names:
        part.refuse(f"is {text!r}, where a name between the dots is empty.")
    if len(names) > STORED_DEPTH + 2:
        part.refuse(f"goes through {len(names)} names; values are nested at most {STORED_DEPTH} deep.")
    field = _field(names) if names[0] in roots else None
    if field is None:
        known = ", ".join(form for root, form in _FORMS.items() if root in roots)
        part.refuse(f"is {text!r}, which is no field here; a field is {known}.")
    return field


def refuse_position(part: Part) -> None:
    """Refuses a position in a list, which in a condition would be a part of a name."""
    if isinstance(part.value, str) and (found := _POSITION.search(part.value)):
        part.refuse(
            f"holds {found.group()}, but a condition does not look into lists. contains finds one of their items."
        )


def _field(names: list[str]) -> Field | None:  # noqa: C901 (one case for each form)
    match names:
        case ["customer", "attributes"]:
            return None
        case ["customer", "attributes", *path]:
            return Field(Source.ATTRIBUTES, tuple(path))
        case ["customer", first, *rest]:
            return Field(Source.CUSTOMER, (first, *rest))
        case ["api", "payload" | "properties", first, *rest]:
            return Field(Source.PAYLOAD, (first, *rest))
        case ["event", "name" | "messageId" | "verified" as name]:
            return Field(Source(f"event.{name}"))
        case ["event", "deliveryId"]:  # where the service's own events have it
            return Field(Source.EVENT_PROPERTIES, ("deliveryId",))
        case ["event", "properties", first, *rest]:
            return Field(Source.EVENT_PROPERTIES, (first, *rest))
        case ["entrance", "id"]:
            return Field(Source.ENTRANCE_ID)
        case ["steps", step_id, name, *rest]:
            return Field(Source.STEPS, (step_id, name, *rest))
        case ["answer", *path]:
            return _of_answer(path)
    return None


def _of_answer(path: list[str]) -> Field | None:
    match path:
        case ["status"] | ["body", _, *_]:
            return Field(Source.ANSWER, tuple(path))
        case ["headers", name]:
            return Field(Source.ANSWER, ("headers", name.lower()))
    return None
