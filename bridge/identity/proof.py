"""What a bridge call asks: whether its person is proven.

With an app whose identity is `off`, the call is not looked at: it costs one comparison. With `report`, what would be
refused is marked on the interaction, and the call goes on.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone

from bridge.identity.keyring import keyring_of
from bridge.identity.problems import IdentityRefused, IdentityTokenMismatch, IdentityTokenMissing
from bridge.identity.tokens import Identity, verify_token
from bridge.requests import MAX_ORIGIN_LENGTH, BridgeCall
from customers.identity.identifiers import Identifiers
from engage.models import App
from engage.redis.metric_counters import IDENTITY, IDENTITY_REFUSALS, metric_counters

_SPELLINGS = {"user_id": "userId"}


def proven(*, app: App, call: BridgeCall, attributes: Mapping[str, Any] | None) -> BridgeCall:
    """The call, marked with what is proven. `attributes` are those that it writes.

    Raises IdentityTokenMissing, IdentityTokenExpired, IdentityTokenInvalid, IdentityTokenMismatch; then nothing has
    been looked up about the person.
    """
    if app.identity == App.Identity.OFF:
        return call
    try:
        return _proven(app, call, attributes or {}, timezone.now())
    except IdentityRefused as refusal:
        return unproven(app=app, call=call, refusal=refusal)


def unproven(*, app: App, call: BridgeCall, refusal: IdentityRefused) -> BridgeCall:
    """Counts the problem. Raises it if the app enforces; else the call is marked with it."""
    metric_counters.count(IDENTITY, app.identity, refusal.reason)
    if app.identity == App.Identity.ENFORCE:  # then nothing else remains of it
        metric_counters.count(IDENTITY_REFUSALS, timezone.now().date().isoformat(), app.id, refusal.reason)
        raise refusal
    marks = replace(
        call.marks, verified=False, identity_problem=str(refusal.reason), origin=call.origin[:MAX_ORIGIN_LENGTH]
    )
    return replace(call, marks=marks)


def _proven(app: App, call: BridgeCall, attributes: Mapping[str, Any], now: datetime) -> BridgeCall:
    if call.identity_token is None:
        if app.anonymous == App.Anonymous.DENY or set(call.known_by.present()) != {"user_id"}:
            raise IdentityTokenMissing
        return replace(call, marks=replace(call.marks, verified=False), must_be_anonymous=True)
    identity = verify_token(call.identity_token, app=app, keyring=keyring_of(app), now=now)
    require_covered(call.known_by, identity)
    if identity.attributes is not None:
        for name in attributes:
            if name not in identity.attributes:
                raise IdentityTokenMismatch(f"the attribute {name[:100]!r}")
    covered = identity.known_by.present() | call.known_by.present()
    return replace(call, marks=replace(call.marks, verified=True), proven=covered)


def require_covered(known_by: Identifiers, identity: Identity) -> None:
    """Raises IdentityTokenMismatch for the first identifier that the token does not cover."""
    covered = identity.known_by.present()
    for name, value in known_by.present().items():
        if covered.get(name, "") not in ({value, known_by.other_phone} if name == "phone" else {value}):
            raise IdentityTokenMismatch(_SPELLINGS.get(name, name))
