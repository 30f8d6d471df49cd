"""The two workspaces of a run, and the journeys that their customers walk."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engage.json.durations import parse_duration

CUSTOMERS = 300
SEGMENT = 40  # the first so many customers
MANY = 1_000_000

# What the reference model has to know of a journey: how often one may enter, and whether the entry ends at once.
Rule = Literal[
    "number_at_once", "once", "number", "always_at_once", "one_at_a_time", "until_left", "if_pro", "unless_held_out"
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Course:
    """A journey of the run; `receiver` stands in its steps for the base of the receiver's URLs."""

    key: str
    rule: Rule
    steps: Sequence[Mapping[str, Any]] = ()
    entries: int | None = None
    reenter: bool = False
    conditions: Mapping[str, Any] | None = None
    event: str | None = None
    from_bridge: bool = True
    exit_on: Sequence[Mapping[str, Any]] = ()
    goals: Sequence[Mapping[str, Any]] = ()
    hold_out: float | None = None
    is_new: bool = False  # has a step that the latest release does not know

    def seed(self, receiver: str) -> dict[str, Any]:
        steps = json.loads(json.dumps(self.steps).replace("receiver", receiver))
        return {
            "key": self.key,
            "name": self.key,
            "trigger": "event" if self.event else "api",
            "eventName": self.event,
            "fromBridge": self.from_bridge,
            "maxEntriesPerCustomer": self.entries,
            "allowReenrollment": self.reenter,
            "entryConditions": self.conditions,
            "exitOn": list(self.exit_on),
            "steps": steps,
            **({"goals": list(self.goals)} if self.goals else {}),
            **({"holdOut": {"share": self.hold_out}} if self.hold_out else {}),
        }

    def seconds_of(self, delay: str) -> float:
        """How long the step with this id waits."""
        return next(parse_duration(step["for"]).total_seconds() for step in self.steps if step["id"] == delay)


def delay(step_id: str, duration: str) -> dict[str, Any]:
    return {"id": step_id, "type": "delay", "for": duration}


def wait(step_id: str, event: str, then: str) -> dict[str, Any]:
    return {
        "id": step_id, "type": "wait_for_event", "event": event, "timeout": "PT3S", "onEvent": then, "onTimeout": None,
    }  # fmt: skip


def mark(step_id: str) -> dict[str, Any]:
    return {"id": step_id, "type": "update_profile", "attributes": {"mark": "{{ enrollment.id }}"}}


def webhook(step_id: str, url: str = "receiver/ok") -> dict[str, Any]:
    """A step whose body names its enrollment."""
    return {"id": step_id, "type": "webhook", "url": url, "body": {"enrollment": "{{ enrollment.id }}"}}


MESSAGE = "offer"  # which a journey delivers
LEAVING = "unsubscribed"  # ends the campaign
GOAL_SECONDS = 600  # longer than a trial
COURSES = (
    Course(key="thrice_at_once", rule="number_at_once", entries=3),
    Course(key="always_at_once", rule="always_at_once", reenter=True),
    Course(
        key="once",
        rule="once",
        steps=[
            delay("rest", "PT1S"),
            mark("mark"),
            {"id": "tell", "type": "track_event", "eventName": "rested"},
        ],
    ),
    Course(key="thrice", rule="number", entries=3, steps=[delay("rest", "PT2S")]),
    Course(
        key="notify", rule="one_at_a_time", reenter=True, steps=[webhook("one"), delay("rest", "PT1S"), webhook("two")]
    ),
    Course(
        key="only_pro", rule="if_pro", conditions={"field": "customer.plan", "op": "eq", "value": "pro"}, reenter=True
    ),
    Course(
        key="listens",
        rule="one_at_a_time",
        reenter=True,
        steps=[wait("listen", "signed_up", "heard"), webhook("heard")],
    ),
    Course(
        key="listens_twice",
        rule="one_at_a_time",
        reenter=True,
        steps=[wait("first", "signed_up", "second"), wait("second", "looked", "mark"), mark("mark")],
    ),
    Course(
        key="campaign",
        rule="until_left",
        reenter=True,
        steps=[mark("one"), delay("rest", "PT1S"), mark("two")],
        exit_on=[{"event": LEAVING}],
    ),
    Course(
        key="watches",
        rule="one_at_a_time",
        reenter=True,
        steps=[
            {
                "id": "until", "type": "wait_until", "timeout": "PT3S", "onTrue": "yes", "onTimeout": "no",
                "if": {"field": "customer.done", "op": "eq", "to": "api.payload.coupon"},
            },
            {**mark("yes"), "next": None},
            mark("no"),
        ],
        is_new=True,
    ),
    Course(
        key="delivers",
        rule="one_at_a_time",
        reenter=True,
        steps=[
            {"id": "offer", "type": "in_app", "message": MESSAGE, "expires": "PT1M"},
            {**wait("acted", "in_app.acted", "mark"), "delivery": "offer"},
            mark("mark"),
        ],
        is_new=True,
    ),
    Course(
        key="compares",
        rule="unless_held_out",
        reenter=True,
        steps=[
            {"id": "halves", "type": "split", "paths": [{"weight": 1, "next": None}, {"weight": 1, "next": "rest"}]},
            delay("rest", "PT1S"),
        ],
        goals=[{"key": "saw", "event": "looked", "within": f"PT{GOAL_SECONDS}S"}],
        hold_out=0.3,
        is_new=True,
    ),
    Course(key="on_sign_up", rule="number_at_once", entries=5, event="signed_up"),
    Course(key="on_reported_sign_up", rule="number_at_once", entries=5, event="signed_up", from_bridge=False),
    Course(key="on_rest", rule="always_at_once", reenter=True, event="rested"),
)  # fmt: skip
RELEASED = tuple(course for course in COURSES if not course.is_new)
TRIGGERED = tuple(course.key for course in COURSES if course.event is None)
# What some customers do as soon as they are called into a journey.
FOLLOWED: Mapping[str, Sequence[str]] = {
    "campaign": [LEAVING], "listens_twice": ["signed_up", "looked"], "compares": ["looked"],
}  # fmt: skip
BY_KEY = {course.key: course for course in COURSES}


_CONTENT = {"kind": "banner", "title": "Hello", "buttons": [{"action": "close", "text": "Later"}]}


def plan_of(number: int) -> str:
    return "pro" if number % 3 else "free"


def seed(
    name: str, *, receiver: str, courses: Sequence[Course] = COURSES, beside: Sequence[Course] = ()
) -> dict[str, Any]:
    """What `seed_workspace` makes the workspace of."""
    is_now = courses is COURSES  # the version before knows no feed, and delivers no messages
    customers = [
        {"external_id": f"c-{n}", "email": f"c-{n}@example.com", "attributes": {"plan": plan_of(n)}}
        for n in range(CUSTOMERS)
    ]
    return {
        "workspace": {"key": name, "name": name, **({"feed": True} if is_now else {})},
        "apiKeys": [{"name": "server", "rateLimit": f"{MANY}/m"}],
        "apps": [{"name": "web", "allowedOrigins": [], **({"inApp": "open"} if is_now else {})}],
        "customers": customers,
        "segments": [
            {"key": "first", "name": "First", "members": [f"c-{n}" for n in range(SEGMENT)]},
            {"key": "met", "name": "Met", "conditions": {"field": "customer.met", "op": "eq", "value": True}},
        ],
        **({"messages": [{"key": MESSAGE, "status": "active", "content": _CONTENT}]} if is_now else {}),
        "journeys": [course.seed(receiver) for course in (*courses, *beside)],
    }


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A workspace as its callers know it."""

    name: str
    workspace: str
    key: str
    app: str
    segments: Mapping[str, str]
    journeys: Mapping[str, str]

    @classmethod
    def read(cls, name: str, printed: str) -> "Tenant":
        """From what `seed_workspace --json` printed."""
        seeded = json.loads(printed)
        return cls(
            name=name,
            workspace=seeded["workspaceId"],
            key=seeded["apiKeys"]["server"],
            app=seeded["apps"]["web"],
            segments=seeded["segments"],
            journeys=seeded["journeys"],
        )
