"""The calls by which pages get what journeys have delivered, and say that it was shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal, cast

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from bridge.api.senders import OF_IDENTITY, IdentityToken, KeyedView, Sender, identifiers_in
from bridge.in_app.due import MOST, Found, Rendered, due_for
from bridge.in_app.readers import NO_IDENTIFIER, reader_of
from customers.api.bodies import USER_ID, Email, ExternalId, Phone
from customers.identity.identifiers import Identifiers, identifiers
from engage.calls.asked import AskedBySdk
from engage.calls.call import Answered, get, post
from engage.database.object_ids import ObjectId
from engage.errors import MissingParameter, Refusal
from engage.http.envelope import JsonAnswer
from engage.http.preconditions import Seen
from engage.http.views import SdkView
from engage.json.fields import Text, filled
from engage.json.keywords import OneOf
from engage.json.writing import written

DELIVERY = "6a0b1c2de4b0a1d2c3e4f507"  # in examples


@dataclass(frozen=True, kw_only=True)
class DueMessage:
    """A message that is due for the person, with its texts rendered for them."""

    delivery_id: Annotated[ObjectId, "The delivery's id, for `deliveryId` of the bridge's calls."]
    message_id: Annotated[str, "The message's key."]
    kind: Annotated[str, "`banner`, `modal`, `card` or `custom`."]
    content: Annotated[
        Mapping[str, Any],
        "What is shown: `title`, `text`, `image`, `buttons`, `form` and `data`, as far as there is any.",
    ]
    actions: Annotated[Sequence[Mapping[str, Any]], "The buttons of the message's definition."]
    forms: Annotated[Sequence[Mapping[str, Any]], "The forms of the message's definition."]
    expires_at: datetime


Due = Annotated[
    Sequence[DueMessage],
    f"What is due now, at most {MOST}; only where the call has a `deliveryId`, and could fetch the person's messages.",
]


@dataclass(frozen=True)
class DueMessages:
    """What is due for the person: at most ten messages, by priority, then age."""

    messages: Sequence[DueMessage]


@dataclass(frozen=True)
class NothingNew:
    """What is due is what the `etag` stands for."""

    unchanged: Literal[True] = True


Fetched = Annotated[DueMessages | NothingNew, OneOf("FetchedMessages")]


class _InAppView(SdkView):
    """Counted apart: pages ask again and again, and many of them from one address."""

    limited_as = "in_app"

    @property
    def rate(self) -> str:
        return str(settings.IN_APP_RATE_LIMIT)

    def count_body(self, size: int) -> None:
        """What is fetched is no call that writes something: the app's day does not count it."""


@dataclass(frozen=True, kw_only=True)
class _Person:
    user_id: Annotated[str | None, "The SDK's user id, or its anonymous id.", USER_ID] = None
    external_id: ExternalId = None
    email: Email = None
    phone: Phone = None

    def known_by(self) -> Identifiers:
        return identifiers(user_id=self.user_id, external_id=self.external_id, email=self.email, phone=self.phone)


@dataclass(frozen=True, kw_only=True)
class MessagesOfQuery(_Person):
    """Whose messages. The header `X-Identity-Token` says who proves it."""

    app: Annotated[str | None, "The app's id, without the header `X-App-Id`.", Text(longest=None)] = None


@dataclass(frozen=True, kw_only=True)
class FetchBody(_Person):
    """Whose messages, and what the page has already."""

    identity_token: IdentityToken = None
    etag: Annotated[str | None, "The `ETag` of the last answer.", Text(longest=255, blank_is_absent=True)] = None


_DUE = DueMessage(
    delivery_id=DELIVERY,
    message_id="spring-sale",
    kind="banner",
    content={
        "title": "Hello Ada",
        "text": "Your coupon is SPRING.",
        "buttons": [{"action": "cta", "text": "To the sale"}, {"action": "close", "text": "Not now"}],
    },
    actions=[{"id": "cta", "type": "track_event", "eventName": "clicked"}],
    forms=[],
    expires_at=datetime(2026, 12, 3, 9, 0, tzinfo=UTC),
)
_fetch: dict[str, Any] = {
    "path": "sdk/messages",
    "scope": None,
    "policy": "in_app",
    "tag": "In-app messages",
    "view": _InAppView,
    "often": True,
    "says": "Messages found.",
    "refuses": [MissingParameter(NO_IDENTIFIER), *OF_IDENTITY],
}
_NOTHING = Answered(data=NothingNew(), says="Nothing is new.")


@get(
    **_fetch,
    answer={HTTPStatus.OK: "What is due for the person.", HTTPStatus.NOT_MODIFIED: "Nothing is new."},
    examples={"One": DueMessages([_DUE]), "None": DueMessages([])},
)
def get_due_messages(asked: AskedBySdk[None, MessagesOfQuery]) -> Answered[DueMessages]:
    """Fetch the messages that are due

    Returns what journeys have delivered to the person and is not over: at most ten, by priority, then age. Nobody is
    created. With `If-None-Match`, the answer is 304 where nothing is new.

    Messages may be personal, so a token (`X-Identity-Token`) must cover the identifiers, or names the person where
    there are none. Without one, only an anonymous person's are told, by their `userId`; of others, the list is empty.
    An app that says `inApp: open` believes the identifiers.
    """
    token = Sender.of(asked).identity_token
    found = _found(asked.app, asked.query.known_by(), token, etag=Seen.by(asked.request._request).if_none_match)
    if found.deliveries is None:
        return cast("Answered[DueMessages]", HttpResponse(status=HTTPStatus.NOT_MODIFIED, headers={"ETag": found.etag}))
    return Answered(data=DueMessages(_told(found)), headers={"ETag": found.etag})


@post(
    **_fetch,
    answer="What is due for the person, or that nothing is new.",
    answer_name="FetchAnswer",
    requests={"With a token": {"external_id": "ada", "identityToken": "eyJ…", "etag": '"5f2a"'}},
    examples={"One": DueMessages([_DUE]), "Nothing new": _NOTHING},
)
def fetch_due_messages(asked: AskedBySdk[FetchBody, None]) -> Answered[Fetched]:
    """Fetch the messages that are due, from a page

    The same as with GET, with the token and the `ETag` of the last answer in the body: as `text/plain`, browsers send
    it without a preflight. Where nothing is new, `data` is `{"unchanged": true}`.
    """
    token = asked.body.identity_token or Sender.of(asked).identity_token
    found = _found(asked.app, asked.body.known_by(), token, etag=asked.body.etag)
    headers = {"ETag": found.etag}
    if found.deliveries is None:
        return Answered(data=NothingNew(), says=_NOTHING.says, headers=headers)
    return Answered(data=DueMessages(_told(found)), headers=headers)


def _found(app: Any, known_by: Identifiers, token: str | None, **more: Any) -> Found:
    known_by = known_by.as_known(workspace_id=app.workspace_id, country=app.default_country)
    return due_for(reader_of(app=app, known_by=known_by, token=token, now=timezone.now()), **more)


def _told(found: Found) -> list[DueMessage]:
    return [filled(DueMessage, one) for one in found.deliveries or ()]


def with_due(answer: JsonAnswer, body: Any, *, sender: Sender, rendered: Rendered | None = None) -> JsonAnswer:
    """The answer to a call that named a delivery, with what is due now (see `due_for`), if the caller may fetch that.

    It is added after the call, and so never kept with the answer to a key.
    """
    if answer.status_code != HTTPStatus.OK or not isinstance(body, dict) or not body.get("deliveryId"):
        return answer
    try:
        token = body.get("identityToken") or sender.identity_token
        found = _found(sender.app, identifiers_in(body), token, rendered=rendered)
    except Refusal:
        return answer
    return answer.with_data(due=[written(one) for one in _told(found)])


class DeliveryView(KeyedView):
    """A call of the bridge that may name a delivery."""

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(response, JsonAnswer) and response.status_code == HTTPStatus.OK:
            response = with_due(response, request.data, sender=Sender.of(self))
        return super().finalize_response(request, response, *args, **kwargs)
