"""An enrollment's id comes from its job's: decided anew, after a failover to a standby that lacks the decision, it is
the same one, and so is the `webhook-id` of what it sends.

Job ids can be guessed, so it is a digest with a key of the service's. Its first four bytes are the second in which the
job was due, so that ids are in the order of entries but for those that were decided late, by LATEST at most; then a
byte that jobs which stand together share, so that what is written together touches few pages of an index.
"""

import hashlib
import hmac
import time
from datetime import timedelta
from functools import cache

from django.conf import settings

from engage.database.object_ids import new_object_id

LATEST = timedelta(days=1)  # whoever is decided later gets the second of then; lists by time go by that
_TOGETHER_BITS, _DIGEST_BYTES = 12, 7


def enrollment_id(*, trigger_id: str, job_id: int, due_ms: float | None, waited: float) -> str:
    """The id of whom this job enrolls, which was due at that millisecond and has `waited` so many seconds since.

    `job_id` is its number, which only its trigger makes its own; of a supposed job, which is never due, a new id.
    """
    if due_ms is None:
        return new_object_id()
    seconds = int(due_ms / 1000 if waited < LATEST.total_seconds() else time.time())
    digest = hmac.digest(_key(settings.SECRET_KEY), f"{trigger_id} {job_id}".encode(), "sha256")[:_DIGEST_BYTES]
    return f"{seconds:08x}{job_id >> _TOGETHER_BITS & 0xFF:02x}{digest.hex()}"


@cache
def _key(secret: str) -> bytes:
    return hashlib.sha256(f"enrollment ids {secret}".encode()).digest()
