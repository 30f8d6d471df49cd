"""What a message's definition would have to list so that what was recorded of it is allowed. Pure.

What is listed already stays as it is; what was recorded beside it is added, for a person to look at:

1. A button for each event, with its properties, and for each set of attributes.
2. A form for each event that forms made, or for those that made none. Where its properties are not its fields, those
   are found whose values are the same in all that was recorded.
3. A rule for each value: its type; `required` if it was always there, and often; `values` if it was often one of a few
   texts, each of them from several people. So what one person alone has typed is never a part of a definition.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bridge.messages.definition import MAX_ACTIONS, MAX_FORMS, MAX_NAMES
from bridge.messages.rules import Rule, RuleType, as_json, type_of
from bridge.models import MAX_ID_LENGTH, Interaction

_OFTEN = 10  # times, so that what was always so is a rule
_FEW = 10  # values
_SEVERAL = 2  # people
_LONGEST = 100  # characters of a value that is one of a few
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
Written = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An interaction: its event with the properties, the form's values, and the attributes that it wrote.

    Of attributes, the values are those that the customer has now; without one, the value is None.
    """

    kind: str
    customer_id: str
    event_name: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    form_data: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)


def learned(
    *, actions: Sequence[Written], forms: Sequence[Written], recorded: Iterable[Recorded]
) -> tuple[list[Written], list[Written]]:
    """The definition's actions and forms, with those that were recorded."""
    groups: dict[tuple[Any, ...], list[Recorded]] = defaultdict(list)
    for one in recorded:
        groups[_what_it_does(one)].append(one)
    new_actions, new_forms = [dict(action) for action in actions], [dict(form) for form in forms]
    for (kind, *_), alike in sorted(groups.items(), key=lambda item: repr(item[0])):
        match kind:
            case Interaction.Kind.TRACK_EVENT:
                _learn_event(new_actions, alike)
            case Interaction.Kind.UPDATE_PROFILE:
                _learn_update(new_actions, alike)
            case Interaction.Kind.CAPTURE:
                _learn_form(new_forms, alike)
    return new_actions[: max(MAX_ACTIONS, len(actions))], new_forms[: max(MAX_FORMS, len(forms))]


def _what_it_does(one: Recorded) -> tuple[Any, ...]:
    match one.kind:
        case Interaction.Kind.UPDATE_PROFILE:
            return (one.kind, tuple(sorted(one.attributes)))
        case Interaction.Kind.CAPTURE:
            return (one.kind, one.event_name, bool(one.attributes))
    return (one.kind, one.event_name)


def _learn_event(actions: list[Written], alike: Sequence[Recorded]) -> None:
    name = alike[0].event_name
    if not name:  # its event is gone
        return
    seen = [(one.customer_id, {key: v for key, v in one.properties.items() if key != "formData"}) for one in alike]
    listed = _first(actions, type="track_event", eventName=name)
    if listed is None:
        listed = {"id": _free_id(name, actions), "type": "track_event", "eventName": name}
        actions.append(listed)
    _add_rules(listed, "properties", seen)


def _learn_update(actions: list[Written], alike: Sequence[Recorded]) -> None:
    new: Written = {"id": _free_id("-".join(sorted(alike[0].attributes)), actions), "type": "update_profile"}
    _add_rules(new, "attributes", [(one.customer_id, one.attributes) for one in alike])
    names = new.get("attributes", {}).keys()
    listed = [action["attributes"].keys() for action in actions if action.get("type") == "update_profile"]
    if names and not any(names <= known for known in listed):
        actions.append(new)


def _learn_form(forms: list[Written], alike: Sequence[Recorded]) -> None:
    event, writes = alike[0].event_name, bool(alike[0].attributes)
    if not event and not writes:  # its event is gone
        return
    form_of = [one.form_data or (one.properties if event else {}) for one in alike]
    listed = next((form for form in forms if _event_and_writing(form) == (event, writes)), None)
    if listed is None:
        submit = _submit(event, alike, form_of)
        listed = {"id": _free_id(event or "form", forms), "fields": {}, **({"submitAction": submit} if submit else {})}
        forms.append(listed)
    _add_rules(listed, "fields", [(one.customer_id, values) for one, values in zip(alike, form_of, strict=True)])


def _event_and_writing(form: Written) -> tuple[str, bool]:
    submit = form.get("submitAction") or {"type": "update_profile"}
    return submit.get("eventName", ""), submit["type"] != "track_event"


def _submit(event: str, alike: Sequence[Recorded], form_of: Sequence[Mapping[str, Any]]) -> Written | None:
    """None if every field becomes an attribute and nothing else happens."""
    submit: Written = {"type": "update_profile"}
    if event:
        submit = {"type": "both" if alike[0].attributes else "track_event", "eventName": event}
        if any(one.form_data for one in alike):  # else the event holds the whole form
            submit["eventProperties"] = _sources([one.properties for one in alike], form_of)
    if any(one.attributes and {*one.attributes} != {*form} for one, form in zip(alike, form_of, strict=True)):
        submit["profileAttributes"] = _sources([one.attributes for one in alike], form_of)
    return submit if len(submit) > 1 else None


def _sources(made: Sequence[Mapping[str, Any]], form_of: Sequence[Mapping[str, Any]]) -> Written:
    """For each name the field that it comes from, or the one text that it always is."""
    sources: Written = {}
    for name in sorted({name for one in made for name in one})[:MAX_NAMES]:
        pairs = [(one[name], values) for one, values in zip(made, form_of, strict=True) if name in one]
        fields = sorted({key for _, values in pairs for key in values}, key=lambda key: (key != name, key))
        fitting = [key for key in fields if all(key in values and values[key] == value for value, values in pairs)]
        if fitting:
            sources[name] = fitting[0]
        elif name in fields:
            sources[name] = name
        elif len({repr(value) for value, _ in pairs}) == 1 and not isinstance(pairs[0][0], dict | list):
            sources[name] = pairs[0][0]
    return sources


def _add_rules(listed: Written, named: str, seen: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Rules for what was seen of whom, beside those that are listed. A form's values are texts, and get a type."""
    rules, typed = dict(listed.get(named) or {}), named == "fields"
    nothing = (None, "") if typed else (None,)
    for name in sorted({name for _, values in seen for name in values} - rules.keys()):
        values = [(person, one[name]) for person, one in seen if one.get(name) not in nothing]
        rule = _rule(values, always=len(values) == len(seen), typed=typed)
        if rule is not None and len(rules) < MAX_NAMES:
            rules[name] = as_json(rule)
    if rules or typed:
        listed[named] = rules


def _rule(values: Sequence[tuple[str, Any]], *, always: bool, typed: bool) -> Rule | None:
    """None if no rule allows such values: objects, texts beside numbers, or nothing at all."""
    lists = [isinstance(value, list) for _, value in values]
    single = [(p, item) for p, value in values for item in (value if isinstance(value, list) else [value])]
    kinds = {type_of(value, typed=typed) for _, value in single}
    kind = kinds.pop() if len(kinds) == 1 else RuleType.STRING
    if kind is None or not single or (any(lists) and not all(lists) and not typed):
        return None
    texts = all(isinstance(value, str) for _, value in single)
    if kind is RuleType.STRING and not texts:
        return None
    return Rule(
        type=kind,
        required=always and len(values) >= _OFTEN,
        many=any(lists),
        values=_few(single) if kind is RuleType.STRING else None,
    )


def _few(values: Sequence[tuple[str, Any]]) -> tuple[str, ...] | None:
    if len(values) < _OFTEN:
        return None
    people: dict[str, set[str]] = defaultdict(set)
    for person, value in values:
        people[value].add(person)
    if len(people) > _FEW or any(len(by) < _SEVERAL or len(text) > _LONGEST for text, by in people.items()):
        return None
    return tuple(sorted(people))


def _first(listed: Iterable[Written], **like: str) -> Written | None:
    return next((one for one in listed if like.items() <= one.items()), None)


def _free_id(name: str, listed: Sequence[Written]) -> str:
    taken = {one.get("id") for one in listed}
    stem = _NO_NAME.sub("-", name).strip("-")[: MAX_ID_LENGTH - 4] or "control"
    return next(one for one in [stem, *(f"{stem}-{n}" for n in range(2, 1000))] if one not in taken)
