"""`/demo`: a page with in-app messages, and what the service has recorded of them; for development alone."""

from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from config.local.demo import read_demo
from engage.models import App
from tests.support.bridge_calls import ACTION
from tests.support.clients import SdkClient

pytestmark = pytest.mark.django_db
PATHS = ["/demo", "/demo/framed", "/demo/recorded"]
CLICKED = {"messageId": "demo-banner", "actionType": "track_event", "actionData": {"eventName": "sale_wanted"}}


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    """The demo's app."""
    monkeypatch.setenv("EMBEDDED_DATA", str(tmp_path))
    call_command("prepare")
    known = read_demo()
    assert known
    return App.objects.get(id=known["workspace"]["apps"]["web"])


def test_the_page_names_the_app_and_allows_no_inline_script(demo: App) -> None:
    page, framed = Client().get("/demo"), Client().get("/demo/framed")
    assert f'data-app="{demo.id}"' in page.content.decode()
    for answer in (page, framed):
        assert answer.status_code == 200
        policy = answer["Content-Security-Policy"]
        assert "script-src 'self';" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
    assert framed["X-Frame-Options"] == "SAMEORIGIN"


def test_it_tells_what_its_messages_reported_and_nothing_else(demo: App, rival_sdk: SdkClient) -> None:
    sdk = SdkClient(demo)
    for body in (CLICKED | {"userId": "u-1"}, CLICKED | {"userId": "u-1", "messageId": "of-somebody-else"}):
        assert sdk.post(ACTION, body).status_code == 200
    assert rival_sdk.post(ACTION, CLICKED | {"userId": "u-2"}).status_code == 200
    (told,) = Client().get("/demo/recorded").json()["recorded"]
    assert (told["messageId"], told["kind"], told["event"], told["person"]) == (
        "demo-banner", "track_event", "sale_wanted", "u-1"
    )  # fmt: skip


def test_it_is_nowhere_in_production_and_nowhere_without_a_demo(demo: App, tmp_path: Path, settings: Settings) -> None:
    assert [Client().get(path).status_code for path in PATHS] == [200, 200, 200]
    settings.PRODUCTION = True
    assert [Client().get(path).status_code for path in PATHS] == [404, 404, 404]
    settings.PRODUCTION = False
    (tmp_path / "demo.json").unlink()
    assert [Client().get(path).status_code for path in ("/demo", "/demo/recorded")] == [404, 404]
