"""A walker's turn: batch by batch, and the handling of enrollments that fail."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog
from django.db import transaction

from engage.credentials.sealed import UnknownEncryptionKey
from engage.notations.sizes import KIB
from engage.process import tracing
from engage.redis.metric_counters import GIVEN_UP, metric_counters
from journeys.engine.connections.contacts import Contacts
from journeys.engine.connections.surroundings import surroundings_of
from journeys.engine.due import Due
from journeys.engine.enrollments.drawn_ways import drawn_ways
from journeys.engine.enrollments.early_events import Listener, earliest_events
from journeys.engine.enrollments.kept_answers import kept_by
from journeys.engine.enrollments.locks import lock_customers_of
from journeys.engine.enrollments.postponing import FailedAttempt, release, retry, snooze, suspend
from journeys.engine.enrollments.revisions import Courses, courses_of
from journeys.engine.enrollments.trails import of_enrollments
from journeys.engine.enrollments.transitions import ClaimedEnrollment
from journeys.engine.walking.claims import claim_in_turn, claim_longest_due, claim_tried, has_due
from journeys.engine.walking.positions import Position, Walked, load_positions
from journeys.engine.walking.writing import write_walks
from journeys.rules.cut_off import flush_pending, record_after_cut
from journeys.rules.failures import MAX_ATTEMPTS, Verdict, for_the_record, verdict, why_given_up
from journeys.steps.context import EarlyEvent
from journeys.steps.course import Course, walk_on
from journeys.steps.results import Ended, StepRecord, Walk
from journeys.steps.surroundings import NOTHING, Surroundings
from journeys.steps.written import UnknownStepType

log = structlog.get_logger(__name__)
# How often, and how far apart, a turn looks again for enrollments whose customer was locked.
_MOST_LOOKS, _PAUSE_SECONDS = 10, 0.02
# Steps that this version does not know may be known to the next one, whose process is about to replace this one.
_SECONDS_UNTIL_REPLACED = 5.0
_KEY_SECONDS = 30.0  # until those are due again whose request holds what cannot be decrypted
_HELD_UP_SECONDS = 0.5  # until those are due again for whom others held a lock
_TRIED_SECONDS = 0.2  # for enrollments that are walked one by one, before the next batch
# A batch keeps its customers locked and what it writes in memory, so it ends after this much processor time, or when
# its webhooks, events and attributes have about these many characters. On a machine that is short of processors it may
# take longer, but PostgreSQL ends a session that asks for nothing amid a transaction for five seconds.
_BATCH_SECONDS, _LONGEST_BATCH_SECONDS = 0.5, 2.5
_SLOW_SECONDS = 0.1  # of processor time: one walk usually takes a hundredth of that
_BATCH_LENGTH = 4 * 1024 * KIB


@dataclass(kw_only=True)
class WalkerTurn:
    """The result of a walker's turn; `unfinished` if its time was up first.

    `others_wait` if more may be due than the last batch could hold.
    """

    moved: int = 0
    unfinished: bool = False
    others_wait: bool = False
    due: Due = field(default_factory=Due)


def walk_due(*, seconds: float) -> WalkerTurn:
    """Walks due enrollments, batch by batch, until none is due or the time is up.

    Enrollments whose customer is locked are skipped, and looked for again within this turn: the transaction that holds
    the lock may not know of the walker, and so sends no other wake-up.

    Raises the error if the connection is lost; the attempts that it ended do not count.
    """
    flush_pending()
    turn, until, looks = WalkerTurn(), time.monotonic() + seconds, _MOST_LOOKS
    while True:
        if not _walk_some(turn):
            if not looks or not has_due():
                break
            looks -= 1
            time.sleep(_PAUSE_SECONDS)
        if time.monotonic() >= until:
            turn.unfinished = True
            break
    if turn.moved:
        log.info("enrollments_walked", moved=turn.moved)
    return turn


def _walk_some(turn: WalkerTurn) -> bool:
    """Walks a batch, then for a moment enrollments that were tried before, one by one; returns whether any were due.

    Each is claimed only when its turn comes, because a claim lasts for only a few seconds.
    """
    fresh = claim_in_turn() if turn.others_wait else claim_longest_due()
    turn.others_wait = fresh.others_wait
    if fresh.enrollments:
        _attempt(fresh.enrollments, turn)
    until = time.monotonic() + _TRIED_SECONDS
    anybody = bool(fresh.enrollments)
    while tried := claim_tried():
        _attempt(tried, turn)
        anybody = True
        if time.monotonic() >= until:
            break
    return anybody


def _attempt(claimed: Sequence[ClaimedEnrollment], turn: WalkerTurn) -> None:
    """One attempt at claimed enrollments. A failure is recorded, and costs the others only time."""
    began = time.time_ns()
    try:
        with transaction.atomic():
            held = lock_customers_of([one.id for one in claimed])
            positions = load_positions(claimed)
            chosen = _one_of_each(positions, held)
            locked = list(chosen.values())
            paused = [one for one in locked if one.paused]
            batch = _walk_all([one for one in locked if not one.paused] if paused else locked)
            release([one.claimed for one in positions if chosen.get(one.customer_id) is not one])
            due = write_walks(batch.walks) if batch.walks else Due()
            retry(batch.failures)
            snooze(batch.sealed, seconds=_KEY_SECONDS)
            release(batch.unknown, seconds=_SECONDS_UNTIL_REPLACED)
            release(batch.left)
            suspend([position.claimed for position in paused], journey_ids={position.journey_id for position in paused})
    except Exception as error:
        if not _recover(claimed, error):
            raise
    else:
        turn.moved += len(batch.walks)
        turn.due |= due
        tracing.record("walk", _works(batch, locked), since=began)
        for walked in batch.walks:
            if walked.position.claimed.attempts > MAX_ATTEMPTS:
                log.error("enrollment_given_up", **walked.position.names, error=walked.position.error)
                metric_counters.count(GIVEN_UP)


def _recover(claimed: Sequence[ClaimedEnrollment], error: Exception) -> bool:
    """Does with claimed enrollments what the verdict on their failure says; whether others can be walked."""
    record, first = for_the_record(error), claimed[0]
    failed = [FailedAttempt(claimed=one, error=record) for one in claimed]
    match verdict(error, attempts=first.attempts, alone=len(claimed) == 1):
        case Verdict.CUT_OFF:
            if first.attempts > 1:  # those claimed for the first time keep their one attempt, to be tried alone
                record_after_cut(partial(snooze, failed[:1], alone=True))
            return False
        case Verdict.LEFT_IDLE:
            record_after_cut(partial(retry, failed))
            return False
        case Verdict.RELEASE:  # a claim passes over those whose customer is locked
            release(claimed, seconds=_HELD_UP_SECONDS)
            log.warning("enrollments_held_up", **_names(claimed), error=record)
        case Verdict.SNOOZE:
            snooze(failed, alone=True)
            # With a traceback the first time only: during an outage this recurs every few seconds for each enrollment.
            log.warning("enrollment_snoozed", **of_enrollments([first.id]), error=record, exc_info=first.attempts == 1)
        case Verdict.RETRY:
            retry(failed)
            log.error("walk_failed", **_names(claimed), exc_info=error)
    return True


def _names(claimed: Sequence[ClaimedEnrollment]) -> dict[str, Any]:
    """What a line of the log names of them."""
    return {"enrollments": len(claimed), **of_enrollments([one.id for one in claimed])}


def _one_of_each(positions: Sequence[Position], held: Collection[str]) -> dict[str, Position]:
    """The first enrollment of each customer who is held, by their ids: what it does may affect the others.

    Where customers have been merged since their enrollments were claimed, one may have several, or not be held.
    """
    first: dict[str, Position] = {}
    for position in positions:
        if position.customer_id in held:
            first.setdefault(position.customer_id, position)
    return first


@dataclass(kw_only=True)
class _Batch:
    """What became of the enrollments of a batch; for those that are `left`, there was no time.

    The journeys of the `unknown` ones have a type of step that this version does not know; the `sealed` ones need what
    cannot be decrypted.
    """

    walks: list[Walked] = field(default_factory=list)
    failures: list[FailedAttempt] = field(default_factory=list)
    sealed: list[FailedAttempt] = field(default_factory=list)
    unknown: list[ClaimedEnrollment] = field(default_factory=list)
    left: list[ClaimedEnrollment] = field(default_factory=list)


def _works(batch: _Batch, positions: Sequence[Position]) -> Iterator[tracing.Work]:
    """One for each enrollment that is traced, with the steps it has walked."""
    walks = {one.position.claimed.id: one.walk for one in batch.walks}
    failed = {one.claimed.id for one in batch.failures}
    for one in positions:
        id_ = one.claimed.id
        if one.trail.traceparent and (id_ in walks or id_ in failed):
            records = walks[id_].step_records if id_ in walks else ()
            steps = [
                ("step", {"engage.step_id": record.step_id, "engage.step": record.type, "engage.result": record.state})
                for record in records
            ]
            names = one.names
            ids = {f"engage.{name}": names[name] for name in ("enrollment_id", "trigger_id", "request_id")}
            ids |= {"engage.journey_id": one.journey_id, "engage.workspace_id": one.workspace_id}
            yield tracing.Work(one.trail.traceparent, ids, steps, failed=id_ in failed)


def _walk_all(positions: Sequence[Position]) -> _Batch:
    """Walks as many as there is time for, in their order: at least one."""
    batch = _Batch()
    workspaces = {revision_id: position.workspace_id for position in positions for revision_id in position.revision_ids}
    courses = courses_of(workspaces)
    readable = _readable(workspaces, courses)
    _know_what_was_kept(positions, readable)
    _know_what_was_drawn(positions, readable)
    early = earliest_events(_listeners(positions, readable))
    surroundings = surroundings_of([(workspaces[revision_id], course) for revision_id, course in readable.items()])
    contacts = _contacts(positions, readable)
    now, length = time.thread_time(), 0
    until, at_latest = now + _BATCH_SECONDS, time.monotonic() + _LONGEST_BATCH_SECONDS
    for place, position in enumerate(positions):
        if place and (now > until or time.monotonic() > at_latest or length > _BATCH_LENGTH):
            batch.left = [other.claimed for other in positions[place:]]
            break
        around = surroundings.get(position.workspace_id, NOTHING)
        length += _try(
            position, courses, batch, early=early.get(position.claimed.id), surroundings=around, contacts=contacts
        )
        began, now = now, time.thread_time()
        if now - began > _SLOW_SECONDS:
            log.warning("walk_slow", **position.names, seconds=round(now - began, 3))
    while contacts and (unreachable := contacts.look_up()):
        again = [one.position for one in batch.walks if one.position.customer_id in unreachable]
        batch.walks = [one for one in batch.walks if one.position.customer_id not in unreachable]
        for position in again:
            around = surroundings.get(position.workspace_id, NOTHING)
            _try(position, courses, batch, early=early.get(position.claimed.id), surroundings=around, contacts=contacts)
    return batch


def _contacts(positions: Sequence[Position], readable: Mapping[int, Course]) -> Contacts | None:
    """What is known of writing to those whose steps may ask for that, if there are any."""
    asking = {revision_id for revision_id, course in readable.items() if course.asks}
    asked = {(one.workspace_id, one.customer_id) for one in positions if one.asks and one.revision_id in asking}
    return Contacts(customers=asked) if asked else None


def _try(
    position: Position,
    courses: Courses,
    batch: _Batch,
    *,
    early: EarlyEvent | None,
    surroundings: Surroundings,
    contacts: Contacts | None,
) -> int:
    """Walks one, or notes why it cannot be walked; about how many characters that leads to writing."""
    try:
        walk = _walk(position, courses, early=early, surroundings=surroundings, contacts=contacts)
    except UnknownStepType as error:
        if not batch.unknown:
            log.warning("steps_unknown", **position.names, error=error.message)
        batch.unknown.append(position.claimed)
    except UnknownEncryptionKey as error:
        if not batch.sealed:
            log.warning("enrollment_sealed", **position.names, error=str(error))
        batch.sealed.append(FailedAttempt(claimed=position.claimed, error=str(error)))
    except Exception as error:
        log.exception("enrollment_failed", **position.names)
        batch.failures.append(FailedAttempt(claimed=position.claimed, error=for_the_record(error)))
    else:
        batch.walks.append(Walked(position=position, walk=walk))
        return _length(walk)
    return 0


def _readable(revision_ids: Iterable[int], courses: Courses) -> dict[int, Course]:
    """The courses that can be read, by their revisions."""
    readable: dict[int, Course] = {}
    for revision_id in revision_ids:
        with suppress(Exception):  # if its steps cannot be read, its walk says so
            readable[revision_id] = courses.of(revision_id)
    return readable


def _listeners(positions: Sequence[Position], readable: Mapping[int, Course]) -> dict[str, Listener]:
    """Those of the enrollments whose walk begins with a wait that may be over already, by id."""
    listeners: dict[str, Listener] = {}
    for position in positions:
        course = readable.get(position.revision_id)
        if course is not None and (listener := position.listener(course)):
            listeners[position.claimed.id] = listener
    return listeners


def _know_what_was_kept(positions: Sequence[Position], readable: Mapping[int, Course]) -> None:
    """Reads what steps kept of answers, if any may have."""
    reading = {revision_id for revision_id, course in readable.items() if course.reads_answers}
    keeping = [one for one in positions if one.steps_begun and reading.intersection(one.revision_ids)]
    kept = kept_by([position.claimed.id for position in keeping])
    for position in keeping:
        position.kept = kept.get(position.claimed.id, {})


def _know_what_was_drawn(positions: Sequence[Position], readable: Mapping[int, Course]) -> None:
    """Reads which ways their customers first went, where weights have been changed since."""
    changed = {revision_id for revision_id, course in readable.items() if course.redrawn}
    redrawn = [one for one in positions if one.revision_id in changed]
    drawn = drawn_ways([(one.customer_id, one.journey_id) for one in redrawn])
    for position in redrawn:
        position.drawn = drawn.get((position.customer_id, position.journey_id), {})


def _length(walk: Walk) -> int:
    """About how many characters of JSON its steps lead to writing."""
    length = 0
    for record in walk.step_records:
        if record.request:
            length += len(record.request.body or "")
        if record.tracked:
            length += len(repr(record.tracked.properties))
        if record.writes:
            length += len(repr(record.writes))
        if record.in_app:
            length += len(repr(record.in_app.values))
    return length


def _walk(
    position: Position,
    courses: Courses,
    *,
    early: EarlyEvent | None,
    surroundings: Surroundings,
    contacts: Contacts | None,
) -> Walk:
    if position.claimed.attempts > MAX_ATTEMPTS:
        return _given_up(position)
    course = courses.of(position.revision_id)
    context = position.context(
        early=early, surroundings=surroundings, contact=position.contact(contacts) if contacts else None
    )
    begun = None if position.began_in is None else courses.of(position.began_in).steps.get(position.step_id)
    walk = walk_on(course, context, step_id=position.step_id, arrival=position.arrival(course), begun=begun)
    exits = (course.withdraws or position.moved) and isinstance(walk.stop, Ended) and walk.stop.exited
    return walk._replace(withdraws=True) if exits else walk


def _given_up(position: Position) -> Walk:
    """The end of an enrollment that cannot be walked; its history and its exit reason hold the last error."""
    reason = why_given_up(position.error, at="walking")
    step_record = StepRecord(step_id=position.step_id, type="", resumed=position.began, state="failed", detail=reason)
    end = Ended(step_id=position.step_id, exited=True, reason=reason)
    return Walk(step_records=(step_record,), stop=end, withdraws=True)
