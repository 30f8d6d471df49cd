"""Alerts that people are told of: once per cause, when it has lasted for a while, and once when it is over.

1. Whoever looks notes all causes that hold at this moment; one looks at a time. What is gone before anybody was told is
   forgotten; what was told is over once it has been gone for a minute, so that nothing comes and goes all the time.
2. What is due is claimed by a committed statement, which postpones it: if the process dies, another tells it a minute
   later. So what is told twice at worst is what was just sent when its process died.
3. A message leaves outside of any transaction. One that cannot be sent is tried again every minute, for half an hour.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now

from engage.database.sql import Statement
from engage.models import Alert

MOST_ATTEMPTS = 30
_TOGETHER = 50  # told in one message
_GONE = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Something that is wrong: by which rule (an alert of docs/alerts.md), in which workspace, about what, in words.

    `workspace_id` is None for what concerns the whole service. `about` tells causes of one rule apart.
    """

    workspace_id: str | None
    rule: str
    about: str = ""
    says: str

    @property
    def key(self) -> tuple[str | None, str, str]:
        return self.workspace_id, self.rule, self.about


_ALONE = Statement("SELECT pg_try_advisory_xact_lock(hashtextextended('engage: alerts', 0))")


def note(causes: Collection[Cause], *, holds: Mapping[str, float], unknown: Collection[str] = ()) -> None:
    """Notes what is wrong now. An alert is due to be told once its cause has held for the seconds of its rule.

    Those of `unknown` rules, which could not be looked at, stay as they are.
    """
    with transaction.atomic():
        if not _ALONE.column()[0]:
            return
        now = Now()
        standing = {(one.workspace_id, one.rule, one.about): one for one in Alert.objects.filter(ended_at=None)}
        there = {cause.key for cause in causes}
        seen = [one.pk for key, one in standing.items() if key in there or one.rule in unknown]
        Alert.objects.filter(pk__in=seen).update(seen_at=now)
        gone = Alert.objects.filter(pk__in={one.pk for one in standing.values()}.difference(seen))
        gone.filter(told_at=None, attempts=0).delete()
        gone.filter(seen_at__lt=now - _GONE).update(ended_at=now, due_at=now, attempts=0)
        Alert.objects.bulk_create(
            Alert(
                workspace_id=cause.workspace_id,
                rule=cause.rule,
                about=cause.about,
                says=cause.says,
                due_at=now + timedelta(seconds=holds.get(cause.rule, 0)),
            )
            for cause in causes
            if cause.key not in standing
        )


def note_at_once(cause: Cause) -> None:
    """Something that has happened, and is over: it is told once. Within the caller's transaction."""
    Alert.objects.create(
        workspace_id=cause.workspace_id, rule=cause.rule, about=cause.about, says=cause.says,
        due_at=Now(), ended_at=Now(), over_told_at=Now(),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Told:
    """An alert to be told: that it has begun, or that it is `over`. `began_at` and `ended_at` are in UTC."""

    id: str
    workspace_id: str | None
    rule: str
    says: str
    began_at: datetime
    ended_at: datetime | None
    over: bool
    attempts: int


# Those of one workspace, or of the service, that are due. One that ended before anybody was told is not told any more.
_CLAIM = Statement("""
WITH first AS (SELECT workspace_id FROM engage_alert WHERE due_at <= now() ORDER BY due_at LIMIT 1)
UPDATE engage_alert alert SET attempts = attempts + 1, due_at = CASE
    WHEN told_at IS NULL AND ended_at IS NOT NULL AND over_told_at IS NULL THEN NULL
    ELSE now() + interval '1 minute'
END
WHERE id = ANY(ARRAY(
    SELECT id FROM engage_alert due
    WHERE due_at <= now() AND workspace_id IS NOT DISTINCT FROM (SELECT workspace_id FROM first)
    ORDER BY due_at LIMIT {most} FOR UPDATE SKIP LOCKED
))
RETURNING id, workspace_id, rule, says, began_at, ended_at, told_at IS NOT NULL AS over, attempts,
          due_at IS NULL AS void
""")
_SETTLE = Statement("""
UPDATE engage_alert SET
    told_at = CASE WHEN told_at IS NULL THEN now() ELSE told_at END,
    over_told_at = CASE WHEN told_at IS NULL THEN over_told_at ELSE now() END,
    attempts = 0,
    due_at = CASE WHEN told_at IS NULL AND ended_at IS NOT NULL AND over_told_at IS NULL THEN now() END
WHERE id = ANY({ids}::text[])
""")


def claim() -> list[Told] | None:
    """Alerts of one workspace, or of the service, that are to be told now; None if none is due."""
    rows = _CLAIM.records(most=_TOGETHER)
    return [Told(**row) for row in rows if not row.pop("void")] if rows else None


def settle(alerts: Sequence[Told]) -> None:
    """They were told."""
    _SETTLE.execute(ids=[one.id for one in alerts])


def give_up(alerts: Sequence[Told]) -> None:
    """They could not be told in all that time; nobody tries any more."""
    Alert.objects.filter(pk__in=[one.id for one in alerts]).update(due_at=None)
