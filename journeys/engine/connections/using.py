"""Which definitions name what is not in them: those by which somebody may enter, or walks."""

from collections.abc import Iterator
from contextlib import suppress

from django.db.models import Exists, F, OuterRef, Q, TextField
from django.db.models.functions import Cast

from engage.errors import Refusal
from engage.process.budget import OverBudget
from journeys.engine.connections.providers import provider_of
from journeys.models import Connection, Enrollment, Journey, JourneyRevision
from journeys.steps.contacting import ContactingStep
from journeys.steps.definition import Step, parse_steps
from journeys.steps.provider import Provider
from journeys.steps.send import SendStep
from journeys.steps.templated import names_read


def readers_of(*, workspace_id: str, variable: str) -> list[str]:
    """The journeys and connections that read the variable, in words."""
    journeys = {
        f"the journey {key}"
        for key, steps in _in_use(workspace_id, naming="vars")
        if variable in names_read(steps, "vars")
    }
    return sorted(
        journeys
        | {f"the connection {one.key}" for one in _connections(workspace_id) if variable in names_read(one, "vars")}
    )


def _connections(workspace_id: str) -> Iterator[Provider]:
    for connection in Connection.objects.filter(workspace=workspace_id):
        with suppress(Refusal):
            yield provider_of(connection)


def journeys_sending_by(*, workspace_id: str, key: str) -> list[str]:
    """The keys of the journeys that send by the connection."""
    return sorted({journey for journey, _ in _sending(workspace_id, key)})


def journeys_about(workspace_id: str, topic: str) -> list[str]:
    """The journeys that name the topic, themselves or in a step, in words."""
    whole = Journey.objects.filter(workspace=workspace_id, topic=topic).values_list("key", flat=True)
    of_steps = {
        key
        for key, steps in _in_use(workspace_id, naming='"topic"')
        if any(isinstance(step, ContactingStep) and step.topic == topic for step in steps)
    }
    return sorted(f"the journey {key}" for key in of_steps.union(whole))


def journeys_broken_by(provider: Provider, *, workspace_id: str) -> list[str]:
    """What could not be sent any more if the connection were this, in words. Raises OverBudget."""
    broken = set()
    for journey, step in _sending(workspace_id, provider.key):
        try:
            mistakes = step.mistakes(provider.inputs)
        except OverBudget as over:
            raise over.of("inputs", f": to check those of {journey}, step {step.id},") from None
        broken |= {f"{journey}, step {step.id}: {f'{name} ' if name else ''}{why}" for name, why in mistakes}
    return sorted(broken)


def _sending(workspace_id: str, key: str) -> Iterator[tuple[str, SendStep]]:
    for journey, steps in _in_use(workspace_id, naming=SendStep.type):
        yield from ((journey, step) for step in steps if isinstance(step, SendStep) and step.connection == key)


def _in_use(workspace_id: str, *, naming: str) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """The steps of active journeys, and those in which somebody is, by the keys; of those whose text has the word."""
    inside = Enrollment.objects.filter(
        workspace=OuterRef("workspace"), journey=OuterRef("journey"), revision=OuterRef("pk"), state="active"
    )
    revisions = JourneyRevision.objects.annotate(text=Cast("steps", TextField())).filter(
        Q(journey__active=True, number=F("journey__revision")) | Exists(inside),
        workspace=workspace_id,
        text__contains=naming,
    )
    for key, steps in revisions.values_list("journey__key", "steps"):
        with suppress(Refusal):
            yield key, parse_steps(steps, stored=True)
