"""The links in messages by which people leave, and choose: values that the templates of a sending step know.

`unsubscribe.url` leaves the message's topic, and is the page of all choices where it has none; `preferences.url` is
that page. `unsubscribe.headers` are the two headers of RFC 8058 as an object, `unsubscribe.headerList` as a list of
`Name` and `Value`: of messages with a topic. `confirm.url` confirms what the
event `consent.requested` is about, in what it led to. A workspace without topics has none of these, nor one without
PUBLIC_URL.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Protocol

from journeys.rendering import Names

LINK_NAMES: Final[Names] = {
    "unsubscribe": {"url": None, "headers": None, "headerList": None},
    "preferences": {"url": None},
    "confirm": {"url": None},
}


class Links(Protocol):
    """Makes the links of one message of a workspace; topic and channel are "" where it names none.

    `confirms` is the topic and the channel that it asks about.
    """

    def __call__(
        self,
        *,
        customer_id: str,
        enrollment_id: str,
        step_id: str,
        topic: str,
        channel: str,
        confirms: tuple[str, str] | None,
        at: datetime,
    ) -> Mapping[str, object]: ...
