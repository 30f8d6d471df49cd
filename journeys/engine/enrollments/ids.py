"""An enrollment's id comes from its job's: decided anew, after a failover to a standby that lacks the decision, it is
the same one, and so is the `webhook-id` of what it sends.

Job ids can be guessed, so it is a digest with a key of the service's. Its first four bytes are the second in which the
job was due, so that ids are in the order of entries but for those that were decided late, by LATEST at most; then come
the last twelve bits of the job's place in its call, which is in the order of customers: what is written together is in
the order of the indexes by enrollment as well as of those by customer, and touches few pages of each.
"""

import hashlib
import time
from datetime import timedelta
from functools import cache

from django.conf import settings

from engage.database.object_ids import new_object_id

LATEST = timedelta(days=1)  # whoever is decided later gets the second of then; lists by time go by that
_LATEST_SECONDS = LATEST.total_seconds()
_BYTES, _PLACES, _DIGITS = 7, 0xFFF, 13


class EnrollmentIds:
    """The ids of whom the jobs of a batch enroll."""

    def __init__(self) -> None:
        self._keyed = _keyed(settings.SECRET_KEY)  # asked for once: it takes as long as the digest of a job

    def of(self, *, trigger_id: str, ordinal: int, due_ms: float | None, waited: float) -> str:
        """The id of whom this job of the trigger enrolls, which was due at that millisecond and has `waited` so long.

        Of a supposed job, which is never due, a new one.
        """
        if due_ms is None:
            return new_object_id()
        seconds = int(due_ms / 1000 if waited < _LATEST_SECONDS else time.time())
        digest = self._keyed.copy()
        digest.update(f"{trigger_id} {ordinal}".encode())
        return f"{seconds:08x}{ordinal & _PLACES:03x}{digest.hexdigest()[:_DIGITS]}"


@cache
def _keyed(secret: str) -> "hashlib.blake2b":
    """BLAKE2 with a key is made to be this, at a fourth of what an HMAC takes."""
    return hashlib.blake2b(key=hashlib.sha256(secret.encode()).digest(), person=b"enrollment ids", digest_size=_BYTES)
