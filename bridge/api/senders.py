"""Who sends a bridge call, what it says about being sent, and how it is known when it is sent again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from rest_framework.request import Request

from bridge.identity.problems import (
    IdentityTokenExpired,
    IdentityTokenInvalid,
    IdentityTokenMismatch,
    IdentityTokenMissing,
)
from bridge.identity.proof import proven
from bridge.requests import BridgeCall
from customers.identity.identifiers import Identifiers, identifiers
from engage.calls.asked import AskedBySdk
from engage.errors import InvalidRequest
from engage.http.idempotency import Caller, bare_key
from engage.http.views import SdkView
from engage.json.fields import Text
from engage.json.keywords import Keywords
from engage.json.storable import describe
from engage.models import App

IdempotencyKey = Annotated[
    str | None,
    "The same as the header `Idempotency-Key`, for callers that send no headers.",
    Text(longest=255),
    Keywords(pattern="^[!-~]+$"),
]
IdentityToken = Annotated[
    str | None,
    "The same as the header `X-Identity-Token`: a token from your server that says who the person is.",
    Text(longest=None, blank_is_absent=True),
]
# What a call says about being sent. It may differ when the call is sent again.
_ABOUT_SENDING = frozenset({"idempotencyKey", "identityToken", "occurredAt"})

OF_IDENTITY = [
    IdentityTokenMissing(),
    IdentityTokenExpired(),
    IdentityTokenInvalid("its kid names none of the app's keys."),
    IdentityTokenMismatch("email"),
]


@dataclass(frozen=True, kw_only=True)
class Sender:
    """Whom a call came from; `identity_token` is for calls that have none in their bodies.

    `origin` is the page's, "" outside browsers.
    """

    app: App
    address: str
    identity_token: str | None = None
    origin: str = ""

    @classmethod
    def of(cls, call: SdkView | AskedBySdk[Any, Any]) -> Self:
        meta = call.request._request.META
        token, origin = meta.get("HTTP_X_IDENTITY_TOKEN") or None, meta.get("HTTP_ORIGIN", "")
        return cls(app=call.app, address=call.address, identity_token=token, origin=origin)

    def call(self, *, token: str | None, known_by: Identifiers, **fields: Any) -> BridgeCall:
        """The call of this sender with these fields; `token` is the body's own."""
        return BridgeCall(
            address=self.address,
            identity_token=token or self.identity_token,
            origin=self.origin,
            known_by=known_by.as_known(workspace_id=self.app.workspace_id, country=self.app.default_country),
            **fields,
        )


class KeyedView(SdkView):
    """A call with an Idempotency-Key, which may also stand in the body."""

    @property
    def caller(self) -> Caller:
        return caller_of(self.request.data, app=self.app)

    def key_of(self, request: Request) -> str | None:
        return idempotency_key(request.data, header=super().key_of(request))

    def compared_body(self, request: Request) -> Any:
        return without_sending(request.data)

    def require_proof(self, request: Request) -> None:
        require_proof(request.data, sender=Sender.of(self))


def caller_of(body: Any, *, app: App) -> Caller:
    """Whose Idempotency-Keys a call has: those of the person whom it names, in this app.

    That is by the identifiers as they are sent, whatever is wrong with them.
    """
    named = (body.get("userId"), _external_id_in(body), body.get("email"), body.get("phone"))
    return Caller(workspace_id=app.workspace_id, app_id=app.id, person=json.dumps(named))


def idempotency_key(body: Any, *, header: str | None) -> str | None:
    """The call's key, from the header or from the body; None if it has none. Raises InvalidRequest if they differ."""
    key = body.get("idempotencyKey")
    if key is None:
        return header
    if not isinstance(key, str):
        raise InvalidRequest(f"idempotencyKey must be a string, but {describe(key)} came.")
    if header is not None and bare_key(header) != bare_key(key):
        raise InvalidRequest("The header Idempotency-Key and idempotencyKey are one field, but their values differ.")
    return key


def without_sending(body: Any) -> Mapping[str, Any]:
    """The body without what it says about being sent."""
    return body if _ABOUT_SENDING.isdisjoint(body) else {k: v for k, v in body.items() if k not in _ABOUT_SENDING}


def require_proof(body: Any, *, sender: Sender) -> None:
    """Asks of a call that was made before what it asked of it then: raises the refusals of identity tokens.

    Whom the app lets be anonymous says the same as before; any other token than the first may prove it.
    """
    if sender.app.identity == App.Identity.ENFORCE:
        call = sender.call(token=body.get("identityToken"), message_id="", known_by=identifiers_in(body), form_data={})
        proven(app=sender.app, call=call, attributes=None)


def _external_id_in(body: Any) -> Any:
    return body.get("external_id") or body.get("externalId")


def identifiers_in(body: Any) -> Identifiers:
    """Whom a body names, which has been read. Raises InvalidRequest."""
    return identifiers(
        user_id=body.get("userId"), external_id=_external_id_in(body), email=body.get("email"), phone=body.get("phone")
    )
