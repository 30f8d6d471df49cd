"""Those inside a journey go on in a later revision, where their step is still there with the same type.

1. A wait keeps its due time, and the event or condition for which it was begun; where it leads to is as the new
   revision says. What steps kept of answers stays. Exits are the new revision's, from the move on.
2. Who stands in a step that is gone, or of another type by now, stays in the old revision, and so does who has a
   request under way: its answer is judged, and leads on, as it was sent.
3. The wish is a column of the journey (`moves_to`), written with the definition. A sweeper fulfils it, some at a time,
   under the customers' locks; if its process dies, another one begins anew, and finds those who have not moved.
4. It ends once a process has found nobody any more, and all have ended who were deciding when it first looked: those
   who come in later, come into the new revision.
5. The counts go along (COUNT_MOVES): an enrollment counts for the revision that it is in, with all of its history.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

from django.db import transaction

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.outages import unless_held_up
from engage.database.sql import Rows, Statement
from engage.database.statement_limit import longer_statements
from engage.json.keywords import Keywords, known
from journeys.engine.enrollments.locks import all_ended, lock_customers_of
from journeys.engine.enrollments.transfers import Standing, move
from journeys.engine.steering.acts import record_act
from journeys.models import Journey, JourneyRevision, SteeringAct
from journeys.steps.definition import SENDING_TYPES

_AT_ONCE = 500
UNDER_WAY, GONE, OTHER_TYPE = "under_way", "gone", "other_type"


@dataclass(frozen=True, kw_only=True)
class Moving:
    """What becomes of those inside who are in an older revision, in numbers."""

    schema_name: ClassVar = "Moving"

    revision: Annotated[int, "The number of the revision in which they go on.", Keywords(minimum=1)]
    moves: Annotated[int, "How many go on in it."]
    stays: Annotated[
        Mapping[str, int],
        "How many stay in theirs, by the reason: `under_way` (their request is being sent), `gone` (their step is not "
        "there any more), `other_type` (it is of another type).",
        Keywords(propertyNames={"type": "string", **known([UNDER_WAY, GONE, OTHER_TYPE]).schema}),
    ]


class _Step(NamedTuple):
    """A step of a revision."""

    revision_id: int
    number: int
    id: str
    type: str


# Without their secrets, and whatever else is in them.
_STEPS = Statement("""
SELECT revision.id, revision.number, step->>'id', step->>'type'
FROM journeys_journeyrevision revision CROSS JOIN LATERAL jsonb_array_elements(revision.steps) AS step
WHERE revision.journey_id = {journey_id} AND revision.number <= {number}
""")
# Who has not begun their step is due about now, or was before the journey was held.
_AHEAD = """
    SELECT id, revision_id, step_id, false AS began FROM journeys_enrollment
    WHERE journey_id = {journey_id} AND was_due_at IS NOT NULL AND step_began_at IS NULL AND state || '' = 'active'
    UNION ALL
    SELECT id, revision_id, step_id, false FROM journeys_enrollment
    WHERE due_at < now() + interval '2 minutes' AND journey_id = {journey_id} AND step_began_at IS NULL
"""
_INSIDE = Statement(
    """
SELECT revision_id, step_id, began, count(*) FROM (
    {ahead}
    UNION ALL
    SELECT id, revision_id, step_id, true FROM journeys_enrollment
    WHERE journey_id = {journey_id} AND step_began_at IS NOT NULL AND state || '' = 'active'
) AS inside
GROUP BY 1, 2, 3
""",
    ahead=_AHEAD,
)
_PLACES = Rows("place", {"revision_id": "bigint", "step_id": "text"})
_NEXT_AHEAD = Statement(
    """
SELECT id FROM ({ahead}) AS ahead JOIN {places} USING (revision_id, step_id) WHERE id > {after} ORDER BY id LIMIT {most}
""",
    ahead=_AHEAD,
    places=_PLACES,
)
_NEXT_IN_STEP = Statement(
    """
SELECT id FROM journeys_enrollment, {in_index_order}
WHERE journey_id = {journey_id} AND step_id = {step_id} AND id > {after} AND step_began_at IS NOT NULL
  AND state || '' = 'active' AND revision_id = ANY({revision_ids}::bigint[])
ORDER BY id LIMIT {most}
""",
    in_index_order=IN_INDEX_ORDER,
)


def would_move(journey: Journey, *, steps: object = None) -> Moving:
    """What would become of those inside who are in an older revision than the current one.

    With `steps`, as they are written: than the one that they would be.
    """
    known_steps = _steps(journey.id, journey.revision)
    number = journey.revision if steps is None else journey.revision + 1
    types = _types(known_steps, number) if steps is None else _types_written(steps)
    older, moves, stays = {(one.revision_id, one.id): one for one in known_steps}, 0, Counter[str]()
    older_ids = set(JourneyRevision.objects.filter(journey=journey, number__lt=number).values_list("id", flat=True))
    with longer_statements():
        inside = _INSIDE.rows(journey_id=journey.id) if older_ids else []
    for revision_id, step_id, began, people in inside:
        if revision_id not in older_ids:
            continue
        if why := _why_it_stays(older.get((revision_id, step_id)), types.get(step_id), began=began):
            stays[why] += people
        else:
            moves += people
    return Moving(revision=number, moves=moves, stays=stays)


def _types_written(steps: object) -> dict[str, str]:
    written = steps if isinstance(steps, list) else ()
    return {str(step.get("id")): str(step.get("type")) for step in written if isinstance(step, dict)}


def _why_it_stays(step: _Step | None, type_now: str | None, *, began: bool) -> str | None:
    """None for one who moves."""
    if type_now is None:
        return GONE
    if step is None or step.type != type_now:
        return OTHER_TYPE
    return UNDER_WAY if began and type_now in SENDING_TYPES else None


def begin_move(journey: Journey, *, actor: str) -> Moving:
    """Has those inside go on in the journey's current revision, from the next sweep on; what will become of them.

    The caller's transaction has locked the journey. If nobody would move, no act is recorded; but some may yet come in
    who are being decided by the revision before.
    """
    moving = would_move(journey)
    if journey.revision > 1:
        Journey.objects.filter(id=journey.id).update(moves_to=journey.revision)
    if moving.moves:
        record_act(SteeringAct.Kind.MOVE, journey, actor=actor, reason="", revision=journey.revision, moved=0)
    return moving


@dataclass
class _Pass:
    """Once through all who may move, of this process: those who have yet to begin their step (None), then step by step.

    `settled` if nobody may come in any more whom it does not find; `found` counts whom it found. Only one that a single
    call went through says that nobody is left: others may have fulfilled a wish meanwhile, and have been given another.
    """

    steps: list[str | None]
    settled: bool
    after: str = ""
    found: int = 0


@dataclass(frozen=True)
class _Wish:
    """A journey whose wish is to be fulfilled."""

    journey_id: str
    number: int
    revision_id: int
    places: Sequence[Standing]
    in_step: Mapping[str, list[int]]  # of the steps in which one may wait, by their ids, the revisions


_passes: dict[tuple[str, int], _Pass] = {}
_MOST_REMEMBERED = 100


def move_remaining(journey_id: str, *, seconds: float) -> int:
    """Moves those who are to move, some, and then more for about so long; returns how many. Safe to run twice.

    Whose customer others have locked is passed over: the next pass finds them.
    """
    wish = _wish(journey_id)
    if wish is None:
        return 0
    total, until, key = 0, time.monotonic() + seconds, (wish.journey_id, wish.number)
    while True:
        resumed, before = _passes.pop(key, None), total
        once = resumed or _new_pass(wish)
        for found in _pieces(wish, once):
            total += _move_some(wish, found)
            if time.monotonic() >= until:
                _keep(key, once)
                return total
        if resumed is None and once.settled and not once.found:
            Journey.objects.filter(id=journey_id, moves_to=wish.number).update(moves_to=None)
        if (resumed is None and total == before) or time.monotonic() >= until:
            return total


def _keep(key: tuple[str, int], once: _Pass) -> None:
    if len(_passes) >= _MOST_REMEMBERED:
        _passes.clear()
    _passes[key] = once


def _wish(journey_id: str) -> _Wish | None:
    journey = Journey.objects.filter(id=journey_id, moves_to__isnull=False).first()
    if journey is None or journey.moves_to is None:
        return None
    number = journey.moves_to
    steps = _steps(journey_id, number)
    types = _types(steps, number)
    places = [
        Standing(one.revision_id, one.number, one.id, one.type in SENDING_TYPES)
        for one in steps
        if one.number < number and types.get(one.id) == one.type
    ]
    in_step: dict[str, list[int]] = {}
    for place in places:
        if not place.sends:
            in_step.setdefault(place.step_id, []).append(place.revision_id)
    revision_id = JourneyRevision.objects.values_list("id", flat=True).get(journey=journey, number=number)
    return _Wish(journey_id, number, revision_id, places, in_step)


def _steps(journey_id: str, number: int) -> list[_Step]:
    return [_Step(*row) for row in _STEPS.rows(journey_id=journey_id, number=number)]


def _types(steps: Sequence[_Step], number: int) -> dict[str, str]:
    """The steps of the revision with this number, by their ids."""
    return {one.id: one.type for one in steps if one.number == number}


def _new_pass(wish: _Wish) -> _Pass:
    settled = all_ended(("move", wish.journey_id, wish.number), patience=0)
    return _Pass(steps=[None, *wish.in_step], settled=settled)


def _pieces(wish: _Wish, once: _Pass) -> Iterator[list[str]]:
    """Those whom the pass has yet to come to, some at a time."""
    while once.steps:
        step_id, asked = once.steps[0], {"journey_id": wish.journey_id, "after": once.after, "most": _AT_ONCE}
        if step_id is None:
            found = _NEXT_AHEAD.column(**asked, places=[(place.revision_id, place.step_id) for place in wish.places])
        else:
            found = _NEXT_IN_STEP.column(**asked, step_id=step_id, revision_ids=wish.in_step.get(step_id, []))
        if found:
            once.after, once.found = found[-1], once.found + len(found)
            yield found
        else:
            once.after = ""
            del once.steps[0]


_COUNT = Statement("""
UPDATE journeys_steeringact
SET numbers = jsonb_set(numbers, ARRAY['moved'], to_jsonb((numbers->>'moved')::int + {moved}))
WHERE id = (
    SELECT id FROM journeys_steeringact
    WHERE journey_id = {journey_id} AND kind = 'move' AND (numbers->>'revision')::int = {number}
    ORDER BY id DESC LIMIT 1
)
""")


def _move_some(wish: _Wish, enrollment_ids: Sequence[str]) -> int:
    """Moves those of them who still stand where they may move, in one transaction; returns how many."""
    with unless_held_up(), transaction.atomic():
        held = lock_customers_of(enrollment_ids, wait=False)
        moved = move(
            enrollment_ids,
            customer_ids=held,
            places=wish.places,
            revision_id=wish.revision_id,
            number=wish.number,
        )
        if moved:
            _COUNT.execute(journey_id=wish.journey_id, number=wish.number, moved=len(moved))
        return len(moved)
    return 0
