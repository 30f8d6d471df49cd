"""`manage.py walk_through`: what a journey would do to a customer, printed as a timeline."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import parse_qsl

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from engage.errors import Refusal
from engage.json.fields import Stored
from engage.json.instants import has_room
from engage.json.reading import read
from engage.json.writing import written
from engage.notations.terminal import printable
from journeys.engine.entering.walk_through import WalkThrough, customer_known_as, journey_known_as, walk_through
from journeys.management.arguments import read_object

_INDENT = " " * 22
_LONGEST_LINE = 80


@dataclass(frozen=True, kw_only=True)
class _Payload:
    """As a call may have it."""

    payload: Annotated[dict[str, Any], Stored()]


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = """\
Print what a journey would do to a customer: whether they would enter it now, and when each step would do what.
Nothing is written and nothing is sent. The steps are those that the journey has now; a webhook is taken to succeed, and
a wait for an event to last until its time-out. The event of an event journey is taken to come from a server.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("journey", metavar="JOURNEY", help="The journey's id or key.")
        parser.add_argument("--customer", required=True, metavar="ID", help="The customer's id or external id.")
        parser.add_argument(
            "--payload",
            metavar="FILE",
            help="The trigger's payload or the event's properties, as JSON; - is standard input.",
        )
        parser.add_argument(
            "--workspace", metavar="KEY", help="The workspace's key, where several have such a journey."
        )
        parser.add_argument("--at", metavar="TIME", help="When the walk begins (ISO 8601); now if it is left out.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now() if options["at"] is None else _instant(options["at"])
        try:
            journey = journey_known_as(name=options["journey"], workspace_key=options["workspace"])
            customer = customer_known_as(workspace_id=journey.workspace_id, name=options["customer"])
            payload = {} if options["payload"] is None else _payload(options["payload"])
            walk = walk_through(journey=journey, customer=customer, payload=payload, now=now)
        except Refusal as refusal:
            raise CommandError(printable(refusal.message)) from None
        told = [_as_json(walk)] if options["json"] else map(printable, _in_words(walk))
        self.stdout.write("\n".join(told))


def _payload(name: str) -> dict[str, Any]:
    return read(_Payload, {"payload": read_object(name)}).payload


def _instant(text: str) -> datetime:
    with suppress(ValueError):
        if (moment := parse_datetime(text)) and has_room(moment):
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    raise CommandError(f"--at must be a time in ISO 8601 such as 2026-11-20T12:00:00Z, not {text[:100]!r}.")


def _rehearsal(walk: WalkThrough) -> Any:
    from journeys.trigger.dry_runs import RehearsalData  # noqa: PLC0415 (loads all views: only once there is an answer)

    return written(RehearsalData.of(walk.rehearsal))


def _as_json(walk: WalkThrough) -> str:
    return json.dumps(
        {
            "workspaceId": walk.journey.workspace_id,
            "journeyId": walk.journey.id,
            "revision": walk.journey.revision,
            "startsJourney": walk.why_not_started is None,
            "entry": written(walk.tried),
            "rehearsal": _rehearsal(walk),
        }
    )


def _in_words(walk: WalkThrough) -> Iterator[str]:
    """Line by line."""
    journey, tried = walk.journey, walk.tried
    known_as = f" ({tried.external_id})" if tried.external_id else ""
    yield f"Journey   {journey.key}, revision {journey.revision} ({journey.id})"
    yield f"Customer  {tried.customer_id}{known_as}"
    yield f"Entry     {walk.why_not_started or f'{tried.result}: {tried.reason}'}"
    yield from (f"          {text}" for text in tried.details)
    rehearsal = _rehearsal(walk)
    if not walk.enters:
        yield ""
        yield "They would not enter. If they did:"
    yield ""
    for step in rehearsal["steps"]:
        yield from _step_in_words(step)
    yield ""
    yield f"End       {rehearsal['end']['state']}: {rehearsal['end']['reason']}"


def _step_in_words(step: Mapping[str, Any]) -> Iterator[str]:
    at = f"{step['at'][:10]} {step['at'][11:19]}"
    yield f"{at}   {step['stepId']} ({step['type']}) {step['state']}: {step['detail']}"
    yield from (f"{_INDENT}{text}" for text in step["because"])
    if request := step["request"]:
        yield f"{_INDENT}{request['method']} {request['url']}"
        yield from (f"{_INDENT}{name}: {value}" for name, value in request["headers"].items())
        if request["body"] is not None:
            yield from _content(request["body"])
    for name, value in (step["writes"] or {}).items():
        yield from _json(f"{name} = ", value)
    if event := step["event"]:
        yield from _json(f"{event['eventName']} ", event["eventProperties"])
    if step["missing"]:
        yield f"{_INDENT}without a value: {', '.join(step['missing'])}"


def _content(body: str) -> Iterator[str]:
    """JSON, or the names and values of a form, of which none is JSON."""
    try:
        yield from _json("", json.loads(body))
    except ValueError:
        for name, value in parse_qsl(body, keep_blank_values=True):
            yield from _json(f"{name} = ", value)


def _json(before: str, value: object) -> Iterator[str]:
    """The value after the text before it, on several lines if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _LONGEST_LINE:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    first, *further = text.split("\n")
    yield f"{_INDENT}{before}{first}"
    yield from (f"{_INDENT}{line}" for line in further)
