"""Whoever has an app's public id and guesses the rest reads nobody's messages, in whatever answer carries contents.

`STRANGERS=10000` tries that often.
"""

import os
import random
import time
from typing import Any

import pytest

from customers.models import Customer, Event
from engage.models import App, IdentityKey, Workspace
from journeys.models import InAppDelivery
from tests.bridge.identity.tokens import SECRET, token
from tests.bridge.in_app.deliveries import KEY, deliver, offer
from tests.support.bridge_calls import ACTION, CAPTURE
from tests.support.clients import Answer, SdkClient
from tests.support.factories import AppFactory, CustomerFactory

TRIES = int(os.environ.get("STRANGERS", "150"))
SAID = "what-only-she-may-read"
OTHER = "another-secret-of-at-least-thirty-two-bytes"


def app_of(workspace: Workspace, **fields: Any) -> App:
    app: App = AppFactory.create(workspace=workspace, **fields)
    IdentityKey.objects.create(workspace=workspace, app=app, kid="k1", alg="HS256", secret=SECRET)
    return app


@pytest.mark.slow
def test_a_stranger_reads_nobodys_messages_and_forges_no_event(
    acme: Workspace, rival: Workspace, settings: Any
) -> None:
    settings.BRIDGE_RATE_LIMIT = settings.IN_APP_RATE_LIMIT = settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = "10000000/m"
    offer(acme)
    ada = CustomerFactory.create(
        workspace=acme, external_id="ada", email="ada@example.com", phone="+14155550101", user_id="u-ada"
    )
    mine = deliver(ada, values={"coupon": SAID})
    apps = [app_of(acme), app_of(acme, identity="report"), app_of(acme, identity="enforce"), app_of(rival)]
    chance = random.Random(45)
    for number in range(TRIES):
        app = chance.choice(apps)
        answer = tried(SdkClient(app), chance)
        assert SAID not in answer.content.decode(), f"try {number}: {answer}"
        assert answer.status_code < 500
    mine.refresh_from_db()
    assert mine.state == InAppDelivery.State.DUE
    assert not Event.objects.filter(name__startswith="in_app.").exists()
    assert Customer.objects.get(id=ada.id).external_id == "ada"
    assert SAID in SdkClient(apps[0]).post("/api/v1/sdk/messages", {"identityToken": token()}).content.decode()


def tried(page: SdkClient, chance: random.Random) -> Answer:
    named = {
        name: value
        for name, value in (
            ("external_id", "ada"), ("email", "ada@example.com"), ("phone", "+14155550101"), ("userId", "u-ada"),
        )
        if chance.random() < 0.4
    } or {"external_id": "ada"}  # fmt: skip
    proof = chance.choice([
        None, "", "x.y.z", token(key=OTHER), token(sub="grace"), token(exp=int(time.time()) - 3600),
        token(aud="0" * 24), token(kid="k2"), token(alg="none", key=None), token(sub="ada "[:3] + "x"),
    ])  # fmt: skip
    body = {**named, "messageId": KEY, **({"identityToken": proof} if proof is not None else {})}
    guess = "".join(chance.choice("0123456789abcdef") for _ in range(24))
    match chance.randrange(7):
        case 0:
            query = "&".join(f"{name}={value.replace('+', '%2B')}" for name, value in named.items())
            return page.get(f"/api/v1/sdk/messages?{query}", headers={"X-Identity-Token": proof or None})
        case 1 | 2:
            del body["messageId"]
            return page.post("/api/v1/sdk/messages", body)
        case 3:
            return page.post("/api/v1/sdk/bridge/shown", {**body, "deliveryId": guess})
        case 4:
            return page.post(ACTION, {**body, "actionType": "close", "deliveryId": guess})
        case 5:
            return page.post(CAPTURE, {**body, "formData": {"a": 1}, "deliveryId": guess})
        case _:
            calls = [{"call": "shown", **named, "messageId": KEY, "deliveryId": guess}]
            proven = {"identityToken": proof} if proof is not None else {}
            return page.post("/api/v1/sdk/bridge/batch", {"calls": calls, **proven})
