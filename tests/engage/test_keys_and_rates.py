"""What a key and a rate may be, wherever they come from; the admin's forms strip what they are given."""

import pytest
from django.core.exceptions import ValidationError
from django.db.models import Field, Model

from customers.models import Segment
from engage.models import ApiKey, Workspace
from journeys.models import Journey
from tests.support.cases import each


@each(
    "model, column, text",
    [(Workspace, "key", "acme"), (Segment, "key", "vip"), (Journey, "key", "welcome"), (ApiKey, "rate_limit", "100/m")],
)
def test_a_newline_at_the_end_is_refused(model: type[Model], column: str, text: str) -> None:
    field = model._meta.get_field(column)
    assert isinstance(field, Field)
    field.run_validators(text)
    with pytest.raises(ValidationError):
        field.run_validators(f"{text}\n")
