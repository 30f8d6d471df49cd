"""Journeys, as the item of a seed file."""

from typing import Any

from engage.errors import FailureDetail
from engage.resources.definitions import DefinitionInvalid
from engage.resources.resource import CallTexts
from journeys.definitions.bodies import JourneyQuery
from journeys.definitions.calls import UNKNOWN_SECRET
from journeys.definitions.each import define
from journeys.engine.steering.moving import GONE, UNDER_WAY, Moving
from journeys.faces.path_ids import JOURNEY_ID
from journeys.journey.resource import JOURNEYS

_MISTAKE = "steps[0].for must be a duration such as P1D or PT2H, but 'soon' came."
_INVALID = DefinitionInvalid(_MISTAKE, details=[FailureDetail(field="steps", place="steps[0].for", message=_MISTAKE)])
_WAIT = {"id": "wait", "type": "delay", "for": "P1D"}
_JOURNEY: dict[str, Any] = {
    "key": "welcome",
    "name": "Welcome",
    "trigger": "api",
    "maxEntriesPerCustomer": None,
    "allowReenrollment": False,
    "concurrentEntrances": False,
    "entryConditions": None,
    "steps": [_WAIT],
    "exitOn": [],
    "guards": [],
    "payloadSchema": None,
    "goals": [{"key": "bought", "event": "order_paid", "within": "P7D"}],
    "holdOut": {"share": 0.1},
    "managedBy": "git:acme/journeys",
}
_TEXTS = CallTexts(
    put="""Create or replace a journey

    The body is the journey's item of a seed file, whole: what is left out gets its default. All mistakes are told at
    once, each with its place, before If-Match is looked at. Other steps or exit rules are a new revision, with which
    customers enter from then on. Whether the journey is closed, held or aborted is no part of it, and stays.

    Those inside go on with the revision they entered with. With `moveInside=true` they go on in this one, if their step
    is still there with the same type: a wait keeps its time and its event, and kept answers stay. They are moved within
    seconds after the call, many one after the other; `moving` says how many, and how many stay where they are and why.
    Asked again, it moves whoever can be moved by then; a body that changes nothing is enough for that.

    A header `***` of a step keeps the secret that is stored for the step with the same id.
    """,
    get="""Read a journey

    Returns the journey with its current steps and exit rules, as a PUT takes them.
    """,
    delete="""Archive a journey

    Closes the journey and hides it. Those inside go on, and what happened stays. Staff can restore it. What is
    scheduled for later is decided when it is due, by whether the journey is open again.
    """,
    example=_JOURNEY,
    example_id=JOURNEY_ID.example,
    requests={"A wait": {"name": "Welcome", "steps": [_WAIT]}},
    changed=["steps"],
    inside=310,
    moving=Moving(revision=8, moves=302, stays={UNDER_WAY: 6, GONE: 2}),
    refuses=[_INVALID, UNKNOWN_SECRET],
)

define(JOURNEYS, _TEXTS, named=JOURNEY_ID, query=JourneyQuery)
