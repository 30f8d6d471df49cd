"""What came of one attempt at a webhook."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One attempt, as it goes into the history.

    `status` is None where no answer came; `error` then says why. `refused` means that nothing was sent, because the
    request must not be: to no such address, or not in this form. `retry_after` is the answer's header as it came.
    """

    at: datetime
    milliseconds: int
    status: int | None = None
    answer: str = ""
    error: str = ""
    retry_after: str | None = None
    refused: bool = False
