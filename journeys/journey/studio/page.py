"""The page on which a journey is edited step by step, and its draft: what is told while somebody edits."""

import re
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib.admin.utils import quote
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse

from engage.admin.parts.columns import named_first
from engage.admin.parts.differences import DiffLine, diff_of
from engage.admin.parts.json_field import JsonField
from engage.errors import MOST_MISTAKES, InvalidRequest
from engage.http.query_strings import whole_number
from engage.json.compact import same_json, unicode_json
from engage.notations.plurals import counted
from journeys.engine.operations.redaction import steps_without_credentials
from journeys.engine.steering.acts import queued_and_inside
from journeys.engine.steering.moving import GONE, OTHER_TYPE, UNDER_WAY, Moving
from journeys.faces.content_rights import sees_queries
from journeys.journey.asked import BESIDE_STEPS
from journeys.journey.authoring import InvalidJourney, refusals_of
from journeys.journey.draft.drafts import (
    Content,
    current_content,
    differences,
    draft_of,
    mark_of,
    objection_to,
    with_secrets_of,
    would_move_along,
)
from journeys.journey.starters import STARTERS
from journeys.journey.studio.suggestions import suggestions
from journeys.journey.warnings import warnings_of
from journeys.models import Journey, JourneyDraft
from journeys.steps.definition import readable_steps
from journeys.steps.description import described
from journeys.steps.secrets import masked_steps, steps_masked_beside

_MARK = re.compile("[0-9a-f]{64}")


def studio_of(journey: Journey, *, request: HttpRequest, may_edit: bool, now: datetime) -> dict[str, Any]:
    """What the page needs: the definition as its draft has it, what can be done to it, and what an author may mean."""
    draft = draft_of(journey)
    content = Content(**draft.written) if draft else _current(journey)
    steps = masked_steps(content.steps) if sees_queries(request) else steps_without_credentials(content.steps)
    return {
        "text": unicode_json(_as_written(replace(content, steps=steps))),
        "kinds": described(),
        "beside": BESIDE_STEPS,
        "mayEdit": may_edit,
        "urls": {name: _url(name, journey) for name in ("keep", "preview", "publish", "discard", "try")},
        "starters": [
            {"name": one.name, "about": one.about, "text": unicode_json(one.content)} for one in STARTERS.values()
        ],
        "suggestions": suggestions(journey, of_customers=may_edit, now=now),
        **checked(journey, content),
        **told_of(draft, journey),
    }


def _current(journey: Journey) -> Content:
    """With the id and the type of a step first, where the order of names is not known."""
    content = current_content(journey)
    return content if content.is_in_order else replace(content, steps=named_first(content.steps))


def _as_written(content: Content) -> dict[str, Any]:
    entry = {} if content.entry_conditions is None else {"entryConditions": content.entry_conditions}
    return {"steps": content.steps, "exitOn": content.exit_on, **entry}


def _url(name: str, journey: Journey) -> str:
    return reverse(f"admin:journeys_journey_{name}", args=[quote(journey.pk)])


def told_of(draft: JourneyDraft | None, journey: Journey) -> dict[str, Any]:
    """Which draft there is, who wrote it, from what it began, and what there is against publishing it."""
    if draft is None:
        return {"version": 0, "beganFrom": mark_of(journey), "draft": "", "objection": ""}
    return {
        "version": draft.version,
        "beganFrom": draft.began_from or "",
        "draft": f"Draft of {draft.written_by}, {draft.updated_at:%Y-%m-%d %H:%M} UTC.",
        "objection": objection_to(draft, journey),
    }


def sent_content(request: HttpRequest) -> Content:
    """What the page sends as `text`, as strictly as a request's body. Raises InvalidRequest."""
    try:
        value = JsonField(named="definition").to_python(request.POST.get("text", ""))
    except ValidationError as invalid:
        raise InvalidRequest(" ".join(invalid.messages)) from None
    if not isinstance(value, dict) or value.keys() - {"steps", "exitOn", "entryConditions"}:
        raise InvalidRequest("The definition must be an object with steps, exitOn and entryConditions, and no more.")
    return Content(
        steps=value.get("steps", []),
        exit_on=value.get("exitOn", []),
        entry_conditions=value.get("entryConditions"),
    )


def sent_version(request: HttpRequest) -> int:
    """The version of the draft that the page knows; -1, which no draft has, if it says none."""
    version = whole_number(request.POST.get("version", ""))
    return -1 if version is None else version


def sent_mark(request: HttpRequest) -> str | None:
    """From what the page says that it began; None if it says nothing, as one of the version before."""
    sent = request.POST.get("beganFrom", "")
    return sent if _MARK.fullmatch(sent) else None


def checked(journey: Journey, content: Content) -> dict[str, Any]:
    """Every mistake and warning with its place, and what each step does in words."""
    steps = with_secrets_of(journey, draft_of(journey), steps=content.steps)
    stored = current_content(journey)
    asked = copy(journey)
    asked.entry_conditions = content.entry_conditions
    pairs = {
        "steps": (steps, stored.steps),
        "exit_on": (content.exit_on, stored.exit_on),
        "entry_conditions": (content.entry_conditions, stored.entry_conditions),
    }
    changed = {name for name, (new, old) in pairs.items() if not same_json(new, old)}
    refused = [*refusals_of(asked, steps=steps, exit_on=content.exit_on, changed=changed)]
    mistakes = [_placed(one) for one in refused]
    places = {one["place"] for one in mistakes}
    warnings = [
        {"place": one.place, "message": one.message}
        for one in warnings_of(asked, steps=steps, exit_on=content.exit_on)
        if one.place not in places
    ]
    readable = readable_steps(steps)
    return {
        "mistakes": mistakes[:MOST_MISTAKES],
        "more": max(0, len(mistakes) - MOST_MISTAKES) + sum(one.more for one in refused),
        "warnings": warnings[:MOST_MISTAKES],
        "words": {
            step_id: {"does": step.label[:200], "ways": [way.label[:200] for way in step.ways()]}
            for step_id, step in readable.items()
        },
    }


def _placed(refusal: InvalidJourney) -> dict[str, str]:
    return {"place": refusal.place, "message": refusal.message.removeprefix(refusal.place).strip()}


def publishing(journey: Journey, draft: JourneyDraft, *, request: HttpRequest) -> dict[str, Any]:
    """What the page before publishing tells: the difference in words and line by line, and who is inside."""
    before, after = current_content(journey), Content(**draft.written)
    _, inside = queued_and_inside(journey)
    return {
        "differences": differences(before, after),
        "diffs": _diffs(before, after, with_queries=sees_queries(request)),
        "mistakes": checked(journey, after)["mistakes"],
        "inside_in_words": _inside(inside),
        "may_open": not journey.active and journey.archived_at is None and journey.aborted_at is None,
        "moving": _moving(would_move_along(journey, after)) if inside else None,
        **told_of(draft, journey),
    }


def _inside(number: int) -> str:
    if not number:
        return "Nobody is inside at the moment."
    goes = "goes" if number == 1 else "go"
    return f"{counted(number, 'customer')} inside {goes} on with the revision they are in."


def _moving(moving: Moving) -> dict[str, str] | None:
    """Who may move along, in words, and who stays and why; None if nobody may."""
    if not moving.moves:
        return None
    stays = [f"{number:,} {_STAYS[why]}" for why, number in moving.stays.items()]
    goes = "goes" if moving.moves == 1 else "go"
    return {
        "moves": f"{counted(moving.moves, 'customer')} inside {goes} on with revision {moving.revision}",
        "stays": f"These stay in their revision: {', '.join(stays)}." if stays else "",
    }


_STAYS = {
    UNDER_WAY: "with a request under way",
    GONE: "at a step that is gone",
    OTHER_TYPE: "at a step that has another type",
}


def _diffs(before: Content, after: Content, *, with_queries: bool) -> Iterable[tuple[str, list[DiffLine]]]:
    old, new = masked_steps(before.steps), steps_masked_beside(after.steps, before.steps)
    if not with_queries:
        old, new = steps_without_credentials(old), steps_without_credentials(new)
    found = [
        ("Entry", diff_of(before.entry_conditions, after.entry_conditions)),
        ("Steps", diff_of(old, new)),
        ("Exits", diff_of(before.exit_on, after.exit_on)),
    ]
    return [(name, lines) for name, lines in found if lines]
