"""What is wrong with the columns of a definition, by the rules of its model."""

from collections.abc import Collection, Iterator, Mapping

from django.core.exceptions import ValidationError
from django.db.models import Model


def column_mistakes(
    record: Model, *, except_for: Collection[str], spellings: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Each column whose value is wrong, and a sentence that begins with its name as definitions spell it."""
    try:
        record.clean_fields(exclude=set(except_for))
    except ValidationError as invalid:
        for column, errors in invalid.error_dict.items():
            for error in errors:
                yield column, f"{spellings.get(column, column)}{_in_words(record, column, error)}"


def _in_words(record: Model, column: str, error: ValidationError) -> str:
    if error.code != "invalid_choice":
        return f": {' '.join(error.messages)}"
    choices = getattr(record._meta.get_field(column), "choices", None) or ()
    return f" is {getattr(record, column)!r}, which is none of {', '.join(str(value) for value, _ in choices)}."
