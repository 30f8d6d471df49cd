"""Whatever a page sends: with `enforce`, nothing is written that the message does not list."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from customers.models import Customer, Event
from engage.models import Workspace
from tests.bridge.messages import sale
from tests.support.bridge_calls import ACTION, CAPTURE, call
from tests.support.clients import SdkClient
from tests.support.examples import EXAMPLES
from tests.support.factories import CustomerFactory
from tests.support.tables import taken_back

_EXAMPLES = 10 * int(os.environ.get("FUZZ_EXAMPLES", str(3 * EXAMPLES // 10)))

_near = ["clicked", "answered", "nps", "cta", "opt", "address", "", "vip", "n", "plan", "score", "topics", "zip", "why"]
_names = st.sampled_from([*_near, "kind", "newsletter", "lastScore", "from", "home", "since", "formData"]) | st.text(
    max_size=5
).filter(lambda text: "\x00" not in text and text.isprintable())
_scalars = st.sampled_from(
    ["free", "pro", "banner", "price", "3", "11", "on", "89073", "2026-11-20", "", 3, 11, 2.5, True, False, None, "<b>"]
)
_values = _scalars | st.lists(_scalars, max_size=3) | st.dictionaries(_names, _scalars, max_size=2)
_objects = st.dictionaries(_names, _values, max_size=4)
_message = st.sampled_from([sale.KEY, sale.KEY, sale.KEY, "unknown"])
_person = st.sampled_from([{"userId": "u-1"}, {"userId": "new"}, {"external_id": "ada"}, {"email": "n@example.com"}])
_action = st.fixed_dictionaries(
    {"messageId": _message},
    optional={
        "actionType": st.sampled_from(["close", "link", "track_event", "update_profile"]),
        "actionId": st.sampled_from(["cta", "opt", "in", "x", "nps", "none"]),
        "formData": _objects,
        "actionData": st.fixed_dictionaries(
            {}, optional={"eventName": _names, "eventProperties": _objects, "profileAttributes": _objects}
        ),
    },
)
_listed = st.sampled_from([form.get("submitAction") for form in sale.FORMS])
_submit = st.fixed_dictionaries(
    {"type": st.sampled_from(["track_event", "update_profile", "both"])},
    optional={"eventName": _names, "eventProperties": _objects, "profileAttributes": _objects},
)
_capture = st.fixed_dictionaries(
    {"messageId": _message, "formData": _objects},
    optional={"actionId": st.sampled_from(["nps", "address", "cta", "none"]), "submitAction": _listed | _submit},
)
_calls = st.tuples(st.just(ACTION), _action) | st.tuples(st.just(CAPTURE), _capture)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value <= 10


def is_listed_attribute(name: str, value: Any) -> bool:
    """Written out once more, apart from the code."""
    match name:
        case "plan":
            return value in {"free", "pro"}
        case "newsletter" | "home":
            return bool(value is True or (value is False and name == "home"))
        case "lastScore":
            return is_number(value)
        case "zip":
            return bool(isinstance(value, str) and len(value) == 5 and value.isdigit())
        case "since":
            return bool(value == "2026-11-20")
    return False


def is_listed_field(name: str, value: Any) -> bool:
    match name:
        case "score":
            return is_number(value)
        case "why":
            return isinstance(value, str) and len(value) <= 20
        case "topics":
            return set(value) <= {"price", "speed"}
    return name in {"zip", "since", "home"} and is_listed_attribute(name, value)


def is_listed_event(event: Event) -> bool:
    properties = dict(event.properties)
    if event.name == "clicked":
        form = properties.pop("formData", {})
        number, kind = properties.pop("n", 0), properties.pop("kind", "banner")
        fits = is_number(number) and kind == "banner"
        return fits and not properties and all(is_listed_field(*field) for field in form.items())
    fits = event.name == "answered" and properties.pop("from") == "nps" and is_number(properties.pop("score"))
    return fits and is_listed_field("why", properties.pop("why", "")) and not properties


@pytest.mark.slow
@pytest.mark.usefixtures("message", "unlimited")
@given(calls=st.lists(st.tuples(_calls, _person), min_size=1, max_size=3))
@settings(max_examples=_EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_enforced_no_call_writes_outside_the_definition(
    strict: SdkClient, acme: Workspace, calls: list[tuple[tuple[str, dict[str, Any]], dict[str, str]]]
) -> None:
    with taken_back():
        CustomerFactory.create(workspace=acme, user_id="u-1", attributes={"kept": "as it was"})
        for (path, fields), person in calls:
            about = {"userId": None, **person, **fields}
            if path == ACTION and "actionType" not in fields:
                about["actionType"] = None
            assert call(strict, path, about).status_code in {200, 400, 403, 422}

        for customer in Customer.objects.all():
            assert customer.attributes.pop("kept", None) == ("as it was" if customer.user_id == "u-1" else None)
            assert all(is_listed_attribute(name, value) for name, value in customer.attributes.items())
        assert all(map(is_listed_event, Event.objects.all()))
