from typing import Any

import pytest

from bridge.capture import mapped

FORM = {"size": "M", "newsletter": True, "size of shoe": None, "M": "of another field"}


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        (None, FORM),
        ({}, {}),
        ({"chosen": "size"}, {"chosen": "M"}),
        ({"size": "size", "again": "size"}, {"size": "M", "again": "M"}),
        ({"wants": "newsletter", "shoe": "size of shoe"}, {"wants": True, "shoe": None}),
        ({"source": "in-app"}, {"source": "in-app"}),
        ({"source": "Size"}, {"source": "Size"}),
        ({"source": ""}, {"source": ""}),
        (
            {"n": 1, "t": True, "l": ["size"], "o": {"size": "size"}},
            {"n": 1, "t": True, "l": ["size"], "o": {"size": "size"}},
        ),
        ({"nothing": None}, {"nothing": None}),
    ],
)
def test_a_map_leads_to_form_fields_and_what_is_none_stands_for_itself(
    fields: dict[str, Any] | None, values: dict[str, Any]
) -> None:
    assert mapped(fields, form_data=FORM) == values
