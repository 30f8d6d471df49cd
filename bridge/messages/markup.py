"""A message's definition as HTML to copy, with the attributes that the browsers' SDK goes by. Pure.

`data-engage-id` names the button or the form, so that the service takes what it does from the definition; what stands
beside it is what the definition leaves to the page. Also previews, for staff.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.html import escape, json_script

from bridge.messages.content import HTML, Kind
from bridge.messages.definition import Definition, ListedAction, ListedForm
from bridge.messages.rules import Rule, RuleType
from bridge.models import Interaction, Message
from engage.notations.plurals import plain

_OPEN: Mapping[RuleType, Any] = {
    RuleType.STRING: "…",
    RuleType.NUMBER: 1,
    RuleType.BOOLEAN: True,
    RuleType.DATE: "2030-01-31",
}
_INPUTS = {RuleType.STRING: "text", RuleType.NUMBER: "number", RuleType.BOOLEAN: "checkbox", RuleType.DATE: "date"}


def html_of(definition: Definition) -> str:
    """An element for each button and form, one after the other."""
    return "\n".join([*map(_button, definition.actions), *map(_form, definition.forms)])


def _button(action: ListedAction) -> str:
    values = _values({**action.properties, **action.attributes})
    link = action.type is Interaction.Kind.LINK
    attributes = {
        **({"href": "https://…"} if link else {"type": "button"}),
        "data-engage-action": str(action.type),
        "data-engage-id": action.id,
        **({"data-engage-event": action.event_name} if action.event_name else {}),
        **({"data-engage-properties": json.dumps(values, ensure_ascii=False)} if values else {}),
    }
    name = "a" if link else "button"
    return f"<{_tag(name, attributes)}>{escape(action.id)}</{name}>"


def _values(rules: Mapping[str, Rule]) -> dict[str, Any]:
    """An example of each value that the page has to say: what has one value alone comes from the definition."""
    return {name: _example(rule) for name, rule in rules.items() if rule.only_value is None}


def _example(rule: Rule) -> Any:
    value: Any = rule.values[0] if rule.values else _OPEN[rule.type]
    if rule.type is RuleType.NUMBER and not rule.values and rule.max is not None:
        value = min(value, rule.max)
    return [value] if rule.many else value


def _form(form: ListedForm) -> str:
    capture = {"data-engage-capture": None, "data-engage-id": form.id}
    fields = [line for name, rule in form.fields.items() for line in _field(name, rule)]
    return "\n".join([f"<{_tag('form', capture)}>", *(f"  {line}" for line in fields), *_END])


_END = ("  <button>Send</button>", "</form>")


def _field(name: str, rule: Rule) -> Iterable[str]:
    label = escape(name)
    if rule.many and rule.values:
        for value in rule.values:
            box = _tag("input", {"type": "checkbox", "name": name, "value": _text(value)})
            yield f"<label><{box}> {label}: {escape(_text(value))}</label>"
    elif rule.values:
        several = {"multiple": None} if rule.many else {}
        required = {"required": None} if rule.required else {}
        nothing = "" if rule.many else '<option value=""></option>'  # or the first would be chosen by nobody
        options = nothing + "".join(f"<option>{escape(_text(value))}</option>" for value in rule.values)
        yield f"<label>{label} <{_tag('select', {'name': name, **several, **required})}>{options}</select></label>"
    else:
        yield f"<label>{label} <{_tag('input', {'type': _INPUTS[rule.type], 'name': name, **_bounds(rule)})}></label>"


def _bounds(rule: Rule) -> dict[str, Any]:
    most = {RuleType.NUMBER: "max", RuleType.STRING: "maxlength"}.get(rule.type)
    fraction = {"step": "any"} if rule.type is RuleType.NUMBER else {}
    limit = {most: plain(rule.max)} if most and rule.max is not None else {}
    pattern = {"pattern": rule.pattern} if rule.pattern else {}
    required = {"required": None} if rule.required and rule.type is not RuleType.BOOLEAN else {}
    return {**limit, **fraction, **pattern, **required}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _tag(name: str, attributes: Mapping[str, Any]) -> str:
    """The inside of a tag; an attribute whose value is None or empty stands alone."""
    return " ".join([name, *(_attribute(one, value) for one, value in attributes.items())])


def _attribute(name: str, value: Any) -> str:
    """Between single quotes if there are double ones in it, as there are in JSON: that can be read."""
    text = escape(value) if value is not None else ""
    if "&quot;" in text and "&#x27;" not in text:
        readable = text.replace("&quot;", '"')
        return f"{name}='{readable}'"
    return f'{name}="{text}"' if text else name


PREVIEW_STYLE = (
    "<style>body{font:15px/1.5 system-ui,sans-serif;margin:16px;color:#111;background:#fff}"
    "body>*{margin:0 8px 12px 0}form{border:1px solid #ddd;border-radius:8px;padding:12px}label{display:block;"
    "margin-bottom:8px;overflow-wrap:anywhere}button{padding:6px 14px;border:1px solid #888;border-radius:6px;"
    "background:#f4f4f5;max-width:100%;overflow-wrap:anywhere}input,select{font:inherit;max-width:100%}</style>"
)


def preview_of(definition: Definition) -> str:
    """A whole page for a sandboxed frame: nothing in it runs or leads anywhere."""
    return f"<!doctype html><meta charset=utf-8>{PREVIEW_STYLE}{html_of(definition)}"


_DRAW = (
    'import {preview} from "/sdk/v1/show.js"; preview(JSON.parse(document.getElementById("item").text), document.body)'
)


def is_markup(message: Message) -> bool:
    return message.content is not None and message.content.get("kind") == Kind.CUSTOM


def shown_of(message: Message) -> str:
    """A whole page for a sandboxed frame that may run scripts: the content as show.js draws it, its templates unfilled.

    Of a custom message, its own markup, which may not; empty if it has none, or the message no content.
    """
    content = message.content
    if not content:
        return ""
    if is_markup(message):
        data = content.get("data")
        return data.get(HTML, "") if isinstance(data, dict) else ""
    item = {
        "messageId": message.key, "kind": content.get("kind"), "content": content,
        "actions": message.actions, "forms": message.forms,
    }  # fmt: skip
    script = f'<script type="module">{_DRAW}</script>'
    return f"<!doctype html><meta charset=utf-8><body>{json_script(item, 'item')}{script}"
