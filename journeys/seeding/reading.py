"""What the parsers of all parts of a seed file share: how they refuse, and texts that fit their column."""

from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.db.models import Model

from engage.errors import Refusal
from engage.json.documents import Part


class InvalidSeed(Refusal):
    """The seed file cannot be carried out; the message begins with the place: `customers[3].email must …`."""

    error = "Invalid seed"


def text_for(part: Part, model: type[Model], column: str) -> str:
    """A non-blank string that the model's field of this name accepts. Raises InvalidSeed."""
    text = part.text()
    try:
        model._meta.get_field(column).run_validators(text)  # type: ignore[union-attr]
    except ValidationError as invalid:
        raise InvalidSeed(f"{part.place}: {invalid.messages[0]}") from None
    return text


def refuse_duplicates(parts: Iterable[Part]) -> None:
    """Refuses the second of two equal strings: it would overwrite what the first one names."""
    places: dict[str, str] = {}
    for part in parts:
        text = part.text()
        if text in places:
            part.refuse(f"is the same as {places[text]}.")
        places[text] = part.place
