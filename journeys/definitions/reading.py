"""What all parts of a seed file share: how they refuse, texts that fit their column, and how rows are stored."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Model

from engage.audit.facts import Facts, facts_of
from engage.audit.recording import record, saved
from engage.database.keys import KeyField, refuse_ambiguous_key
from engage.errors import Refusal
from engage.json.documents import Part, Reading
from engage.resources.columns import in_words
from engage.resources.fields import KEY, Described, Readers, read_item


class InvalidSeed(Refusal):
    """The seed file cannot be carried out; the message begins with the place: `customers[3].email must …`."""

    error = "Invalid seed"


def text_for(part: Part, model: type[Model], column: str) -> str:
    """A non-blank string that the model's field of this name accepts. Raises InvalidSeed."""
    text = part.text()
    try:
        model._meta.get_field(column).run_validators(text)  # type: ignore[union-attr]
    except ValidationError as invalid:
        raise InvalidSeed(f"{part.place}{in_words(invalid.error_list[0])}").at(part.place) from None
    return text


def require_new_key(key: str, place: str) -> None:
    """Raises InvalidSeed unless something new may have this key."""
    try:
        KeyField().run_validators(key)
        refuse_ambiguous_key(key)
    except ValidationError as invalid:
        raise InvalidSeed(f"{place}{in_words(invalid.error_list[0])}").at(place) from None


def refuse_duplicates(parts: Iterable[Part]) -> None:
    """Refuses the second of two equal strings: it would overwrite what the first one names."""
    places: dict[str, str] = {}
    for part in parts:
        text = part.text()
        if text in places:
            part.refuse(f"is the same as {places[text]}.")
        places[text] = part.place


def read_described(part: Part, shape: type, *, instead: Readers | None = None) -> list[Described]:
    """Each item: its key, and what is said of the fields of its shape."""
    items = part.items()
    with Reading() as read:
        each = read.each(items, lambda item: read_item(item, shape, read, instead=instead))
    refuse_duplicates(item.field(KEY) for item in items)
    return each


def store(rows: Sequence[Model], *, fields: Sequence[str], before: Mapping[str, Facts], named: str) -> None:
    """Writes new and changed rows, which hold all their values, and has the audit know of what differs.

    `before` are the facts of those that were there, by the column that names them.
    """
    if rows:
        model: Any = type(rows[0])
        model.objects.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=fields)
        each = (saved(row, before=before.get(getattr(row, named)), after=facts_of(row)) for row in rows)
        record(*(one for entries in each for one in entries))
