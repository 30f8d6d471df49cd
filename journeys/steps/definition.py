"""Parses a journey's steps from the JSON in which they are stored into values that can be walked.

A step goes on to the one after it, or to the one that its `next` names; `"next": null` ends the journey, as does the
last step. A journey without steps completes at once.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from graphlib import CycleError, TopologicalSorter

from engage.json.documents import Part, Reading
from journeys.rendering import NAMES, Names
from journeys.steps.branch import Branch
from journeys.steps.delay import Delay
from journeys.steps.exit import Exit
from journeys.steps.in_app import InApp
from journeys.steps.kinds import KeptBy
from journeys.steps.send import SendStep, no_connection
from journeys.steps.sending import SendingStep
from journeys.steps.split import Split
from journeys.steps.templated import places_reading
from journeys.steps.track_event import TrackEvent
from journeys.steps.update_profile import UpdateProfile
from journeys.steps.wait_for_event import WaitForEvent
from journeys.steps.wait_until import WaitUntil
from journeys.steps.webhook import Webhook
from journeys.steps.webhook_targets import Target
from journeys.steps.written import LONGEST_ID, InvalidSteps, Known, UnknownStepType, WrittenStep, no_variable

MAX_STEPS = 200
_ID = re.compile(r"[A-Za-z0-9_-]+")

# Steps that may stop a walk and are resumed later. All others end as soon as they begin.
WaitingStep = Delay | WaitForEvent | WaitUntil
ResumableStep = Webhook | SendStep | InApp | WaitingStep
Step = ResumableStep | Branch | Split | UpdateProfile | TrackEvent | Exit
# In the order in which authors are told of them.
KINDS: tuple[type[Step], ...] = (
    Webhook,
    SendStep,
    Delay,
    InApp,
    WaitForEvent,
    WaitUntil,
    Branch,
    Split,
    UpdateProfile,
    TrackEvent,
    Exit,
)
_BY_TYPE = {kind.type: kind for kind in KINDS}
STEP_TYPES = tuple(_BY_TYPE)
SENDING_TYPES = frozenset(kind.type for kind in KINDS if issubclass(kind, SendingStep))


def parse_steps(
    value: object,
    *,
    stored: bool = False,
    require_callable: Callable[[Target], None] | None = None,
    known: Known | None = None,
    names: Names | None = None,
) -> tuple[Step, ...]:
    """The steps in order; `stored` ones were saved before, and need not keep to every rule of today.

    What they read begins with one of these `names`; None: of `names_within` them.

    `require_callable` raises RefusedRequest for targets that may not be called; stored ones are not asked about. Nor is
    whether what they name of the workspace is still `known`.

    Raises InvalidSteps, whose message begins with the place: `steps[2].for must …`; UnknownStepType if that is why. The
    other mistakes are with the first.
    """
    parts = Part(value, "steps", InvalidSteps).items(at_most=MAX_STEPS)
    with Reading() as read:
        ids = _ids(parts, read)
        names = names or (NAMES if stored else names_within(value))
        written = partial(
            WrittenStep, ids=ids, names=names, stored=stored, require_callable=require_callable, known=known
        )
        steps = [
            read(partial(_parse, written(part=part, id=step_id, following=following)))
            for part, step_id, following in zip(parts, ids, [*ids[1:], None], strict=False)
        ]
        read(lambda: _refuse_loops_without_a_wait(parts, steps))
        if not stored:
            read(lambda: _refuse_deliveries_elsewhere(parts, steps))
    return tuple(steps)


def readable_steps(value: object) -> dict[str, Step]:
    """Those of the steps, by their ids, that can be read by themselves, whatever is wrong with the others."""
    written = value if isinstance(value, list) else []
    ids = [str(step.get("id")) if isinstance(step, dict) else "" for step in written]
    readable: dict[str, Step] = {}
    for number, (step, step_id, following) in enumerate(zip(written, ids, [*ids[1:], None], strict=False)):
        part = Part(step, f"steps[{number}]", InvalidSteps)
        with suppress(InvalidSteps):
            readable[step_id] = _parse(
                WrittenStep(part=part, id=step_id, following=following, ids=ids, names=NAMES, stored=True)
            )
    return readable


def require_known(value: object, known: Known) -> None:
    """Raises InvalidSteps for variables and connections that stored steps name, unless they are known and take inputs.

    An in-app message that is not shown any more makes its step `skipped`, and is no mistake of stored ones.
    """
    readable = readable_steps(value)
    with Reading() as read:
        for number, step in enumerate(value if isinstance(value, list) else ()):
            for place, why in _lacking(readable.get(str(step.get("id"))), known) if isinstance(step, dict) else ():
                read.note(Part(None, f"steps[{number}].{place}", InvalidSteps), why)


def _lacking(step: Step | None, known: Known) -> Iterator[tuple[str, str]]:
    """What is not there that the step names, and what its connection would never take: where, and why."""
    for place, name in places_reading(step, "vars"):
        if name not in known.variables:
            yield place, no_variable(name)
    if isinstance(step, SendStep):
        wanted = known.connection(step.connection)
        if wanted is None:
            yield "connection", no_connection(step.connection)
        else:
            yield from ((f"inputs.{name}" if name else "inputs", why) for name, why in step.mistakes(wanted))


def _whatever(_: str) -> None:
    """Any name: a connection may keep something else tomorrow."""


def names_within(steps: object, *, kept_by: KeptBy = _whatever) -> Names:
    """The names that templates and conditions of a journey with these steps, as they are written, may begin with."""
    kept: dict[str, Names | None] = {}
    for step in steps if isinstance(steps, list) else ():
        kind = _BY_TYPE.get(str(step.get("type"))) if isinstance(step, dict) else None
        if kind is not None and (names := kind.kept_names(step, kept_by)) != {}:
            kept[str(step.get("id"))] = names
    return {**NAMES, "steps": kept} if kept else NAMES


def _ids(parts: list[Part], read: Reading) -> list[str]:
    """The ids in order; "" for a step that has none that is right."""
    places: dict[str, str] = {}
    return [read(partial(_id, part, places)) or "" for part in parts]


def _id(part: Part, places: dict[str, str]) -> str:
    written = part.field("id")
    step_id = written.text(at_most=LONGEST_ID)
    if not _ID.fullmatch(step_id):
        written.refuse("may hold letters, digits, - and _ only.")
    if step_id in places:
        written.refuse(f"is {step_id!r}, which is the id of {places[step_id]} already.")
    places[step_id] = part.place
    return step_id


def _parse(step: WrittenStep) -> Step:
    written = step.part.field("type")
    written.text(at_most=LONGEST_ID)
    return _BY_TYPE[replace(written, refusal=UnknownStepType).choice(STEP_TYPES)].parse(step)


def _refuse_loops_without_a_wait(parts: Sequence[Part], steps: Sequence[Step | None]) -> None:
    """Refuses loops in which a customer would run forever and keep a worker busy; None is a step with a mistake."""
    read = [(part, step) for part, step in zip(parts, steps, strict=True) if step is not None]
    restless = {step.id: step.at_once for _, step in read if step.at_once}
    try:
        TopologicalSorter(
            {step_id: [to for to in targets if to in restless] for step_id, targets in restless.items()}
        ).prepare()
    except CycleError as error:
        *loop, _ = reversed(error.args[1])  # it comes backwards, with its first step repeated as its last
        part, first = next((part, step) for part, step in read if step.id in loop)
        turn = loop.index(first.id)
        way = [*loop[turn:], *loop[:turn], first.id]
        part.refuse(f"stands in a loop without a wait: {' → '.join(way)}.")


def _refuse_deliveries_elsewhere(parts: Sequence[Part], steps: Sequence[Step | None]) -> None:
    """Refuses a wait for a delivery that does not directly follow its step: what came in between would be missed.

    What a wait for the same delivery has heard may lead to another one, which counts from there on.
    """
    for number, wait in enumerate(steps):
        if isinstance(wait, WaitForEvent) and wait.delivery is not None:
            before = [step for step in steps if step is not None and wait.id in step.targets]
            led_to_by_none = not before and None not in steps  # one with a mistake may lead here
            if number == 0 or led_to_by_none or not all(_leads_to(wait, step) for step in before):
                parts[number].field("delivery").refuse(
                    f"is {wait.delivery!r}, but nothing may lead here but the in_app step of this id, or the event of "
                    f"a wait for the same delivery."
                )


def _leads_to(wait: WaitForEvent, step: Step) -> bool:
    if isinstance(step, InApp):
        return step.id == wait.delivery
    return isinstance(step, WaitForEvent) and step.delivery == wait.delivery and step.on_timeout != wait.id
