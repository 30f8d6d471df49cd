"""Drafts: what is being edited of a journey, kept on the server until it is published. One for each journey.

1. A draft may hold anything; only publishing checks it. It is kept with who wrote it last, and a version: a number by
   chance, because one that is counted comes again once a draft was thrown away.
2. Whoever writes tells the version that they know (0: there is no draft). If it is another by now, they are refused,
   with who was there, and may write over it knowingly.
3. A draft that is as the journey is goes away by itself. So does one that was published.
4. The journey may move on meanwhile: by a call, a file or somebody else. Such a draft is published only knowingly.
   Whoever writes tells what they began from (`mark_of`), which may be long before what they wrote is first kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from secrets import randbelow
from typing import Any

from django.db import transaction

from engage.errors import Refusal
from engage.json.compact import same_json, sorted_json
from engage.json.key_order import key_order_of
from journeys.engine.steering.holding import locked
from journeys.engine.steering.moving import Moving, begin_move, would_move
from journeys.journey.authoring import SavedJourney, save_journey
from journeys.journey.opening import activate
from journeys.models import Journey, JourneyDraft, JourneyRevision
from journeys.steps.secrets import steps_as_stored

_VERSIONS = 2**30  # as many as a column of 32 bits has, and some that the version before may count on from


class DraftChanged(Refusal):
    """Somebody else has written the draft since."""

    status = 409
    error = "Draft changed"


class AgainstOthers(Refusal):
    """Publishing the draft would take back what others have done, or be taken back by them."""

    status = 409
    error = "Published only knowingly"


@dataclass(frozen=True, kw_only=True)
class Content:
    """What is edited, with secrets as they are stored and names in the order in which they were written."""

    steps: Any
    exit_on: Any
    entry_conditions: Any = None
    is_in_order: bool = True  # where the order of names is known

    def is_as(self, other: "Content") -> bool:
        own, others = [self.steps, self.exit_on], [other.steps, other.exit_on]
        is_ordered = not other.is_in_order or key_order_of(own) == key_order_of(others)
        return same_json(own, others) and is_ordered and same_json(self.entry_conditions, other.entry_conditions)


def current_content(journey: Journey) -> Content:
    """That of the journey's revision; nothing where it has none yet."""
    revision = JourneyRevision.objects.filter(journey=journey, number=journey.revision).first()
    written = revision.written if revision else {"steps": [], "exit_on": []}
    is_in_order = revision is None or bool(revision.key_order)
    return Content(**written, entry_conditions=journey.entry_conditions, is_in_order=is_in_order)


def mark_of(journey: Journey) -> str:
    """A text that is another one as soon as the journey's content is."""
    return sha256(f"{journey.revision} {sorted_json(journey.entry_conditions)}".encode()).hexdigest()


def draft_of(journey: Journey) -> JourneyDraft | None:
    """The journey's draft, if it has one."""
    return JourneyDraft.objects.filter(workspace_id=journey.workspace_id, journey=journey).first()


def with_secrets_of(journey: Journey, draft: JourneyDraft | None, *, steps: Any) -> Any:
    """The steps, in which a mask is what the draft, or else the journey, has in its place."""
    known = steps if draft is None else steps_as_stored(steps, draft.steps)
    return steps_as_stored(known, current_content(journey).steps)


@transaction.atomic
def keep_draft(
    journey: Journey, *, sent: Content, version: int, began_from: str | None, by: str, now: datetime
) -> JourneyDraft | None:
    """Keeps what was written, right or wrong; None if that is what the journey has. `version` is the one known.

    `began_from` is the mark of the journey from which it was written; None if that is not known. Raises DraftChanged.
    """
    journey = locked(journey)
    draft = draft_of(journey)
    _require_version(draft, version)
    content = replace(sent, steps=with_secrets_of(journey, draft, steps=sent.steps))
    if content.is_as(current_content(journey)):
        if draft is not None:
            draft.delete()
        return None
    if draft is None:
        draft = JourneyDraft(workspace_id=journey.workspace_id, journey=journey, revision=journey.revision)
    draft.steps, draft.exit_on, draft.entry_conditions = content.steps, content.exit_on, content.entry_conditions
    draft.key_order = key_order_of([content.steps, content.exit_on])
    draft.version = 1 + randbelow(_VERSIONS)
    draft.began_from = began_from or draft.began_from
    draft.written_by, draft.updated_at = by, now
    draft.save()
    return draft


def objection_to(draft: JourneyDraft, journey: Journey) -> str:
    """Against whom publishing it would go, in sentences; "" if against nobody."""
    manager = journey.managed_by
    moved_on = (
        f"The journey has changed since the draft was begun, and has revision {journey.revision} by now. "
        "Publishing the draft takes back what came since."
    )
    has_moved_on = mark_of(journey) != draft.began_from if draft.began_from else journey.revision != draft.revision
    managed = f"The journey is managed by {manager}, which may change back what is published."
    return " ".join([moved_on] * has_moved_on + [managed] * bool(manager))


@transaction.atomic
def publish_draft(
    journey: Journey,
    *,
    version: int,
    knowingly: bool,
    now: datetime,
    moved_by: str | None = None,
    opened_by: str | None = None,
) -> SavedJourney:
    """Makes the draft the journey's new revision, in which those inside go on if somebody has them `moved_by` that, and
    activates the journey if it is to be `opened_by` somebody.

    Raises DraftChanged, AgainstOthers and InvalidJourney.
    """
    journey = locked(journey)
    draft = draft_of(journey)
    _require_version(draft, version)
    if draft is None:
        raise DraftChanged("There is no draft any more.")
    if not knowingly and (objection := objection_to(draft, journey)):
        raise AgainstOthers(objection)
    saved = save_journey(workspace=journey.workspace, key=journey.key, now=now, **draft.written)
    draft.delete()
    if moved_by is not None:
        begin_move(saved.journey, actor=moved_by)
    if opened_by is not None:
        activate(saved.journey, reason="Published.", actor=opened_by, now=now)
    return saved


def would_move_along(journey: Journey, content: Content) -> Moving:
    """What would become of those inside if this were published and they went on in it."""
    current = current_content(journey)
    is_new = not same_json([content.steps, content.exit_on], [current.steps, current.exit_on])
    return would_move(journey, steps=content.steps if is_new else None)


@transaction.atomic
def discard_draft(journey: Journey, *, version: int) -> None:
    """Throws the draft away. Raises DraftChanged."""
    draft = draft_of(locked(journey))
    _require_version(draft, version)
    if draft is not None:
        draft.delete()


def _require_version(draft: JourneyDraft | None, version: int) -> None:
    there = draft.version if draft else 0
    if there != version:
        who = f"{draft.written_by} has changed the draft" if draft else "the draft was published or thrown away"
        raise DraftChanged(f"Meanwhile {who}.")


def differences(before: Content, after: Content) -> list[str]:
    """What is other in the second, in sentences; none if nothing is."""
    entry = [] if same_json(before.entry_conditions, after.entry_conditions) else ["Who may enter changes."]
    return [*entry, *_of_steps(before.steps, after.steps), *_of_exits(before.exit_on, after.exit_on)]


def _of_steps(before: Any, after: Any) -> Iterator[str]:
    old, new = _by_id(before), _by_id(after)
    for step_id, step in new.items():
        if step_id not in old:
            yield f"The step {step_id!r} is new ({step.get('type')})."
    for step_id in old:
        if step_id not in new:
            yield f"The step {step_id!r} is gone."
    for step_id, step in new.items():
        if step_id in old and not same_json(step, old[step_id]):
            was = old[step_id]
            names = [name for name in {**was, **step} if not same_json(was.get(name), step.get(name))]
            yield f"The step {step_id!r} changes: {', '.join(names)}."
    both = [step_id for step_id in old if step_id in new]
    if both != [step_id for step_id in new if step_id in old]:
        yield "The steps stand in another order."


def _of_exits(before: Any, after: Any) -> Iterator[str]:
    if not same_json(before, after):
        number = len(after) if isinstance(after, list) else 0
        yield f"What ends it early changes: {number} rule{'' if number == 1 else 's'}."


def _by_id(steps: Any) -> dict[str, dict[str, Any]]:
    written = steps if isinstance(steps, list) else ()
    return {str(step.get("id")): step for step in written if isinstance(step, dict)}
