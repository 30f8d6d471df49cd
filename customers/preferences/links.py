"""The links in messages: opaque, so that they hold no personal data, and whole or not at all.

They are encrypted with the keys in ENCRYPTION_KEYS, by any of which they are read: whoever keeps the old keys there
keeps the links of all messages that were sent with them. For leaving they hold for good. After DAYS_SHOWN a page shows
nothing of the person any more: a message may have been passed on, or its mailbox may be somebody else's by now.
"""

import json
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings

from engage.credentials.encryption import opened, token_of

DAYS_SHOWN = 90
_PURPOSE = "links of messages"


@dataclass(frozen=True, kw_only=True)
class Link:
    """Who got which message, when. Topic and channel are "" where the message says neither.

    The delivery is the enrollment and its step; both are "" in a message of a rehearsal.
    """

    workspace_id: str
    customer_id: str
    topic: str = ""
    channel: str = ""
    enrollment_id: str = ""
    step_id: str = ""
    at: datetime

    def shows_at(self, now: datetime) -> bool:
        """Whether a page may still show what is known of the person."""
        return now - self.at <= timedelta(days=DAYS_SHOWN)

    @property
    def token(self) -> str:
        *names, at = astuple(self)
        return token_of(json.dumps([*names, int(at.timestamp())], separators=(",", ":")), purpose=_PURPOSE)


def link_of(token: str) -> Link | None:
    """What the token says; None if it was cut, forged, or encrypted with a key that is gone."""
    text = opened(token, purpose=_PURPOSE)
    if text is None:
        return None
    workspace_id, customer_id, topic, channel, enrollment_id, step_id, at = json.loads(text)
    return Link(
        workspace_id=workspace_id, customer_id=customer_id, topic=topic, channel=channel,
        enrollment_id=enrollment_id, step_id=step_id, at=datetime.fromtimestamp(at, UTC),
    )  # fmt: skip


def address_of(page: str, token: str) -> str:
    """The absolute address of one of the pages below /contact/; "" where PUBLIC_URL is not set."""
    return f"{settings.PUBLIC_URL}/contact/{page}/{token}" if settings.PUBLIC_URL else ""
