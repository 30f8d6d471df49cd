"""The outcome of one attempt at a webhook."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One attempt, as it goes into the history.

    `status` is None if no answer came, and `error` says why; `error` is also set if the answer broke off. `refused`
    means that nothing was sent, because the request's address or form is not allowed. `connected` is False if no
    connection was made, which is no fault of the request. `retry_after` is the raw header.
    """

    at: datetime
    milliseconds: int
    status: int | None = None
    answer: str = ""
    error: str = ""
    retry_after: str | None = None
    refused: bool = False
    connected: bool = True
