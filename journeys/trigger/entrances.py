"""The call that exits an entrance."""

from dataclasses import dataclass
from typing import Annotated

from customers.identity.lookup import CustomerNotFound, Reference, customer_named
from engage.calls.asked import Asked
from engage.calls.call import PathId, post
from engage.errors import InvalidRequest
from engage.json.fields import Spelled, Text
from engage.json.storable import unstorable
from engage.scopes import Scope
from journeys.engine.steering.entrances import ExitedEntrance, exit_entrance
from journeys.faces.path_ids import ANY_JOURNEY
from journeys.models import Journey

_ANY = Text(longest=None, blank_is_absent=True)
_ENTRANCE_ID = PathId(
    name="entranceId",
    description="The `entranceId` that the calls named, percent-encoded.",
    example="order-1042",
    may_hold_slashes=True,
)


@dataclass(frozen=True, kw_only=True)
class ExitEntranceBody:
    """Whose entrance is exited: everybody's who has it, or one customer's."""

    external_id: Annotated[
        str | None, "The customer's id in your own system.", _ANY, Spelled("external_id", also="externalId")
    ] = None
    customer_id: Annotated[str | None, "The customer's id in this service. It comes first.", _ANY] = None


@post(
    path="journeys/{workspaceId}/{journeyId}/entrances/{entranceId}/exit",
    scope=Scope.TRIGGER,
    policy="lookup",
    tag="Journeys",
    ids=[ANY_JOURNEY, _ENTRANCE_ID],
    says="The entrance is exited.",
    answer="What was cancelled and who has left.",
    optional_body=True,
    requests={"Of everybody": {}, "Of one customer": {"external_id": "ada"}},
    examples={
        "One queued, one inside": ExitedEntrance(
            journey_id=ANY_JOURNEY.example, entrance_id="order-1042", cancelled=1, exited=1
        )
    },
    refuses=[CustomerNotFound(named="external_id")],
)
def exit_journey_entrance(asked: Asked[ExitEntranceBody, None], journey: Journey, entrance_id: str) -> ExitedEntrance:
    """Exit an entrance

    Cancels the queued jobs that have this `entranceId`, and ends the enrollments of those who have entered by one: of
    all customers who have it, or of one. No step follows the answer. What is queued afterwards is not affected. Calling
    again does nothing more, unless the answer says `more`: of very many, a call takes as many as it has time for.
    """
    body, customer_id = asked.body, None
    if unstorable(entrance_id):
        raise InvalidRequest("entranceId holds what is no text.")
    if body.customer_id is not None or body.external_id is not None:
        name, value = ("id", body.customer_id) if body.customer_id is not None else ("external_id", body.external_id)
        named = Reference(name, str(value))
        customer_id = customer_named(workspace_id=asked.workspace_id, reference=named).id
    return exit_entrance(journey, entrance=entrance_id, customer_id=customer_id)
