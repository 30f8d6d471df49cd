"""Staff make and revoke API keys, and say what an app may do."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import transaction
from django.test import Client
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.credentials.api_keys import digest, is_well_formed
from engage.models import ApiKey, App, AuditEntry, Workspace
from tests.admin.keys import APPS, KEYS, make_key, secret_on, works
from tests.admin.records import ALL_SCOPES, NO_CHECKS, cells
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.clock import later
from tests.support.factories import ApiKeyFactory, AppFactory, JourneyFactory
from tests.support.simultaneous import made_to_wait


def test_a_new_key_is_shown_once_and_works(staff: Client, acme: Workspace) -> None:
    secret = secret_on(make_key(staff, acme))
    assert is_well_formed(secret)
    assert works(secret, acme)
    for url in (KEYS, page_url(ApiKey.objects.get()), page_url(acme), "/admin/"):
        assert secret not in staff.get(url).content.decode()


def test_a_key_is_given_its_limits(staff: Client, acme: Workspace) -> None:
    make_key(staff, acme, customers_rate_limit="7/s")
    key = ApiKey.objects.get()
    assert (key.rate_limit, key.customers_rate_limit, key.events_rate_limit) == ("100/m", "7/s", None)


def test_a_key_is_limited_and_shows_its_limits(staff: Client, acme: Workspace, rival: Workspace) -> None:
    welcome, other = (JourneyFactory.create(workspace=acme, key=key) for key in ("welcome", "other"))
    limits = {"scopes": ["trigger", "events"], "journeys": f"welcome\n{other.id}\n", "networks": "10.0.0.0/8\n::1"}
    make_key(staff, acme, **limits)
    key = ApiKey.objects.get()
    assert (key.scopes, key.journeys) == (["trigger", "events"], [welcome.id, other.id])
    assert key.networks == ["10.0.0.0/8", "::1/128"]
    page = staff.get(page_url(key)).content.decode()
    assert re.findall(r'name="scopes" value="([^"]*)"[^>]* checked>', page) == ["trigger", "events"]
    assert "welcome\nother</textarea>" in page
    assert "10.0.0.0/8\n::1/128</textarea>" in page
    staff.post(page_url(key), {"name": key.name, "rate_limit": "5/s", **ALL_SCOPES})
    key.refresh_from_db()
    assert [key.scopes, key.journeys, key.networks] == [None] * 3


def test_a_key_is_refused_what_it_cannot_be_limited_to(staff: Client, acme: Workspace, rival: Workspace) -> None:
    foreign = JourneyFactory.create(workspace=rival, key="theirs")
    for name in ("theirs", foreign.id, "none"):
        assert f"The workspace has no journey {name}." in make_key(staff, acme, journeys=name)
    assert "10.0.0.1/8 is no network: 10.0.0.1/8 has host bits set." in make_key(staff, acme, networks="10.0.0.1/8")
    assert "This field is required." in make_key(staff, acme, scopes=[])
    assert not ApiKey.objects.exists()


def test_only_the_digest_of_a_key_is_kept(staff: Client, acme: Workspace) -> None:
    secret = secret_on(make_key(staff, acme))
    key = ApiKey.objects.get()
    assert bytes(key.digest) == digest(secret)
    assert key.prefix == secret[:13]
    kept = [
        *ApiKey.objects.values_list(),
        *AuditEntry.objects.values_list(),
        *(s.get_decoded() for s in Session.objects.all()),
    ]
    assert secret not in repr(kept)
    assert not [cookie for cookie in staff.cookies.values() if secret in cookie.value]


def test_the_page_of_a_key_does_not_show_its_digest(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme)
    page = staff.get(page_url(key)).content.decode()
    assert bytes(key.digest).hex() not in page
    assert "digest" not in page


@each(
    "field, value, why",
    [
        ("rate_limit", "often", "Write a rate as 100/m, 5/s or 1000/h."),
        ("rate_limit", "1000000000000/s", "Its first number must be from 1 to 999999999, without leading zeros."),
        ("rate_limit", "0/m", "Its first number must be from 1 to 999999999, without leading zeros."),
        ("rate_limit", "5/10000s", "The number before its unit of time must be from 1 to 9999, without leading zeros."),
        ("customers_rate_limit", "often", "Write a rate as 100/m, 5/s or 1000/h."),
        ("events_rate_limit", "0/m", "Its first number must be from 1 to 999999999, without leading zeros."),
        ("name", "", "This field is required."),
        ("name", "taken", "API key with this Workspace and Name already exists."),
        ("workspace", "nobody", "Select a valid choice."),
    ],
)
def test_a_key_that_cannot_be_is_refused_at_its_field(
    staff: Client, acme: Workspace, field: str, value: str, why: str
) -> None:
    ApiKeyFactory.create(workspace=acme, name="taken")
    assert why in make_key(staff, acme, **{field: value})
    assert ApiKey.objects.count() == 1


def test_a_revoked_key_is_refused_from_then_on(staff: Client, acme: Workspace, server: ServerClient) -> None:
    key = ApiKey.objects.get()
    with later():
        ApiKeyFactory.create_batch(2, workspace=acme)
    before = timezone.now()
    assert staff.post(page_url(key).replace("/change/", "/revoke/")).status_code == 302
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert key.revoked_at >= before
    assert server.get(f"/api/v1/journeys/{acme.id}/jobs/none").status_code == 401
    assert f"{key.revoked_at:%Y-%m-%d %H:%M:%S} UTC" in staff.get(page_url(key)).content.decode()
    assert cells(staff.get(KEYS).content.decode(), "validity") == ["valid", "valid", "revoked"]
    panel = re.findall(rf"{KEYS}(\w+)/change/", staff.get(page_url(acme)).content.decode())
    assert panel == list(ApiKey.objects.order_by("-pk").values_list("pk", flat=True))


def test_looking_at_a_key_and_saving_it_do_not_revoke_it(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme)
    assert re.search(r"/revoke/.*?<button[^>]* data-confirm=", staff.get(page_url(key)).content.decode(), re.DOTALL)
    staff.post(page_url(key), {"name": "renamed", "rate_limit": "5/s", **ALL_SCOPES})
    key.refresh_from_db()
    assert (key.name, key.rate_limit, key.revoked_at) == ("renamed", "5/s", None)


def test_a_key_keeps_its_workspace(staff: Client, acme: Workspace, rival: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme)
    staff.post(page_url(key), {"workspace": rival.id, "name": key.name, "rate_limit": "5/s", **ALL_SCOPES})
    key.refresh_from_db()
    assert key.workspace_id == acme.id


def test_a_key_says_whether_it_has_expired(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme, expires_at=timezone.now() - timedelta(seconds=1))
    for url in (KEYS, page_url(key)):
        assert "expired" in staff.get(url).content.decode()


def test_a_key_is_shown_with_its_beginning_its_limit_and_its_last_use(staff: Client, acme: Workspace) -> None:
    used_at = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    key = ApiKeyFactory.create(workspace=acme, rate_limit="7/s", last_used_at=used_at)
    listed = staff.get(KEYS).content.decode()
    for column, value in (("prefix", key.prefix), ("rate_limit", "7/s"), ("last_used_at", "2030-01-02 03:04:05 UTC")):
        assert cells(listed, column) == [value]
    page = staff.get(page_url(key)).content.decode()
    assert re.search(rf">\s*{key.prefix}\s*<", page)
    assert "2030-01-02 03:04:05 UTC" in page


@pytest.mark.django_db(transaction=True)
def test_a_key_that_is_revoked_while_its_page_is_saved_stays_revoked(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme, rate_limit="7/s")
    fields = {"name": key.name, "rate_limit": "8/s", "expires_at_0": "", "expires_at_1": "", **ALL_SCOPES}
    with transaction.atomic():
        ApiKey.objects.update(revoked_at=timezone.now())
        saving = made_to_wait(lambda: staff.post(page_url(key), fields))
    assert saving.result().status_code == 302
    key.refresh_from_db()
    assert (key.rate_limit, key.revoked_at is None) == ("8/s", False)


def test_times_have_their_zone(staff: Client, acme: Workspace) -> None:
    expires_at = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    key = ApiKeyFactory.create(workspace=acme, expires_at=expires_at)
    assert "2030-01-02 03:04:05 UTC" in staff.get(KEYS).content.decode()
    page = staff.get(page_url(key)).content.decode()
    assert page.count("In UTC; empty: it does not expire.") == 1
    assert f"{key.created_at:%Y-%m-%d %H:%M:%S} UTC" in page


def save_app(staff: Client, app: App, **fields: Any) -> str:
    """Saves the app's page; what it shows afterwards."""
    answer = staff.post(
        page_url(app), {"name": app.name, "enabled": "on", "allowed_origins": "", **NO_CHECKS, **fields}, follow=True
    )
    return answer.content.decode()


def test_an_app_is_made_with_origins_one_per_line(staff: Client, acme: Workspace) -> None:
    origins = " https://Shop.example/ \n\nhttp://localhost:3000\nhttps://shop.example:443\nchrome-extension://abc"
    staff.post(
        f"{APPS}add/", {"workspace": acme.id, "name": "web", "enabled": "on", "allowed_origins": origins, **NO_CHECKS}
    )
    app = App.objects.get()
    assert app.allowed_origins == ["https://shop.example", "http://localhost:3000", "chrome-extension://abc"]
    page = staff.get(page_url(app)).content.decode()
    assert "https://shop.example\nhttp://localhost:3000\nchrome-extension://abc</textarea>" in page
    assert f'<code class="engage-copy">{app.id}</code>' in page


@each(
    "origin",
    [
        "shop.example", "https://shop.example/path", "https://a@b.example", "*", "https://*.shop.example",
        "://shop.example", "https://a.example?b",
        "https://a.example#b", "https://a.example,b.example", "https://a.example b.example",
    ],
)  # fmt: skip
def test_what_is_no_origin_is_refused_with_its_line(staff: Client, acme: Workspace, origin: str) -> None:
    app = AppFactory.create(workspace=acme, allowed_origins=["https://old.example"])
    assert f"{origin} is no origin" in save_app(staff, app, allowed_origins=f"https://good.example\n{origin}")
    app.refresh_from_db()
    assert app.allowed_origins == ["https://old.example"]


def test_a_host_beyond_ascii_is_refused_with_how_to_write_it(staff: Client, acme: Workspace) -> None:
    app = AppFactory.create(workspace=acme)
    page = save_app(staff, app, allowed_origins="https://bücher.example")
    assert "https://bücher.example is no origin" in page
    assert "as in https://xn--bcher-kva.example." in page
    save_app(staff, app, allowed_origins="https://xn--bcher-kva.example")
    app.refresh_from_db()
    assert app.allowed_origins == ["https://xn--bcher-kva.example"]


def test_what_an_app_checks_is_chosen_on_its_page(staff: Client, acme: Workspace) -> None:
    app = AppFactory.create(workspace=acme)
    save_app(staff, app, message_policy="enforce", identity="report", anonymous="deny")
    app.refresh_from_db()
    assert (app.message_policy, app.identity, app.anonymous) == ("enforce", "report", "deny")


def test_an_app_that_is_switched_off_is_refused(staff: Client, acme: Workspace, sdk: SdkClient) -> None:
    save_app(staff, sdk.app, enabled="")
    body = {"messageId": "m-1", "actionType": "close", "userId": "u-1"}
    assert sdk.post("/api/v1/sdk/bridge/action", body).status_code == 401


def test_a_workspace_is_made_and_renamed(staff: Client, db: None) -> None:
    staff.post("/admin/engage/workspace/add/", {"name": "Acme", "key": "acme"})
    workspace = Workspace.objects.get()
    staff.post(page_url(workspace), {"name": "Acme Ltd", "key": "acme-ltd"})
    workspace.refresh_from_db()
    assert (workspace.name, workspace.key) == ("Acme Ltd", "acme-ltd")


def test_a_workspace_key_that_cannot_stand_in_a_file_is_refused(staff: Client, db: None) -> None:
    page = staff.post("/admin/engage/workspace/add/", {"name": "Acme", "key": "Acme!"}).content.decode()
    assert "Use lower-case letters, digits, - and _." in page
    assert not Workspace.objects.exists()
