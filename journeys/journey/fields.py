"""The fields of a journey, once: what files, calls and what is written out say of one."""

from dataclasses import dataclass
from typing import Annotated, Any

from engage.json.documents import Part
from engage.json.fields import Spelled, members
from engage.json.keywords import Keywords
from engage.resources.fields import Fields, ReadBy

MANAGED_BY = "What it comes from, such as `git:acme/journeys`: staff are asked before they save over it. Nothing."
_OBJECT = Keywords(type="object", additionalProperties=True)
_OBJECTS = Keywords(type="array", items={"type": "object", "additionalProperties": True})


def _event_name(part: Part) -> str:
    return "" if part.is_null else part.text()


def _from_bridge(part: Part) -> bool:
    return part.is_null or part.flag()


@dataclass(frozen=True, kw_only=True)
class JourneyFields(Fields):
    """A journey, whole. What is left out, or null, gets its default; an unknown field is a mistake."""

    key: Annotated[str, "The key, as in the path; may be left out."] = ""
    name: Annotated[str, "What people call it; the key by default."] = ""
    trigger_type: Annotated[str, "What enters customers: `api`, the default, or `event`.", Spelled("trigger")] = "api"
    event_name: Annotated[str, "Of an event journey: the event's name.", ReadBy(_event_name)] = ""
    event_where: Annotated[
        Any, "Of an event journey: the condition that its event must meet.", Spelled("where"), _OBJECT
    ] = None
    event_from_bridge: Annotated[
        bool,
        "Of an event journey: whether events of in-app messages count; true.",
        Spelled("fromBridge"),
        ReadBy(_from_bridge),
    ] = True
    active: Annotated[
        bool, "Whether a new journey takes in customers; true. Afterwards that is state, and stays as it is."
    ] = True
    max_entries_per_customer: Annotated[
        int | None, "How many times one customer may enter; 1 where it is left out.", Keywords(minimum=1)
    ] = None
    allow_reenrollment: Annotated[bool, "Whether one who completed the journey may enter again; false."] = False
    concurrent_entrances: Annotated[
        bool, "Whether a customer may be inside once for each `entranceId`, and each counts apart; false."
    ] = False
    entry_conditions: Annotated[Any, "The condition that customers must meet to enter.", _OBJECT] = None
    steps: Annotated[Any, "The steps; none by default.", _OBJECTS] = None
    exit_on: Annotated[Any, "What ends an enrollment, wherever it is; nothing by default.", _OBJECTS] = None
    guards: Annotated[Any, "What holds the journey by itself; nothing by default.", _OBJECTS] = None
    payload_schema: Annotated[
        Any, "What payloads must be: a JSON Schema (2020-12) of an object, without references; anything.", _OBJECT
    ] = None
    goals: Annotated[
        Any, "What it is for: events that are counted for each enrollment within a time; nothing by default.", _OBJECTS
    ] = None
    hold_out: Annotated[
        Any, "The `share` of those who might enter that is held out, to compare; nobody by default.", _OBJECT
    ] = None
    topic: Annotated[str | None, "What its messages are about: the key of a topic; nothing by default."] = None
    on_opt_out: Annotated[
        str, "Whether those inside who leave the topic, in all its channels, leave the journey: `exit`, or `skip`."
    ] = "exit"
    managed_by: Annotated[str | None, MANAGED_BY] = None


# How files, calls and messages spell the fields.
SPELLINGS = {member.name: member.spelling for member in members(JourneyFields)}
