"""Presets meet what providers document: stand-ins take what they send, and their refusals are told apart."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.connection.presets import presets
from journeys.connection.resource import CONNECTIONS
from journeys.models import StepRun
from journeys.steps.provider import FIELDS, parse_provider
from journeys.steps.secrets import secrets_of, with_secrets
from journeys.tasks import walk
from tests.journeys.connections.made import enter, journey_of
from tests.journeys.connections.providers import STAND_INS, TOKEN, USER
from tests.journeys.webhooks.standing import send
from tests.support.cases import each
from tests.support.clients import ServerClient

pytestmark = pytest.mark.django_db
MAIL = {"from": "shop@example.com", "to": "ada@example.com", "subject": "Hello", "html": "<p>Hello</p>"}
# Of each: inputs that are taken, what is kept then, and inputs that the provider refuses though the schema does not.
TAKEN: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "postmark": ({**MAIL, "template": "hi", "model": {"n": 1}}, {"messageId": "pm-1"}, {"template": "inactive"}),
    "sendgrid": (MAIL, {}, {"to": "nobody"}),
    "mailgun": (MAIL, {"messageId": "<mg-1>"}, {"to": "nobody"}),
    "resend": (MAIL, {"messageId": "re-1"}, {"to": "nobody"}),
    "twilio": ({"to": "+14155550101", "from": "Shop", "text": "Hi & bye"}, {"sid": "SM1"}, {}),
    "expo": (
        {"to": "ExponentPushToken[x]", "title": "Hi", "text": "Hello", "data": {"n": 1}},
        {"ticket": "ex-1"},
        {"to": "ExponentPushToken[gone]"},
    ),
    "slack": ({"text": "Hello"}, {}, {}),
    "ntfy": ({"topic": "shop", "title": "Hi", "text": "Hello"}, {}, {"topic": "no topic"}),
}


class _Provider(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        _, name, path = self.path.split("/", 2)
        headers = {key.lower(): value for key, value in self.headers.items()}
        body = self.rfile.read(int(headers["content-length"])).decode()
        status, answer = STAND_INS[name](f"/{path}", headers, body)
        sent = answer if isinstance(answer, str) else json.dumps(answer)
        self.send_response(status)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name in the base class)
        """Quiet."""


@pytest.fixture
def providers() -> Iterator[str]:
    """Where the stand-ins are: below this address by their keys."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_there_are_stand_ins_for_all() -> None:
    assert set(presets()) == set(STAND_INS) == set(TAKEN)


@each("key", sorted(TAKEN))
def test_a_preset_is_a_connection_that_lacks_its_secrets_alone(key: str) -> None:
    preset = presets()[key]
    assert set(preset) - set(FIELDS) == {"key", "name", "channel", "documentation"}
    definition = {name: value for name, value in preset.items() if name in FIELDS}
    provider = parse_provider(definition, connection_id="", key=key)
    assert bool(provider.missing) == (key != "expo")  # which asks for none
    assert preset["url"] is None or preset["url"].startswith("https://")


def _filled(key: str, address: str, *, secret: str) -> dict[str, Any]:
    """The preset with its secrets, at the stand-in."""

    def given(path: tuple[str, ...], value: Any) -> Any:
        if value is not None:
            return value
        return (
            USER
            if path[-1] == "user"
            else f"https://hooks.slack.com/services/T0/B0/{secret}"
            if path == ("url",)
            else secret
        )

    preset = {name: value for name, value in presets()[key].items() if name in FIELDS}
    filled: dict[str, Any] = with_secrets(preset, given)
    _, _, rest = filled["url"].partition("://")
    return {**filled, "url": f"{address}/{key}/{rest.partition('/')[2]}"}


@pytest.mark.slow
@pytest.mark.ada(email="ada@example.com")
@pytest.mark.parametrize("key", sorted(TAKEN))
def test_what_a_preset_sends_is_what_the_provider_takes(
    server: ServerClient, acme: Workspace, ada: Customer, providers: str, key: str
) -> None:
    taken, kept, refused = TAKEN[key]
    described = presets()[key]["inputs"]["properties"]

    def outcome(inputs: dict[str, Any], *, secret: str = TOKEN) -> tuple[str, Any]:
        definition = _filled(key, providers, secret=secret)
        CONNECTIONS.save(workspace=acme, key=key, now=timezone.now(), definition=definition)
        given = {name: value for name, value in inputs.items() if name in described}
        journey = journey_of(
            acme, {"id": "send", "type": "send", "connection": key, "inputs": given}, key=f"j{len(keys)}"
        )
        keys.append(journey.key)
        enrollment = enter(server, journey)
        send()
        walk()
        delivery = enrollment.deliveries.get()
        found = {} if delivery.kept_answer is None else dict(delivery.kept_answer)
        return StepRun.objects.get(enrollment=enrollment).state, {name: found.get(name) for name in kept}

    keys: list[str] = []
    assert outcome(taken) == ("done", kept)
    if refused:
        assert outcome({**taken, **refused})[0] == "failed"
    assert outcome(taken, secret="another")[0] == ("done" if key == "expo" else "failed")
    assert secrets_of(presets()[key]) or key == "expo"
