"""A message's definition, parsed from its JSON: what its buttons (`actions`) and `forms` may write."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bridge.messages.rules import Rule, named_rules
from bridge.models import MAX_ID_LENGTH, Interaction
from bridge.requests import SubmitAction, SubmitType
from customers.attribute_rules import check_attribute_names
from customers.event_rules import MAX_EVENT_NAME_LENGTH, RESERVED, is_reserved
from engage.errors import InvalidRequest, Refusal
from engage.json.documents import Part
from engage.notations.sizes import KIB

MAX_DEFINITION_BYTES = 64 * KIB
MAX_ACTIONS = 50
MAX_FORMS = 20
MAX_NAMES = 100  # of properties, attributes or fields
_KINDS = (
    Interaction.Kind.TRACK_EVENT,
    Interaction.Kind.UPDATE_PROFILE,
    Interaction.Kind.LINK,
    Interaction.Kind.CLOSE,
)


class InvalidMessage(Refusal):
    """The message's definition is invalid; the message names the place: `actions[1].properties.n.max must …`."""

    error = "Invalid message"


@dataclass(frozen=True, kw_only=True)
class ListedAction:
    """A button: the event with its properties, or the attributes, that it may write."""

    id: str
    type: Interaction.Kind
    event_name: str
    properties: Mapping[str, Rule]
    attributes: Mapping[str, Rule]


@dataclass(frozen=True, kw_only=True)
class ListedForm:
    """A form's fields, and what becomes of them; without `submit`, every field becomes an attribute."""

    id: str
    fields: Mapping[str, Rule]
    submit: SubmitAction | None


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What one revision of a message may do."""

    actions: tuple[ListedAction, ...]
    forms: tuple[ListedForm, ...]


def parse_definition(*, actions: object, forms: object, place: str = "") -> Definition:
    """The definition written as JSON; `place` begins the errors' places. Raises InvalidMessage."""
    listed_actions = Part(actions, f"{place}actions", InvalidMessage).items(at_most=MAX_ACTIONS)
    listed_forms = Part(forms, f"{place}forms", InvalidMessage).items(at_most=MAX_FORMS)
    return Definition(
        actions=_distinct([(part, _action(part)) for part in listed_actions]),
        forms=_distinct([(part, _form(part)) for part in listed_forms]),
    )


def check_definition(*, actions: object, forms: object) -> Definition:
    """The definition, which may be saved: it keeps to the rules of today. Raises InvalidMessage."""
    parsed = parse_definition(actions=actions, forms=forms)
    names = [(f"actions[{n}].eventName", action.event_name) for n, action in enumerate(parsed.actions)]
    submits = enumerate(form.submit for form in parsed.forms)
    names += [(f"forms[{n}].submitAction.eventName", submit.event_name) for n, submit in submits if submit]
    for place, name in names:
        if is_reserved(name):
            Part(name, place, InvalidMessage).refuse(RESERVED)
    return parsed


def _distinct(listed: list[tuple[Part, Any]]) -> tuple[Any, ...]:
    seen: set[str] = set()
    for part, one in listed:
        if one.id in seen:
            part.field("id").refuse(f"is {one.id!r}, which stands twice.")
        seen.add(one.id)
    return tuple(one for _, one in listed)


def _action(part: Part) -> ListedAction:
    kind = Interaction.Kind(part.field("type").choice(_KINDS))
    event, profile = kind is Interaction.Kind.TRACK_EVENT, kind is Interaction.Kind.UPDATE_PROFILE
    fields = part.fields(
        required=["id", "type", *(["eventName"] if event else []), *(["attributes"] if profile else [])],
        optional=["properties"] if event else [],
    )
    attributes = _attributes(fields["attributes"]) if profile else {}
    if profile and not attributes:
        fields["attributes"].refuse("must name at least one attribute.")
    return ListedAction(
        id=fields["id"].text(at_most=MAX_ID_LENGTH),
        type=kind,
        event_name=fields["eventName"].text(at_most=MAX_EVENT_NAME_LENGTH) if event else "",
        properties=named_rules(fields["properties"], at_most=MAX_NAMES) if "properties" in fields else {},
        attributes=attributes,
    )


def _attributes(part: Part) -> dict[str, Rule]:
    rules = named_rules(part, at_most=MAX_NAMES)
    _check_attribute_names(part, rules)
    return rules


def _check_attribute_names(part: Part, names: Mapping[str, Any]) -> None:
    try:
        check_attribute_names(names)
    except InvalidRequest as refusal:
        part.refuse(f"is refused. {refusal.message}")


def _form(part: Part) -> ListedForm:
    parts = part.fields(required=["id", "fields"], optional=["submitAction"])
    fields = named_rules(parts["fields"], at_most=MAX_NAMES, drawn=True)
    submit = None if "submitAction" not in parts else _submit(parts["submitAction"])
    if submit is None or (submit.type.writes_attributes and submit.profile_attributes is None):
        _check_attribute_names(parts["fields"], fields)
    return ListedForm(id=parts["id"].text(at_most=MAX_ID_LENGTH), fields=fields, submit=submit)


def _submit(part: Part) -> SubmitAction | None:
    if part.is_null:
        return None
    kind = SubmitType(part.field("type").choice(tuple(SubmitType)))
    fields = part.fields(
        required=["type", *(["eventName"] if kind.makes_event else [])],
        optional=[
            *(["eventProperties"] if kind.makes_event else []),
            *(["profileAttributes"] if kind.writes_attributes else []),
        ],
    )
    attributes = fields.get("profileAttributes")
    if attributes is not None:
        _check_attribute_names(attributes, attributes.members())
    return SubmitAction(
        type=kind,
        event_name=fields["eventName"].text(at_most=MAX_EVENT_NAME_LENGTH) if kind.makes_event else "",
        event_properties=_map(fields.get("eventProperties")),
        profile_attributes=_map(attributes),
    )


def _map(part: Part | None) -> dict[str, Any] | None:
    if part is None or part.is_null:
        return None
    members = part.members()
    if len(members) > MAX_NAMES:
        part.refuse(f"holds {len(members)} names; its maximum is {MAX_NAMES}.")
    for member in members.values():
        if isinstance(member.value, dict | list):
            member.refuse_type("a form field's name, or a literal value")
    return {name: member.value for name, member in members.items()}
