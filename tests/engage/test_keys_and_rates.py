"""What a key and a rate may be, wherever they come from; the admin's forms strip what they are given."""

from importlib import import_module

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.migrations import RunSQL
from django.db.models import Field, Model

from customers.models import Segment
from engage.models import ApiKey, Workspace
from journeys.models import Journey
from tests.support.factories import ApiKeyFactory


@pytest.mark.parametrize(
    ("model", "column", "text"),
    [(Workspace, "key", "acme"), (Segment, "key", "vip"), (Journey, "key", "welcome"), (ApiKey, "rate_limit", "100/m")],
)
def test_a_newline_at_the_end_is_refused(model: type[Model], column: str, text: str) -> None:
    field = model._meta.get_field(column)
    assert isinstance(field, Field)
    field.run_validators(text)
    with pytest.raises(ValidationError):
        field.run_validators(f"{text}\n")


def test_a_rate_that_was_stored_with_a_newline_loses_it(acme: Workspace) -> None:
    keys = [ApiKeyFactory.create(workspace=acme, rate_limit=rate) for rate in ("100/m\n", "5/s")]
    module = import_module("engage.migrations.0004_no_newline_after_keys_and_rates")
    (statement,) = (str(one.sql) for one in module.Migration.operations if isinstance(one, RunSQL))
    with connection.cursor() as cursor:
        cursor.execute(statement)
    for key in keys:
        key.refresh_from_db()
    assert [key.rate_limit for key in keys] == ["100/m", "5/s"]
