"""An app's page tells who is not proven, and enforces it."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from bridge.browser.files import script_tag
from bridge.identity import figures
from bridge.identity.figures import identity_figures
from engage.admin.parts.columns import page_url
from engage.models import App, IdentityKey, Workspace
from engage.redis.metric_counters import metric_counters
from tests.admin.messages import HOSTILE, interact
from tests.admin.records import section
from tests.admin.staff import staff_with
from tests.bridge.identity.tokens import SECRET, token
from tests.support.audit import told
from tests.support.bridge_calls import ACTION, call
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory, MessageFactory

SHOP, BLOG = "https://shop.example", "https://blog.example"
ADA: dict[str, Any] = {"actionType": "close", "userId": None, "external_id": "ada"}
CONFIRMED = "refuses from now on who is not proven."


@pytest.fixture
def app(acme: Workspace) -> App:
    made = AppFactory.create(workspace=acme, identity=App.Identity.REPORT)
    IdentityKey.objects.create(workspace=acme, app=made, kid="k1", alg="HS256", secret=SECRET)
    return made


def call_as_ada(app: App, *, sent: str | None = None, origin: str = SHOP) -> int:
    headers = {"Origin": origin} | ({"X-Identity-Token": sent} if sent else {})
    return call(SdkClient(app), ACTION, ADA, headers=headers).status_code


def enforcing(app: App) -> str:
    return page_url(app).replace("change", "enforce-identity")


def test_the_page_tells_what_would_be_refused_why_and_from_where(staff: Client, app: App, rival: Workspace) -> None:
    for origin in (SHOP, SHOP, BLOG):
        assert call_as_ada(app, origin=origin) == 200
    assert call_as_ada(app, sent=token(sub="grace")) == 200
    assert call_as_ada(app, sent=token()) == 200
    message = MessageFactory.create(workspace=app.workspace)
    interact(message, 4, app=app)  # when the app did not report yet
    interact(message, 5, days_ago=8, app=app, verified=False, identity_problem="missing")
    interact(message, 6, app=AppFactory.create(workspace=app.workspace), verified=False, identity_problem="missing")
    text = section(staff, app, "identity")
    assert "In the last seven days, 4 of 5 calls would have been refused." in text
    assert "no token, and the person needs one 3 0" in text
    assert "does not allow what was written 1 0" in text
    assert f"{SHOP} no token, and the person needs one 2" in text
    assert f"{BLOG} no token, and the person needs one 1" in text
    assert "expired" not in text


def test_the_page_has_the_tag_that_loads_the_sdk_with_the_app_s_id(staff: Client, app: App) -> None:
    tag = section(staff, app, "tag")
    assert script_tag(host="http://testserver") in tag
    assert f'new Engage({{ app: "{app.pk}", host: "http://testserver" }})' in tag


def test_what_an_enforcing_app_refused_is_told(staff: Client, app: App) -> None:
    App.objects.update(identity=App.Identity.ENFORCE)
    for sent in (None, None, token(exp=1)):
        assert call_as_ada(app, sent=sent) == 401
    metric_counters.send()
    text = section(staff, app, "identity")
    assert "0 of 0 calls would have been refused." in text
    assert "no token, and the person needs one 0 2" in text
    assert "the token had expired 0 1" in text
    assert "Refuse who is not proven" not in text


def test_enforcing_is_asked_for_confirmed_and_noted(staff: Client, app: App) -> None:
    call_as_ada(app)
    assert f'href="{enforcing(app)}"' in staff.get(page_url(app)).content.decode()
    asked = staff.get(enforcing(app)).content.decode()
    assert "1 of 1 call would have been refused." in asked
    assert "Yes, refuse them" in asked
    app.refresh_from_db()
    assert app.identity == App.Identity.REPORT
    assert CONFIRMED in staff.post(enforcing(app), follow=True).content.decode()
    app.refresh_from_db()
    assert app.identity == App.Identity.ENFORCE
    noted = "Enforces identity from now on. In the last seven days, 1 of 1 call would have been refused."
    assert told() == [("root", app.pk, noted)]
    assert call_as_ada(app) == 401
    assert "enforces already" in staff.post(enforcing(app), follow=True).content.decode()
    assert len(told()) == 1


def test_without_a_valid_key_nothing_is_enforced(staff: Client, app: App) -> None:
    IdentityKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "Yes, refuse them" not in staff.get(enforcing(app)).content.decode()
    assert "no identity key that is valid now" in staff.post(enforcing(app), follow=True).content.decode()
    app.refresh_from_db()
    assert app.identity == App.Identity.REPORT
    assert told() == []


def test_staff_enforce_and_see_what_they_may(app: App) -> None:
    call_as_ada(app)
    for client in (staff_with("view_app", "view_interaction"), staff_with("view_interaction")):
        assert client.get(enforcing(app)).status_code == 403
        assert client.post(enforcing(app)).status_code == 403
    assert enforcing(app) not in staff_with("view_app").get(page_url(app)).content.decode()
    app.refresh_from_db()
    assert app.identity == App.Identity.REPORT
    editor = staff_with("change_app")
    assert "would have been refused" not in section(editor, app, "identity")
    assert "would have been refused" not in editor.get(enforcing(app)).content.decode()
    assert editor.post(enforcing(app)).status_code == 302
    app.refresh_from_db()
    assert app.identity == App.Identity.ENFORCE


def test_an_app_that_is_not_there_is_not_found(staff: Client, app: App) -> None:
    url = enforcing(app).replace(app.pk, "0" * 24)
    assert (staff.get(url).status_code, staff.post(url).status_code) == (404, 404)


def test_a_hostile_origin_is_shown_and_not_obeyed(staff: Client, app: App) -> None:
    message = MessageFactory.create(workspace=app.workspace)
    interact(message, 1, app=app, verified=False, identity_problem="missing", origin=HOSTILE)
    for url in (page_url(app), enforcing(app)):
        page = staff.get(url).content.decode()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page


def test_of_very_many_calls_the_newest_are_counted(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "COUNTED_AT_MOST", 3)
    message = MessageFactory.create(workspace=app.workspace)
    interact(message, 9, days_ago=2, app=app, verified=True)
    interact(message, 3, app=app, verified=False, identity_problem="missing")
    told = identity_figures(app, now=timezone.now())
    assert (told.calls, told.unproven, told.is_partial) == (3, {"missing": 3}, True)
