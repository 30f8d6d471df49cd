"""The demo's message that a journey delivers, and what may prove on `/demo` who is logged in there."""

import secrets
import time
from typing import Any, Final

import jwt
from django.utils import timezone

from bridge.messages.saving import MESSAGES
from engage.models import IdentityKey, Workspace
from journeys.journey.authoring import save_journey

OFFER: Final = "offer"
MESSAGE: Final = "demo-offer"  # its key
PERSON: Final = "ada"  # who can log in there
_ACTIONS = [{"id": "take", "type": "track_event", "eventName": "offer_taken"}]
_CONTENT = {
    "kind": "modal",
    "title": "An offer for {{ customer.firstName | default: 'you' }}",
    "text": "Your coupon is {{ values.coupon }}.",
    "buttons": [{"action": "take", "text": "Take it"}, {"action": "close", "text": "Not now"}],
}
STEPS: list[dict[str, Any]] = [
    {
        "id": "offer", "type": "in_app", "message": MESSAGE, "expires": "P1D",
        "values": {"coupon": "{{ api.payload.coupon | default: 'SPRING' }}"},
    },
    {
        "id": "taken", "type": "wait_for_event", "event": "in_app.acted", "delivery": "offer", "timeout": "P1D",
        "onEvent": "note", "onTimeout": "leave",
    },
    {"id": "note", "type": "update_profile", "attributes": {"tookOffer": True}, "next": None},
    {"id": "leave", "type": "exit", "reason": "The offer was not taken."},
]  # fmt: skip


def save_offer(workspace: Workspace, *, app_id: str) -> str:
    """Makes the message, the journey and the app's key where they are missing; returns the journey's id."""
    now = timezone.now()
    MESSAGES.save(workspace=workspace, key=MESSAGE, now=now, status="active", actions=_ACTIONS, content=_CONTENT)
    IdentityKey.objects.get_or_create(
        workspace=workspace, app_id=app_id, kid="demo",
        defaults={"alg": IdentityKey.Algorithm.HS256, "secret": secrets.token_urlsafe(32)},
    )  # fmt: skip
    saved = save_journey(
        workspace=workspace, key=OFFER, now=now, name="An offer in an in-app message",
        allow_reenrollment=True, steps=STEPS,
    )  # fmt: skip
    return saved.journey.id


def token_of(app_id: str) -> str:
    """A token of PERSON for five minutes; empty where the app has no key of the demo."""
    key = IdentityKey.objects.filter(app=app_id, kid="demo").first()
    if key is None:
        return ""
    claims = {"sub": PERSON, "exp": int(time.time()) + 300, "aud": app_id}
    return jwt.encode(claims, key.secret, algorithm="HS256", headers={"kid": key.kid})
