"""An app's `identity`: whether people are who the page says."""

import base64
import json
import math
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from bridge.models import Interaction
from customers.models import Customer, Event
from engage.models import App, IdentityKey, Workspace
from tests.bridge.identity.tokens import SECRET, token
from tests.support.bridge_calls import ACTION, CAPTURE, call
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient
from tests.support.factories import AppFactory, CustomerFactory

PRIVATE: dict[str, Any] = {
    "RS256": generate_rsa(public_exponent=65537, key_size=2048),
    "ES256": generate_private_key(SECP256R1()),
    "EdDSA": Ed25519PrivateKey.generate(),
}
UPDATE: dict[str, Any] = {"actionType": "update_profile", "actionData": {"profileAttributes": {"plan": "pro"}}}

SEEN: dict[str, Any] = {"actionType": "track_event", "actionData": {"eventName": "seen"}}


def pem(alg: str) -> str:
    public = PRIVATE[alg].public_key()
    return str(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())


def app_with(workspace: Workspace, *, alg: str = "HS256", secret: str = SECRET, **fields: Any) -> SdkClient:
    app = AppFactory.create(workspace=workspace, **{"identity": "enforce", **fields})
    IdentityKey.objects.create(workspace=workspace, app=app, kid="k1", alg=alg, secret=secret)
    return SdkClient(app)


def test_a_key_that_cannot_be_decrypted_fails_its_own_tokens_alone(strict: SdkClient) -> None:
    own = App.objects.get()
    IdentityKey.objects.create(workspace=own.workspace, app=own, kid="k0", alg="HS256", secret="encrypted:lost")
    assert as_ada(strict, token()).status_code == 200
    answer = as_ada(strict, token(kid="k0"))
    assert (answer.status_code, answer.json()["code"]) == (503, "service_unavailable")


@pytest.fixture
def strict(acme: Workspace) -> SdkClient:
    return app_with(acme)


def as_ada(sdk: SdkClient, sent: str | None, path: str = ACTION, **fields: Any) -> Answer:
    about = {"userId": None, "external_id": "ada", **fields}
    return call(sdk, path, about, headers={} if sent is None else {"X-Identity-Token": sent})


def refused(answer: Answer, code: str) -> None:
    """Nothing was written, and nobody created."""
    assert (answer.status_code, answer.json()["code"]) == (401, f"identity_token_{code}"), answer.json()
    assert not Event.objects.exists()
    assert not Interaction.objects.exists()
    assert not Customer.objects.exclude(attributes={}).exists()


def test_a_token_proves_the_person(strict: SdkClient) -> None:

    assert as_ada(strict, token(), **SEEN).status_code == 200
    assert as_ada(strict, None, CAPTURE, identityToken=token(), formData={"city": "Ulm"}).status_code == 200

    assert Event.objects.get().verified is True
    assert set(Interaction.objects.values_list("verified", "identity_problem")) == {(True, "")}
    assert Customer.objects.get().attributes == {"city": "Ulm"}


@each("alg", ["RS256", "ES256", "EdDSA"])
def test_each_algorithm_verifies_by_its_public_key(acme: Workspace, alg: str) -> None:
    sdk = app_with(acme, alg=alg, secret=pem(alg))

    assert as_ada(sdk, token(key=PRIVATE[alg], alg=alg)).status_code == 200
    answer = as_ada(sdk, token(key=generate_rsa(public_exponent=65537, key_size=2048), alg="RS256"))
    assert answer.json()["code"] == "identity_token_invalid"


def unsigned() -> str:
    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'none', 'kid': 'k1'})}.{part({'sub': 'ada', 'exp': int(time.time()) + 60})}."


def swapped_sub() -> str:
    head, _, signature = token(sub="eve").split(".")
    return ".".join([head, token().split(".")[1], signature])


FORGED: dict[str, tuple[Callable[[], str], str]] = {
    "none": (unsigned, "invalid"),
    "another secret": (lambda: token(key="another-secret-of-thirty-two-bytes-or-more"), "invalid"),
    "another kid": (lambda: token(kid="k2"), "invalid"),
    "no kid": (lambda: token(kid=None), "invalid"),
    "another algorithm": (lambda: token(alg="HS512", key=SECRET * 2), "invalid"),
    "swapped sub": (swapped_sub, "invalid"),
    "somebody else": (lambda: token(sub="eve"), "mismatch"),
    "a userId": (lambda: token(idt="userId"), "mismatch"),
    "expired": (lambda: token(exp=int(time.time()) - 120), "expired"),
    "issued in the future": (lambda: token(iat=int(time.time()) + 600), "invalid"),
    "not yet": (lambda: token(nbf=int(time.time()) + 600), "invalid"),
    "for too long": (lambda: token(exp=int(time.time()) + 90_000), "invalid"),
    "for ever": (lambda: token(exp=None), "invalid"),
    "for longer than a float tells": (lambda: token(exp=10**400), "invalid"),
    "for infinity": (lambda: token(exp=math.inf), "invalid"),
    "issued at infinity": (lambda: token(iat=math.inf), "invalid"),
    "not before no number": (lambda: token(nbf=math.nan), "invalid"),
    "10 KB": (lambda: token(more="x" * 10_000), "invalid"),
    "another app's": (lambda: token(aud="6b0669c1fdf2d75afaefaf80"), "invalid"),
    "blank": (lambda: token(sub="  "), "invalid"),
    "no token": (lambda: "ada", "invalid"),
    "odd bytes": (lambda: "é.ü.ß", "invalid"),
    "a list of attributes": (lambda: token(attributes="plan"), "invalid"),
}


@each("known", [False, True])
@each("forged", FORGED)
def test_enforced_a_forged_token_writes_nothing(strict: SdkClient, acme: Workspace, forged: str, known: bool) -> None:
    if known:
        CustomerFactory.create(workspace=acme, external_id="ada")
    made, code = FORGED[forged]

    refused(as_ada(strict, None, **UPDATE, identityToken=made()), code)


@each("alg", ["RS256", "HS256"])
def test_a_public_key_is_no_shared_secret(acme: Workspace, alg: str) -> None:
    sdk = app_with(acme, alg=alg, secret=pem("RS256"))
    key = pem("RS256").encode()
    header = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "k1"}).encode()).rstrip(b"=").decode()
    body = token().split(".")[1]
    signed = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(f"{header}.{body}".encode(), key)

    forged = f"{header}.{body}.{base64.urlsafe_b64encode(signed).rstrip(b'=').decode()}"

    refused(as_ada(sdk, forged, **UPDATE), "invalid")


def test_keys_are_of_one_app_and_of_one_workspace(acme: Workspace, rival: Workspace, strict: SdkClient) -> None:
    for other in [AppFactory.create(workspace=acme, identity="enforce"), AppFactory.create(workspace=rival)]:
        App.objects.filter(id=other.id).update(identity="enforce")
        refused(as_ada(SdkClient(other), token(), **UPDATE), "invalid")


def test_a_key_has_an_end(acme: Workspace, strict: SdkClient) -> None:
    IdentityKey.objects.update(expires_at=timezone.now() + timedelta(minutes=1, microseconds=500))
    assert as_ada(strict, token()).status_code == 200
    Interaction.objects.all().delete()

    IdentityKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    refused(as_ada(strict, token(), **UPDATE), "invalid")


def test_an_app_comes_with_its_keys(
    strict: SdkClient, acme: Workspace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    with django_assert_num_queries(2):  # the app, and the one statement that records
        assert as_ada(strict, token(), **SEEN).status_code == 200


@each(
    "claims, fields, covered",
    [
        ({}, {"email": "ada@example.com"}, False),
        ({"email": "Ada@example.com"}, {"email": "ada@EXAMPLE.com"}, True),
        ({"phone": "+49 170 1234567"}, {"phone": "+491701234567"}, True),
        ({"email": "eve@example.com"}, {"email": "ada@example.com"}, False),
        ({}, {"userId": "u-1"}, False),
        ({"idt": "userId"}, {"userId": "ada", "external_id": None}, True),
        ({"attributes": ["plan"]}, UPDATE, True),
        ({"attributes": ["name"]}, UPDATE, False),
        ({"attributes": []}, {}, True),
    ],
)
def test_every_identifier_and_attribute_must_be_covered(
    strict: SdkClient, claims: dict[str, Any], fields: dict[str, Any], covered: bool
) -> None:
    answer = as_ada(strict, token(**claims), **fields)
    if covered:
        assert answer.status_code == 200
    else:
        refused(answer, "mismatch")


@each("fields", [{"actionType": "close"}, UPDATE, {"actionType": "track_event", "actionData": {"eventName": "x"}}])
def test_an_anonymous_person_needs_no_token_and_somebody_known_does(
    strict: SdkClient, acme: Workspace, fields: dict[str, Any]
) -> None:
    assert call(strict, ACTION, {**fields, "userId": "anon-1"}).status_code == 200
    assert Interaction.objects.get().verified is False
    Interaction.objects.all().delete()
    Event.objects.all().delete()
    Customer.objects.all().delete()

    CustomerFactory.create(workspace=acme, user_id="u-1", external_id="ada")
    refused(call(strict, ACTION, fields), "missing")
    refused(as_ada(strict, None, **fields), "missing")
    refused(as_ada(strict, None, **fields, userId="u-2"), "missing")


def test_anonymous_people_may_be_denied(acme: Workspace) -> None:
    sdk = app_with(acme, anonymous="deny")
    refused(call(sdk, ACTION, {"userId": "anon-1"}), "missing")
    assert not Customer.objects.exists()


@each(
    "fields, sent, problem",
    [
        ({"external_id": "ada", "userId": None}, None, "missing"),
        ({"external_id": "ada", "userId": None}, "forged", "invalid"),
        ({"email": "e@example.com"}, None, "missing"),
        ({"userId": "known"}, None, "missing"),
        ({"userId": "anon-1"}, None, ""),
    ],
)
def test_reported_it_is_written_as_before_and_marked(
    acme: Workspace, fields: dict[str, Any], sent: str | None, problem: str
) -> None:
    CustomerFactory.create(workspace=acme, user_id="known", external_id="grace")
    sdk = app_with(acme, identity="report")
    headers = {"Origin": "https://shop.example"} | ({"X-Identity-Token": sent} if sent else {})

    assert call(sdk, ACTION, {**UPDATE, **fields}, headers=headers).status_code == 200

    recorded = Interaction.objects.select_related("customer").get()
    assert recorded.customer.attributes == {"plan": "pro"}
    assert (recorded.verified, recorded.identity_problem) == (False, problem)
    assert recorded.origin == ("https://shop.example" if problem else "")


def test_off_no_token_is_looked_at(sdk: SdkClient) -> None:
    assert as_ada(sdk, "forged").status_code == 200
    assert Interaction.objects.get().verified is None


def test_secrets_are_encrypted_in_the_database(strict: SdkClient) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM engage_identitykey")
        assert SECRET not in str(cursor.fetchall())


@each("path", [ACTION, CAPTURE, "/api/v1/sdk/identify", "/api/v1/sdk/bridge/batch"])
def test_a_kept_answer_is_for_whom_the_token_proves(strict: SdkClient, path: str) -> None:
    about: dict[str, Any] = {"external_id": "ada", "idempotencyKey": "k"}
    body: dict[str, Any] = {
        ACTION: {**about, "messageId": "m", **SEEN},
        CAPTURE: {**about, "messageId": "m", "formData": {"plan": "pro"}},
    }.get(path, {**about, "userId": "u"})
    if path.endswith("batch"):
        body = {"calls": [{"call": "action", **about, "messageId": "m", **SEEN}]}

    def sent(headers: dict[str, str]) -> tuple[int, str | None]:
        answer = strict.post(path, body, headers=headers)
        one = (
            answer.json()["data"]["results"][0]
            if path.endswith("batch")
            else {**answer.json(), "status": answer.status_code}
        )
        return one["status"], one.get("code")

    first, another = ({"X-Identity-Token": token(jti=name)} for name in "12")
    assert sent(first) == (200, None)
    assert sent({}) == (401, "identity_token_missing")
    assert sent({"X-Identity-Token": token(sub="eve")}) == (401, "identity_token_mismatch")
    assert sent(another) == (200, None)
    assert Interaction.objects.count() == 1
