"""A page's call, held against a message's definition. Pure.

With an `actionId` the page names the button or the form, and the definition says what is done. Without one, what the
page asks for must be what one of them lists; of several, the one that has the least against it decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from bridge.messages.definition import Definition, ListedAction, ListedForm
from bridge.messages.problems import Problem, Reason, masked
from bridge.messages.rules import Rule
from bridge.models import Interaction
from bridge.requests import Action, SubmitAction

_Asked = TypeVar("_Asked", Action, SubmitAction | None)
_SHOWN_LENGTH = 100
_NOT_LISTED = "is not listed by the message."


@dataclass(frozen=True, kw_only=True)
class Match(Generic[_Asked]):
    """What is to be done, with the form's values in their types, if there are no problems."""

    asked: _Asked
    form_data: Mapping[str, Any]
    action_id: str = ""
    problems: tuple[Problem, ...] = ()


def match_action(
    definition: Definition, action: Action, *, form_data: Mapping[str, Any], action_id: str = ""
) -> Match[Action]:
    """A click, and the form around the button, if it is in one."""
    values, in_form = _around_the_button(definition, form_data)
    if action_id:
        named = [listed for listed in definition.actions if listed.id == action_id]
        if not named:
            return _no_match(action, form_data, Reason.ACTION, "actionId")
        return _merged(_by_id(named[0], action, values), in_form)
    if action.type in {Interaction.Kind.CLOSE, Interaction.Kind.LINK}:
        alike = [listed for listed in definition.actions if listed.type is action.type]
        only = alike[0].id if len(alike) == 1 else ""
        return _merged(Match(asked=action, form_data=values, action_id=only), in_form)
    matches = [_merged(_as_listed(listed, action, values), in_form) for listed in _alike(definition, action)]
    if matches:
        return min(matches, key=lambda match: len(match.problems))
    if action.type is Interaction.Kind.TRACK_EVENT:
        return _no_match(action, form_data, Reason.EVENT, "actionData.eventName")
    return _no_match(action, form_data, Reason.ATTRIBUTE, "actionData.profileAttributes")


def _alike(definition: Definition, action: Action) -> Iterable[ListedAction]:
    for listed in definition.actions:
        if listed.type is action.type and listed.event_name in {"", action.event_name}:
            yield listed


def _as_listed(listed: ListedAction, action: Action, form_data: Mapping[str, Any]) -> Match[Action]:
    properties, attributes = _asked_values(listed, action)
    problems = [
        *_problems(listed.properties, properties, "actionData.eventProperties", Reason.PROPERTY),
        *_problems(listed.attributes, attributes, "actionData.profileAttributes", Reason.ATTRIBUTE),
    ]
    return Match(asked=action, form_data=form_data, action_id=listed.id, problems=tuple(problems))


def _by_id(listed: ListedAction, action: Action, form_data: Mapping[str, Any]) -> Match[Action]:
    """What the definition says is done. A value that it leaves open comes from the call, or from the form around."""
    sent_properties, sent_attributes = _asked_values(listed, action)
    properties = _filled(listed.properties, sent_properties, form_data)
    attributes = _filled(listed.attributes, sent_attributes, form_data)
    problems = [
        *_problems(listed.properties, properties, "actionData.eventProperties", Reason.PROPERTY),
        *_problems(listed.attributes, attributes, "actionData.profileAttributes", Reason.ATTRIBUTE),
    ]
    if action.type not in {None, listed.type}:
        problems.append(Problem(reason=Reason.ACTION, field="actionType", why=f"is {listed.type} in the message."))
    if action.event_name not in {"", listed.event_name}:
        problems.append(Problem(reason=Reason.EVENT, field="actionData.eventName", why="is another in the message."))
    done = Action(
        type=listed.type,
        event_name=listed.event_name,
        event_properties=properties,
        profile_attributes=attributes,
    )
    return Match(asked=done, form_data=form_data, action_id=listed.id, problems=tuple(problems))


def _asked_values(listed: ListedAction, action: Action) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The properties and the attributes that count for an action of this type: the others are never used."""
    event = listed.type is Interaction.Kind.TRACK_EVENT
    profile = listed.type is Interaction.Kind.UPDATE_PROFILE
    return action.event_properties if event else {}, action.profile_attributes if profile else {}


def _filled(rules: Mapping[str, Rule], sent: Mapping[str, Any], form_data: Mapping[str, Any]) -> dict[str, Any]:
    filled = dict(sent)
    for name, rule in rules.items():
        if name not in filled:
            value = rule.typed(form_data[name]) if name in form_data else rule.only_value
            if value is not None:
                filled[name] = value
    return filled


def _around_the_button(
    definition: Definition, form_data: Mapping[str, Any]
) -> tuple[Mapping[str, Any], tuple[Problem, ...]]:
    """The values of the form that best fits, and what is wrong with them. It may be incomplete: nobody submits it."""
    if not form_data:
        return form_data, ()
    if not definition.forms:
        return form_data, tuple(_unlisted({}, form_data, "formData", Reason.FIELD))
    read = [_read(form.fields, form_data, complete=False) for form in definition.forms]
    return min(read, key=lambda one: len(one[1]))


def match_form(
    definition: Definition, submit: SubmitAction | None, *, form_data: Mapping[str, Any], action_id: str = ""
) -> Match[SubmitAction | None]:
    """A form that was submitted."""
    if action_id:
        named = [form for form in definition.forms if form.id == action_id]
        if not named:
            return _no_match(submit, form_data, Reason.ACTION, "actionId")
        match = _submitted(named[0], form_data)
        if submit is None or submit == named[0].submit:
            return match
        differs = Problem(reason=Reason.SUBMIT, field="submitAction", why="is another in the message.")
        return replace(match, problems=(*match.problems, differs))
    alike = [form for form in definition.forms if form.submit == submit]
    if not alike:
        return _no_match(submit, form_data, Reason.SUBMIT, "submitAction")
    return min((_submitted(form, form_data) for form in alike), key=lambda match: len(match.problems))


def _submitted(form: ListedForm, form_data: Mapping[str, Any]) -> Match[SubmitAction | None]:
    values, problems = _read(form.fields, form_data, complete=True)
    submit = form.submit and replace(
        form.submit,
        event_properties=_of_fields_there(form.submit.event_properties, form, values),
        profile_attributes=_of_fields_there(form.submit.profile_attributes, form, values),
    )
    return Match(asked=submit, form_data=values, action_id=form.id, problems=problems)


def _of_fields_there(
    fields: Mapping[str, Any] | None, form: ListedForm, values: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Without those whose field is not there: the field's name would be taken for a literal value."""
    if fields is None:
        return None
    return {
        name: field
        for name, field in fields.items()
        if not isinstance(field, str) or field not in form.fields or field in values
    }


def _read(
    rules: Mapping[str, Rule], form_data: Mapping[str, Any], *, complete: bool
) -> tuple[Mapping[str, Any], tuple[Problem, ...]]:
    """The form's values in their types, without empty inputs, and what is wrong with them."""
    typed = {name: rules[name].typed(value) if name in rules else value for name, value in form_data.items()}
    values = {name: value for name, value in typed.items() if value is not None or form_data[name] is None}
    return values, tuple(_problems(rules, values, "formData", Reason.FIELD, complete=complete))


def _problems(
    rules: Mapping[str, Rule], values: Mapping[str, Any], place: str, unlisted: Reason, *, complete: bool = True
) -> Iterable[Problem]:
    yield from _unlisted(rules, values, place, unlisted)
    for name, rule in rules.items():
        if name in values and (why := rule.problem(values[name])):
            yield Problem(reason=Reason.VALUE, field=f"{place}.{name}", why=why, value=masked(values[name]))
        elif complete and rule.required and (name not in values or values[name] == []):
            yield Problem(reason=Reason.MISSING, field=f"{place}.{name}", why="is required by the message.")


def _unlisted(rules: Mapping[str, Rule], values: Mapping[str, Any], place: str, reason: Reason) -> Iterable[Problem]:
    for name, value in values.items():
        if name not in rules:
            shown = f"{place}.{name[:_SHOWN_LENGTH]}"
            yield Problem(reason=reason, field=shown, why=_NOT_LISTED, value=masked(value))


def _merged(match: Match[Action], in_form: Sequence[Problem]) -> Match[Action]:
    return replace(match, problems=(*match.problems, *in_form)) if in_form else match


def _no_match(asked: _Asked, form_data: Mapping[str, Any], reason: Reason, field: str) -> Match[_Asked]:
    problem = Problem(reason=reason, field=field, why=_NOT_LISTED)
    return Match(asked=asked, form_data=form_data, problems=(problem,))
