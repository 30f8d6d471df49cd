"""A definition that is learned from what was recorded: whatever that was, it is valid and allows it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.messages.definition import parse_definition
from bridge.messages.learning import Recorded, learned
from bridge.messages.matching import match_action, match_form
from bridge.messages.problems import Reason
from bridge.models import Interaction
from bridge.requests import Action

_SCALARS = st.sampled_from(
    [
        "free",
        "pro",
        "3",
        "03",
        "on",
        "true",
        "2026-11-20",
        "",
        " ",
        "x" * 300,
        "ä",
        "<b>",
        3,
        2.5,
        -1,
        True,
        False,
        None,
    ]
)
_VALUES = _SCALARS | st.lists(_SCALARS, max_size=3) | st.dictionaries(st.just("a"), _SCALARS, max_size=1)
_NAMES = st.sampled_from(["n", "plan", "ä ö", "x" * 200, "formData"])
_OBJECTS = st.dictionaries(_NAMES, _VALUES, max_size=4)
_EVENTS = st.sampled_from(["clicked", "Ä!", "e" * 255, "clicked", ""])
_RECORDED = st.lists(
    st.builds(
        Recorded,
        kind=st.sampled_from(["track_event", "update_profile", "capture", "close"]),
        customer_id=st.sampled_from(["a", "b", "c"]),
        event_name=_EVENTS,
        properties=_OBJECTS,
        form_data=_OBJECTS,
        attributes=_OBJECTS,
    ),
    max_size=30,
)
# What no rule can allow is left out of a definition, and so stays refused.
_LEFT_OUT = {Reason.PROPERTY, Reason.FIELD, Reason.ATTRIBUTE}


@pytest.mark.slow
@given(recorded=_RECORDED)
def test_whatever_was_recorded_the_definition_is_valid_and_learning_is_done(recorded: list[Recorded]) -> None:
    actions, forms = learned(actions=[], forms=[], recorded=recorded)
    parse_definition(actions=actions, forms=forms)
    assert learned(actions=actions, forms=forms, recorded=recorded) == (actions, forms)


@pytest.mark.slow
@given(recorded=_RECORDED)
def test_what_is_listed_allows_what_was_recorded(recorded: list[Recorded]) -> None:
    actions, forms = learned(actions=[], forms=[], recorded=recorded)
    definition = parse_definition(actions=actions, forms=forms)
    ids = {action.event_name: action.id for action in definition.actions}
    for one in recorded:
        if one.kind == Interaction.Kind.TRACK_EVENT and one.event_name:
            properties = {
                name: value for name, value in one.properties.items() if name != "formData" and value is not None
            }
            action = Action(type=Interaction.Kind.TRACK_EVENT, event_name=one.event_name, event_properties=properties)
            match = match_action(definition, action, form_data={}, action_id=ids[one.event_name])
            assert {problem.reason for problem in match.problems} <= _LEFT_OUT
        if one.kind == Interaction.Kind.CAPTURE and (one.event_name or one.attributes):
            sent: dict[str, Any] = {**(one.form_data or (one.properties if one.event_name else {}))}
            answers = [
                match_form(definition, form.submit, form_data=sent, action_id=form.id) for form in definition.forms
            ]
            reasons = [{problem.reason for problem in match.problems if sent.get(_last(problem.field)) is not None}
                       for match in answers]  # fmt: skip
            assert any(found <= _LEFT_OUT for found in reasons)


def _last(field: str) -> str:
    return field.removeprefix("formData.")
