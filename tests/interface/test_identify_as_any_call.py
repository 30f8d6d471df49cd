"""`POST /api/v1/sdk/identify` has origins, limits and tokens, as every call of an app."""

import json
from typing import Any

from pytest_django import DjangoAssertNumQueries, Settings

from bridge.models import Interaction
from customers.models import Alias, Customer
from engage.models import Workspace
from tests.bridge.identity.tokens import proving, token
from tests.interface.identified import done
from tests.support.bridge_calls import ACTION, ANON, IDENTIFY, SEEN, click, identify
from tests.support.calls import refused
from tests.support.cases import each
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory


def test_it_needs_no_preflight(sdk: SdkClient, ada: Customer) -> None:
    body = json.dumps({"userId": ANON, "external_id": "ada", "idempotencyKey": "k-1"}).encode()
    path = f"{IDENTIFY}?app={sdk.headers['X-App-Id']}"
    answer = sdk.post(path, body, headers={"X-App-Id": None}, content_type="text/plain;charset=UTF-8")
    done(answer)


@each(
    "body, missing",
    [
        ({"userId": ANON}, "At least one of external_id, email, phone must be present."),
        ({"external_id": "ada"}, "userId is required."),
        ({"userId": " ", "external_id": "ada"}, "userId is required."),
    ],
)
def test_both_are_needed(sdk: SdkClient, body: dict[str, Any], missing: str) -> None:
    assert refused(sdk.post(IDENTIFY, body), status=400, error="Missing required parameter") == missing
    assert not Customer.objects.exists()


def test_it_is_limited_and_counted(sdk: SdkClient, settings: Settings, ada: Customer) -> None:
    settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = "1/h"
    done(identify(sdk, external_id="ada"))
    refused(identify(sdk, user_id="anon-2", external_id="ada"), status=429, error="Rate limit exceeded")
    refused(identify(sdk, user_id="anon-2", external_id="bob"), status=429, error="Rate limit exceeded")
    done(identify(sdk, external_id="ada"))
    assert Customer.objects.get() == ada
    settings.BRIDGE_RATE_LIMIT = "2/h"
    *_, last = [identify(sdk, external_id="ada") for _ in range(3)]
    refused(last, status=429, error="Rate limit exceeded")


def test_only_allowed_origins(acme: Workspace, ada: Customer) -> None:
    sdk = SdkClient(AppFactory.create(workspace=acme, allowed_origins=["https://shop.example"]))
    sdk.headers["Origin"] = "https://evil.example"
    refused(identify(sdk, external_id="ada"), status=403, error="Origin not allowed")
    assert not Alias.objects.exists()


@each(
    "sent, code",
    [
        ({}, "identity_token_missing"),
        ({"identityToken": "none"}, "identity_token_invalid"),
        ({"identityToken": token(sub="bob")}, "identity_token_mismatch"),
        ({"identityToken": token(), "email": "ada@example.com"}, "identity_token_mismatch"),
    ],
)
def test_who_enforces_wants_a_token_for_whom_they_are(
    acme: Workspace, ada: Customer, sent: dict[str, str], code: str
) -> None:
    sdk = proving(acme)
    click(sdk, userId=ANON)
    answer = identify(sdk, external_id="ada", **sent)
    assert (answer.status_code, answer.json()["code"]) == (401, code)
    assert Customer.objects.filter(user_id=ANON).exists()

    done(identify(sdk, external_id="ada", identityToken=token()))
    assert Customer.objects.get() == ada
    late = click(sdk, userId=ANON)  # without a token, nobody who has other identifiers is reached
    assert (late.status_code, late.json()["code"]) == (401, "identity_token_missing")
    assert click(sdk, userId=None, external_id="ada", identityToken=token()).status_code == 200


def test_who_reports_has_it_marked(acme: Workspace, ada: Customer) -> None:
    done(identify(proving(acme, "report"), external_id="ada"))
    marked = Interaction.objects.get()
    assert (marked.kind, marked.verified, marked.identity_problem) == ("identify", False, "missing")


@each("events", [1, 30])
def test_a_merge_costs_as_many_queries_however_much_there_is(
    sdk: SdkClient, ada: Customer, django_assert_num_queries: DjangoAssertNumQueries, events: int
) -> None:
    for n in range(events):
        sdk.post(ACTION, {"messageId": "m", "userId": ANON, **SEEN, "formData": {"n": n}})
    # The app, three ends of transactions; locking both; how much there is; the audit; jobs 2, enrollments 2;
    # events, interactions, segments; aliases 2, the row itself; the interaction.
    with django_assert_num_queries(16):
        done(identify(sdk, external_id="ada"))
