"""The person behind an anonymous user id has logged in."""

from bridge.caps import count_customer_created
from bridge.identity.proof import proven
from bridge.interactions import RecordedInteraction, insert_interaction
from bridge.models import Interaction
from bridge.people.merging import move_all
from bridge.requests import BridgeCall
from customers.merging import identify_person
from customers.upsert import undisturbed
from engage.models import App


def identify(*, app: App, call: BridgeCall, user_id: str) -> None:
    """Whoever is known by the call's identifiers is the person with this user id from now on, in one transaction.

    An identity token has to cover the call's identifiers; the anonymous user id is a secret between page and service.

    Raises the refusals of identity tokens, IdentifierConflict, CustomerErased, CustomersCreatedLimitExceeded,
    AppQuotaExceeded and TooManyAtOnce; nothing is then written.
    """
    call = proven(app=app, call=call, attributes=None)
    undisturbed(lambda: _identify(app, call, user_id))


def _identify(app: App, call: BridgeCall, user_id: str) -> None:
    person = identify_person(workspace_id=app.workspace_id, user_id=user_id, known_by=call.known_by)
    if person.created:
        count_customer_created(app_id=app.id, address=call.address)
    if person.anonymous:
        move_all(anonymous=person.anonymous, into=person.customer)
    recorded = RecordedInteraction(
        kind=Interaction.Kind.IDENTIFY, created_customer=person.created and person.anonymous is None
    )
    insert_interaction(recorded, app=app, call=call, customer_id=person.customer.id)
