"""A form of the admin as a browser reads and sends it."""

from html.parser import HTMLParser
from typing import Any

from django.db.models import Model
from django.test import Client

from engage.admin.parts.columns import page_url


class _Form(HTMLParser):
    """The fields of the page's form, with the values that a browser would send."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._within = False
        self._text = self._choice = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            self._within = (given.get("id") or "").endswith("_form")
        elif not self._within:
            return
        elif tag == "input" and name and given.get("type") == "checkbox":
            if "checked" in given:
                self.values[name] = value or "on"
        elif tag == "input" and name and given.get("type") not in {"submit", "button"}:
            self.values[name] = value
        elif tag == "textarea":
            self._text, self.values[name] = name, ""
        elif tag == "select":
            self._choice = name
        elif tag == "option" and "selected" in given:
            self.values[self._choice] = value

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._text = ""

    def handle_data(self, data: str) -> None:
        if self._text:
            self.values[self._text] += data


def form_of(staff: Client, record: Model) -> dict[str, str]:
    return _read(staff.get(page_url(record)))


def _read(page: Any) -> dict[str, str]:
    form = _Form()
    form.feed(page.content.decode())
    return {name: value.removeprefix("\r\n").removeprefix("\n") for name, value in form.values.items()}


def edit(staff: Client, record: Model, form: dict[str, str], **fields: Any) -> None:
    """Sends the form with these fields in the place of its own; one that is None is left out."""
    sent = {name: value for name, value in {**form, **fields}.items() if value is not None}
    assert staff.post(page_url(record), sent).status_code == 302
    record.refresh_from_db()
