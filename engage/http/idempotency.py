"""A call with an `Idempotency-Key` is done once, however often it is sent.

1. The caller (an API key, or an app with the person's identifiers as sent), the path and the key identify the call. An
   advisory lock on them, held until the transaction ends, admits one request at a time. A request that arrives
   meanwhile is asked to retry, so that no web process waits.
2. The first answer is stored in the transaction that does the work, and kept for 24 hours, so neither exists without
   the other. A refusal rolls back and is not kept.
3. The same call with the same body gets the first answer again; with a different body it is refused. Bodies are the
   same if their JSON values are equal, whatever their key order, whitespace and encoding; but 1 is not 1.0.

Anything else that the answer depends on (the query, `Prefer`) is not compared: the first answer is returned.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from engage.database.sql import Statement
from engage.errors import InvalidRequest, Refusal
from engage.models import IdempotencyRecord

_LOCK = Statement("SELECT pg_try_advisory_xact_lock({lock})")
_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])+)"')
_ESCAPED = re.compile(r'\\(["\\])')
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class IdempotencyKeyReused(Refusal):
    """This Idempotency-Key was already used with a different body."""

    status = 422
    error = "Idempotency key reused"
    says = (
        "This Idempotency-Key was used in the last 24 hours for a call with another body. "
        "Send the same body again, or a new key."
    )


class RequestInProgress(Refusal):
    """Another call with this Idempotency-Key is still in progress."""

    status = 409
    error = "Request in progress"
    says = "A call with this Idempotency-Key is being served at this moment. Send it again to learn its answer."
    sends = {"Retry-After": "1"}


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The caller of an API call: exactly one of the two ids is set.

    All users of an app share its id, so `person` says what the call tells of who it is: nobody gets the answer that
    another person with the same key got, and none learns that there was one.
    """

    workspace_id: str
    api_key_id: str | None = None
    app_id: str | None = None
    person: str = ""


@dataclass(frozen=True, kw_only=True)
class KeyedCall:
    """A call with a well-formed Idempotency-Key, as it was sent; `body` is any JSON value."""

    caller: Caller
    path: str
    key: str
    body: Any

    @cached_property
    def digest(self) -> bytes:
        return self._digest(bare_key(self.key))

    @property
    def digests(self) -> list[bytes]:
        """Also that under which versions before 1.1 have kept an answer to a key in quotes."""
        return [self.digest] if self.key == bare_key(self.key) else [self.digest, self._digest(self.key)]

    def _digest(self, key: str) -> bytes:
        of_whom = f"\n{self.caller.person}" if self.caller.person else ""
        return hashlib.sha256(f"{self.path}\n{key}{of_whom}".encode()).digest()

    @cached_property
    def body_digest(self) -> bytes:
        return hashlib.sha256(json.dumps(self.body, sort_keys=True, separators=(",", ":")).encode()).digest()

    @property
    def lock(self) -> int:
        caller = self.caller.api_key_id or self.caller.app_id or ""
        return int.from_bytes(hashlib.sha256(caller.encode() + self.digest).digest()[:8], signed=True)


@dataclass(frozen=True, kw_only=True)
class KeptAnswer:
    """A successful answer: either its `body`, which is JSON, or the `facts` from which it is streamed again."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    facts: Mapping[str, Any] | None = None


def require_idempotency_key(text: str, *, called: str = "The header Idempotency-Key") -> None:
    """Raises InvalidRequest unless the text is a valid key: 1 to 255 visible ASCII characters."""
    if not _KEY.fullmatch(bare_key(text)):
        raise InvalidRequest(f"{called} must be 1 to 255 visible ASCII characters.")


def bare_key(text: str) -> str:
    """The key without the quotes in which the IETF's draft writes it."""
    quoted = _QUOTED.fullmatch(text)
    return _ESCAPED.sub(r"\1", quoted[1]) if quoted else text


def begin_once(call: KeyedCall, *, now: datetime) -> KeptAnswer | None:
    """The earlier answer to this call, or None: then the current request must do the work, in this transaction.

    Must run in a transaction. Raises RequestInProgress, IdempotencyKeyReused.
    """
    if _LOCK.column(lock=call.lock) != [True]:
        raise RequestInProgress
    # A separate statement, because its snapshot must include everything committed before the lock was granted.
    record = _records(call).first()
    if record is None:
        return None
    if record.created_at <= now - IdempotencyRecord.KEPT_FOR:
        record.delete()
        return None
    if bytes(record.body_digest) != call.body_digest:
        raise IdempotencyKeyReused
    return KeptAnswer(status=record.status, headers=record.headers, body=record.body, facts=record.facts)


def keep_answer(call: KeyedCall, answer: KeptAnswer) -> None:
    """Keeps the call's first answer, in the transaction of `begin_once` and of the work."""
    IdempotencyRecord.objects.create(
        workspace_id=call.caller.workspace_id,
        api_key_id=call.caller.api_key_id,
        app_id=call.caller.app_id,
        call_digest=call.digest,
        body_digest=call.body_digest,
        status=answer.status,
        headers=dict(answer.headers),
        body=answer.body,
        facts=answer.facts,
    )


def _records(call: KeyedCall) -> QuerySet[IdempotencyRecord]:
    if call.caller.api_key_id is not None:
        return IdempotencyRecord.objects.filter(api_key_id=call.caller.api_key_id, call_digest__in=call.digests)
    return IdempotencyRecord.objects.filter(app_id=call.caller.app_id, call_digest__in=call.digests)
