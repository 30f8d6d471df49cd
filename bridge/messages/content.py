"""What a message shows, parsed from its JSON: texts are templates, which are rendered for whoever it is delivered to.

Whatever their values hold stays text. An address is http(s), mailto or tel (that of an image https), which is looked at
once more when it is rendered; a value inside of one is percent-encoded.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bridge.messages.definition import Definition, InvalidMessage
from bridge.models import MAX_ID_LENGTH
from engage.json.compact import json_bytes
from engage.json.documents import Part, Reading
from engage.json.storable import STORED_DEPTH
from engage.notations.sizes import KIB
from journeys.rendering import Names, Rendering, parse_template, parse_url_template
from journeys.steps.templated import LEFT_OUT, TemplatedJson, TemplatedText, read_json, read_text, render_text
from journeys.steps.written import Written

MAX_CONTENT_BYTES = 64 * KIB
MAX_BUTTONS = 10
LONGEST_ADDRESS = 2048
CLOSE, LINK = "close", "link"
NAMES: Names = {"customer": None, "values": None}
HTML = "html"  # of a custom message's data: it is for a sandboxed frame, and values in it are escaped
_ADDRESS = re.compile(r"(?:https?://[^\s/?#@\\]+(?:[/?#]\S*)?|mailto:\S+|tel:\S+)", re.IGNORECASE | re.ASCII)
_LITERAL = re.compile(r"https?://[^\s/?#@{}\\]+(?:[/?#]|$)|mailto:|tel:", re.IGNORECASE)
_Text = str | TemplatedText


class Kind(StrEnum):
    BANNER = "banner"
    MODAL = "modal"
    CARD = "card"
    CUSTOM = "custom"


@dataclass(frozen=True, kw_only=True)
class Button:
    """`action` is the id of an action of the message, `close` or `link`."""

    action: str
    text: _Text
    href: _Text | None


@dataclass(frozen=True, kw_only=True)
class Content:
    """What is shown; `form` is the id of a form of the message."""

    kind: Kind
    title: _Text | None
    text: _Text | None
    image: _Text | None
    buttons: tuple[Button, ...]
    form: str | None
    data: TemplatedJson | None
    html: _Text | None

    def rendered(self, rendering: Rendering) -> dict[str, Any]:
        """As pages get it. An address that is none when it is rendered is left out. Raises StepFailed."""
        buttons = [
            _present(action=one.action, text=render_text(one.text, rendering), href=_address(one.href, rendering))
            for one in self.buttons
        ]
        return _present(
            title=None if self.title is None else render_text(self.title, rendering),
            text=None if self.text is None else render_text(self.text, rendering),
            image=_address(self.image, rendering, only="https://"),
            buttons=buttons or None,
            form=self.form,
            data=self._data(rendering),
        )

    def _data(self, rendering: Rendering) -> Any:
        data: Any = None if self.data is None else self.data.render(rendering)
        if self.html is None:
            return None if data is LEFT_OUT else data
        with rendering.escaping():
            return {**data, HTML: render_text(self.html, rendering)}


def _present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _address(written: _Text | None, rendering: Rendering, *, only: str = "") -> str | None:
    address = "" if written is None else render_text(written, rendering)
    return address if is_address(address, only=only) else None


def is_address(text: str, *, only: str = "") -> bool:
    """Whether a page may lead there: http(s), mailto or tel, and nothing that a browser would read as another."""
    fits = len(text) <= LONGEST_ADDRESS and text.isprintable() and text.lower().startswith(only)
    return fits and _ADDRESS.fullmatch(text) is not None


def parse_content(value: object, *, definition: Definition, stored: bool = False) -> Content | None:
    """The content written as JSON; None if there is none. `stored` ones need not keep to later rules.

    What it names must be in the message's definition. Raises InvalidMessage, with all mistakes.
    """
    part = Part(value, "content", InvalidMessage)
    if part.is_null:
        return None
    if not stored and (size := json_bytes(value)) > MAX_CONTENT_BYTES:
        part.refuse(f"is {size} bytes of JSON; its maximum is {MAX_CONTENT_BYTES}.")
    where = Written(part=part, names=NAMES, stored=stored)
    with Reading() as read:
        fields = part.fields(
            required=["kind"], optional=["title", "text", "image", "buttons", "form", "data"], reading=read
        )
        kind = read(lambda: Kind(fields["kind"].choice(tuple(Kind))))
        title = read(lambda: _optional(where, fields.get("title")))
        text = read(lambda: _optional(where, fields.get("text")))
        image = read(lambda: _read_address(where, fields.get("image"), schemes=("https://",)))
        listed = read(lambda: fields["buttons"].items(at_most=MAX_BUTTONS)) if "buttons" in fields else []
        buttons = read.each(listed or [], lambda one: _button(where, one, definition))
        form = read(lambda: _form(fields.get("form"), definition))
        data, html = read(lambda: _read_data(where, fields)) or (None, None)
    return Content(
        kind=kind, title=title, text=text, image=image, buttons=tuple(buttons), form=form, data=data, html=html
    )


def _optional(where: Written, part: Part | None) -> _Text | None:
    return None if part is None or part.is_null else read_text(where, part)


def _button(where: Written, part: Part, definition: Definition) -> Button:
    with Reading() as read:
        fields = part.fields(required=["action", "text"], optional=["href"], reading=read)
        action = read(lambda: _action(fields["action"], definition))
        text = read(lambda: read_text(where, fields["text"]))
        href = read(lambda: _read_address(where, fields.get("href")))
    if action == LINK and href is None:
        part.field("href").refuse("must be an address: it is where the link leads.")
    return Button(action=action, text=text, href=href)


def _action(part: Part, definition: Definition) -> str:
    part.text(at_most=MAX_ID_LENGTH)
    return part.choice([CLOSE, LINK, *(action.id for action in definition.actions)])


def _form(part: Part | None, definition: Definition) -> str | None:
    if part is None or part.is_null:
        return None
    named = part.text(at_most=MAX_ID_LENGTH)
    if named not in {form.id for form in definition.forms}:
        part.refuse(f"is {named!r}, but the message has no form of this id.")
    return named


def _read_address(
    where: Written, part: Part | None, *, schemes: tuple[str, ...] = ("http://", "https://", "mailto:", "tel:")
) -> _Text | None:
    """An address as it is written: its beginning is literal, or the whole of it is one value."""
    if part is None or part.is_null:
        return None
    written = part.text(at_most=LONGEST_ADDRESS)
    whole = written.startswith("{{")
    read = read_text(where, part, parse=parse_template if whole else parse_url_template)
    literal = _LITERAL.match(written) and written.lower().startswith(schemes)
    if not where.stored and not whole and not (literal and (isinstance(read, TemplatedText) or is_address(read))):
        part.refuse(
            f"must be an address that begins with {', '.join(schemes)}, or a value such as {{{{ values.to }}}}."
        )
    return read


def _read_data(where: Written, fields: Mapping[str, Part]) -> tuple[TemplatedJson | None, _Text | None]:
    part = fields.get("data")
    if part is None or part.is_null:
        return None, None
    html = part.value.get(HTML) if isinstance(part.value, dict) and fields["kind"].value == Kind.CUSTOM else None
    if not isinstance(html, str):
        return read_json(where, part, deepest=STORED_DEPTH), None
    others = {name: one for name, one in part.members().items() if name != HTML}
    rest = Part({name: one.value for name, one in others.items()}, part.place, part.refusal)
    return read_json(where, rest, deepest=STORED_DEPTH), read_text(where, part.field(HTML))
