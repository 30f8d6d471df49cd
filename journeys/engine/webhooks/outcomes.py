"""The outcome of one attempt at a webhook."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

# What a receiver may ask for in its answer's header `webhook-delivery`, as Standard Webhooks propose it: never to send
# this message again, or nothing more.
DIRECTIVE = "webhook-delivery"
ABORT_MESSAGE, DISABLE = "abort-message", "disable"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One attempt, as it goes into the history.

    `status` is None if no answer came, and `error` says why; `error` is also set if the answer broke off. `refused`
    means that nothing was sent, because the request's address or form is not allowed. `connected` is False if no
    connection was made, which is no fault of the request. `headers` have their names in lower case. `body` is what was
    read of the answer, which is `whole` unless it was too large or broke off.
    """

    at: datetime
    milliseconds: int
    status: int | None = None
    answer: str = ""
    error: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    whole: bool = True
    refused: bool = False
    connected: bool = True

    @property
    def directive(self) -> str:
        """What the receiver asks for; "" if nothing."""
        return self.headers.get(DIRECTIVE, "").strip().lower()
