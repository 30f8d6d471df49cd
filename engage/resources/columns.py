"""What is wrong with the columns of a definition, by the rules of its model."""

from collections.abc import Collection, Iterator, Mapping

from django.core.exceptions import ValidationError
from django.db.models import Model

from engage.json.mistakes import BLANK, none_of, too_long


def column_mistakes(
    record: Model, *, except_for: Collection[str], spellings: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Each column whose value is wrong, and a sentence that begins with its name as definitions spell it."""
    try:
        record.clean_fields(exclude=set(except_for))
    except ValidationError as invalid:
        for column, errors in invalid.error_dict.items():
            for error in errors:
                choices = [str(value) for value, _ in getattr(record._meta.get_field(column), "choices", None) or ()]
                wrong = f" {none_of(choices, str(getattr(record, column)))}" if error.code == "invalid_choice" else ""
                yield column, f"{spellings.get(column, column)}{wrong or in_words(error)}"


def in_words(error: ValidationError) -> str:
    """What Django finds wrong with a column, as it goes on from the column's name."""
    values = error.params or {}
    match error.code:
        case "blank":
            return f" {BLANK}"
        case "max_length":
            return f" {too_long(values['show_value'], values['limit_value'])}"
        case "min_value":
            return f" must be at least {values['limit_value']}."
        case "max_value":
            return f" must be at most {values['limit_value']}."
    return f": {' '.join(error.messages)}"
