"""What a message shows: how it is written, what is refused, and what becomes of it for a person."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.utils import timezone

from bridge.messages.content import is_address, parse_content
from bridge.messages.definition import InvalidMessage, parse_definition
from bridge.messages.markup import html_of
from bridge.messages.saving import MESSAGES
from bridge.models import Message
from engage.models import Workspace
from journeys.rendering import Rendering
from tests.bridge.messages import sale
from tests.support.bridge_calls import click, refused_without_a_trace, submit
from tests.support.calls import refused
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient

DEFINITION = parse_definition(actions=sale.ACTIONS, forms=sale.FORMS)
WHOLE: dict[str, Any] = {
    "kind": "modal",
    "title": "Hi {{ customer.name }}",
    "text": "{{ values.text }}",
    "image": "https://cdn.example/{{ values.text }}.png",
    "buttons": [
        {"action": "cta", "text": "Go", "href": "https://shop.example/?q={{ values.text }}"},
        {"action": "link", "text": "There", "href": "{{ values.to }}"},
        {"action": "close", "text": "Later"},
    ],
    "form": "nps",
    "data": {"n": {"$value": "values.n"}, "said": ["{{ customer.name }}"]},
}


def rendered(content: Mapping[str, Any], **values: Any) -> dict[str, Any]:
    parsed = parse_content({**content}, definition=DEFINITION)
    assert parsed is not None
    return parsed.rendered(Rendering(lambda: {"customer": {"name": "Ada"}, "values": values}))


def test_it_is_rendered_for_a_person() -> None:
    assert rendered(WHOLE, text="a b/<i>", to="mailto:x@y.example", n=3) == {
        "title": "Hi Ada",
        "text": "a b/<i>",
        "image": "https://cdn.example/a%20b%2F%3Ci%3E.png",
        "buttons": [
            {"action": "cta", "text": "Go", "href": "https://shop.example/?q=a%20b%2F%3Ci%3E"},
            {"action": "link", "text": "There", "href": "mailto:x@y.example"},
            {"action": "close", "text": "Later"},
        ],
        "form": "nps",
        "data": {"n": 3, "said": ["Ada"]},
    }


def test_markup_is_for_a_frame_and_values_in_it_are_escaped() -> None:
    custom = {"kind": "custom", "data": {"html": "<b>{{ values.text }}</b>", "plain": "{{ values.text }}"}}
    assert rendered(custom, text="<i>") == {"data": {"html": "<b>&lt;i&gt;</b>", "plain": "<i>"}}


HOSTILE = [
    *(f"{prefix}javascript:alert(1)" for prefix in ("", " ", "\t", "\n", "\x01", "\u200b")),
    "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:x",
    "//evil.example", "/\\evil.example", "https:evil.example", "https:/evil.example", "https:\\\\evil.example",
    "https://user@evil.example", "https://x\nevil", "blob:https://x", "file:///etc/passwd", "filesystem:x", "", "#x",
    "ftp://x", "mailto:", "tel: 1", "https://shop.example\\@evil.example", f"https://x.example/{'x' * 2048}",
]  # fmt: skip


@each("to", HOSTILE)
def test_what_is_no_address_is_left_out(to: str) -> None:
    assert not is_address(to)
    assert "href" not in rendered(WHOLE, to=to, text="")["buttons"][1]


@each("to", ["https://a.example", "HTTP://a.example:8/x?y#z", "mailto:a@b.example", "tel:+1415", "https://[::1]/"])
def test_what_is_an_address_stays(to: str) -> None:
    assert rendered(WHOLE, to=to, text="")["buttons"][1]["href"] == to


def mistakes() -> Iterator[tuple[dict[str, Any], str]]:
    button = {"action": "close", "text": "x"}
    yield {}, "content.kind is required."
    yield {"kind": "toast"}, "content.kind must be one of banner, modal, card, custom, not 'toast'."
    yield {"title": 1}, "content.title must be a string, but a number came."
    yield {"title": "{{ api.payload.x }}"}, "content.title reads api.payload.x, which never has a value"
    yield {"text": "{{ vars.x }}"}, "content.text reads vars.x, which never has a value"
    yield {"text": "{{"}, "content.text "
    yield {"html": "x"}, "content.html is not known"
    yield {"buttons": [{"action": "nope", "text": "x"}]}, "content.buttons[0].action must be one of close,"
    yield {"buttons": [{"action": "cta"}]}, "content.buttons[0].text is required."
    yield {"buttons": [{"action": "link", "text": "x"}]}, "content.buttons[0].href is required."
    yield {"buttons": [button] * 11}, "content.buttons holds 11 items; its maximum is 10."
    yield {"form": "nope"}, "content.form is 'nope', but the message has no form of this id."
    yield {"data": "x" * 70_000}, "content is 70"
    yield {"image": "http://x.example/a.png"}, "content.image must be an address that begins with https://"
    for href in (*filter(str.strip, HOSTILE[:-1]), "https://{{ values.x }}/", "https://x.{{ values.x }}/"):
        yield {"buttons": [{**button, "href": href}]}, "content.buttons[0].href "


@each("content, told", mistakes())
def test_a_mistake_is_refused_with_its_place(content: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidMessage) as refusal:
        parse_content({"kind": "banner", **content} if content else content, definition=DEFINITION)
    assert told in "; ".join(one.message for one in refusal.value.all_found())


def save(workspace: Workspace, key: str, **changes: Any) -> Message:
    return MESSAGES.save(workspace=workspace, key=key, now=timezone.now(), **changes).row


@pytest.mark.django_db
def test_it_is_saved_as_a_revision_and_holds_to_the_definition(acme: Workspace) -> None:
    defined = {"actions": sale.ACTIONS, "forms": sale.FORMS}
    each: list[dict[str, Any]] = [defined, {"content": WHOLE}, {"content": None}]
    for revision, changes in enumerate(each, start=1):
        assert save(acme, "sale", **changes).revision == revision
    save(acme, "sale", content=WHOLE)
    with pytest.raises(InvalidMessage, match=r"content\.form is 'nps', but the message has no form"):
        save(acme, "sale", forms=[])


@pytest.mark.django_db
def test_names_of_the_services_own_events_are_refused_wherever_they_could_be_recorded(
    acme: Workspace, server: ServerClient, sdk: SdkClient
) -> None:
    forged, why = "in_app.acted", "only the service itself records events of such a name."
    action = {"id": "a", "type": "track_event", "eventName": forged}
    form = {"id": "f", "fields": {}, "submitAction": {"type": "track_event", "eventName": forged}}
    for changes in ({"actions": [action]}, {"forms": [form]}):
        with pytest.raises(InvalidMessage, match=why):
            save(acme, "forged", **changes)
    assert why in refused_without_a_trace(
        click(sdk, actionType="track_event", actionData={"eventName": forged}), status=400
    )
    for kind in ("track_event", "both"):
        submitted = submit(sdk, formData={"x": 1}, submitAction={"type": kind, "eventName": forged})
        assert why in refused_without_a_trace(submitted)
    path = f"/api/v1/customers/{acme.id}/events"
    assert why in refused(
        server.post(path, {"userId": "u-1", "eventName": forged}), status=400, error="Invalid request"
    )
    many = server.post(path, {"events": [{"userId": "u-1", "eventName": forged}]}).json()["data"]["results"]
    assert why in many[0]["message"]


def test_html_to_copy_has_bounds_as_they_are_written_and_chooses_nothing() -> None:
    fields = {
        "text": {"type": "string", "max": 1_234_567},
        "number": {"type": "number", "max": 1_234_567.5},
        "plan": {"type": "string", "values": ["free", "pro"]},
    }
    html = html_of(parse_definition(actions=[], forms=[{"id": "f", "fields": fields}]))
    for part in ('maxlength="1234567"', 'max="1234567.5"', '<option value=""></option><option>free</option>'):
        assert part in html
