"""Staff give an app the keys that prove who people are."""

import re
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.db import connection
from django.test import Client
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.models import App, IdentityKey, Workspace
from tests.admin.records import cells
from tests.admin.staff import member, staff_with
from tests.bridge.identity.tokens import SECRET, token
from tests.support.audit import written
from tests.support.bridge_calls import ACTION, call
from tests.support.cases import each
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory

KEYS = "/admin/engage/identitykey/"
ENDLESS = {"expires_at_0": "", "expires_at_1": ""}
CLOSE: dict[str, Any] = {"actionType": "close", "userId": None, "external_id": "ada"}


@pytest.fixture
def app(acme: Workspace) -> App:
    return AppFactory.create(workspace=acme, identity=App.Identity.ENFORCE)


def add(staff: Client, app: App, **fields: str) -> str:
    """Adds a key; the page that answers."""
    said = {"app": app.pk, "kid": "k1", "alg": "HS256", "secret": SECRET, **ENDLESS, **fields}
    return staff.post(f"{KEYS}add/", said, follow=True).content.decode()


def takes(app: App, **claims: Any) -> bool:
    """Whether the app takes a token made so."""
    return call(SdkClient(app), ACTION, {**CLOSE, "identityToken": token(**claims)}).status_code == 200


def test_a_secret_that_was_entered_verifies_and_is_shown_to_nobody(staff: Client, app: App, acme: Workspace) -> None:
    assert SECRET not in add(staff, app)
    key = IdentityKey.objects.get()
    assert (key.kid, key.alg, key.secret, key.workspace_id) == ("k1", "HS256", SECRET, acme.id)
    assert takes(app)
    for url in (KEYS, page_url(key), page_url(app), f"{KEYS}{key.pk}/history/", "/admin/"):
        page = staff.get(url).content.decode()
        assert SECRET not in page
        assert 'name="secret"' not in page
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM engage_identitykey")
        assert SECRET not in cursor.fetchone()[0]
    assert SECRET not in written()


def test_a_secret_that_is_made_is_shown_once_and_verifies(staff: Client, app: App) -> None:
    (secret,) = re.findall(r'id="secret">([\w-]+)<', add(staff, app, secret=""))
    assert takes(app, key=secret)
    key = IdentityKey.objects.get()
    for url in (KEYS, page_url(key), page_url(app)):
        assert secret not in staff.get(url).content.decode()


def test_a_public_key_verifies_tokens_of_its_algorithm(staff: Client, app: App) -> None:
    private = Ed25519PrivateKey.generate()
    pem = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    add(staff, app, alg="EdDSA", secret=pem.replace("\n", "\r\n"))
    assert takes(app, key=private, alg="EdDSA")


@each(
    "fields, told",
    [
        ({"secret": "short"}, "The secret must be a secret of at least 32 bytes."),
        ({"alg": "ES256", "secret": SECRET}, "The key must be the public key of a P-256 key, in PEM."),
        ({"alg": "RS256", "secret": ""}, "The key must be the public key of an RSA key of at least 2048 bits, in PEM."),
        ({"alg": "none"}, "Select a valid choice."),
        ({"kid": ""}, "This field is required."),
    ],
)
def test_what_is_no_key_is_refused_and_nothing_is_written(
    staff: Client, app: App, fields: dict[str, str], told: str
) -> None:
    assert told in add(staff, app, **fields)
    assert not IdentityKey.objects.exists()


def test_an_app_has_three_keys_at_most_and_each_kid_once(staff: Client, app: App, rival: Workspace) -> None:
    add(staff, app)
    assert "already exists" in add(staff, app)
    add(staff, app, kid="k2")
    add(staff, app, kid="k3")
    assert "The app has 3 keys" in add(staff, app, kid="k4")
    assert list(IdentityKey.objects.order_by("kid").values_list("kid", flat=True)) == ["k1", "k2", "k3"]
    other = AppFactory.create(workspace=rival)
    add(staff, other)
    page = staff.get(page_url(app)).content.decode()
    assert [kid for kid in ("k1", "k2", "k3") if f">{kid}</a>" not in page] == []
    assert page_url(IdentityKey.objects.get(app=other)) not in page
    (first,) = IdentityKey.objects.filter(app=app, kid="k1")
    staff.post(f"{KEYS}{first.pk}/delete/", {"post": "yes"})
    add(staff, app, kid="k4")
    assert IdentityKey.objects.filter(app=app).count() == 3


def test_a_key_gets_an_end_and_nothing_else_of_it_changes(staff: Client, app: App) -> None:
    add(staff, app)
    key = IdentityKey.objects.get()
    end = timezone.now() - timedelta(minutes=1)
    said = {"expires_at_0": f"{end:%Y-%m-%d}", "expires_at_1": f"{end:%H:%M:%S}"}
    staff.post(page_url(key), {**said, "kid": "other", "secret": "x" * 40, "alg": "ES256"})
    key.refresh_from_db()
    assert (key.kid, key.alg, key.secret) == ("k1", "HS256", SECRET)
    assert key.expires_at is not None
    assert not takes(app)
    assert cells(staff.get(KEYS).content.decode(), "validity") == ["ended"]


def test_keys_are_made_and_seen_by_those_who_may(app: App) -> None:
    said = {"app": app.pk, "kid": "k1", "alg": "HS256", "secret": SECRET, **ENDLESS}
    for client in (staff_with("view_app", "change_app"), staff_with("add_identitykey"), staff_with("view_identitykey")):
        assert client.post(f"{KEYS}add/", said).status_code == 403
    assert not IdentityKey.objects.exists()
    assert staff_with("add_identitykey", "view_app", "view_customer").post(f"{KEYS}add/", said).status_code == 302
    key = IdentityKey.objects.get()
    assert page_url(key) not in staff_with("view_app").get(page_url(app)).content.decode()
    assert page_url(key) in staff_with("view_app", "view_identitykey").get(page_url(app)).content.decode()


def test_a_member_gives_no_key_to_an_app_of_another_workspace(app: App, rival: Workspace) -> None:
    client = member("neighbour", acme="admin")
    theirs = AppFactory.create(workspace=rival)
    assert "Select a valid choice" in add(client, theirs)
    assert not IdentityKey.objects.exists()
    enforce = page_url(theirs).replace("change", "enforce-identity")
    assert (client.get(enforce).status_code, client.post(enforce).status_code) == (404, 404)
    add(client, app)
    assert IdentityKey.objects.get().app_id == app.pk
