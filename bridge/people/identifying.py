"""The person behind an anonymous user id has logged in."""

from django.db import transaction

from bridge.caps import count_customer_created
from bridge.identity.problems import IdentityTokenMismatch
from bridge.identity.proof import proven, unproven
from bridge.interactions.recording import RecordedInteraction, insert_interaction
from bridge.models import Interaction
from bridge.people.merging import TooLargeToMerge, move_all
from bridge.requests import BridgeCall
from customers.identity.identifying import Said, identify_person
from customers.identity.locks import undisturbed
from customers.identity.merging import Person, alias_of
from customers.personal import is_large
from customers.watching import looking_once
from engage.audit.acting import Actor
from engage.models import ActorKind, App


def identify(*, app: App, call: BridgeCall, user_id: str) -> list[str]:
    """Whoever is known by the call's identifiers is the person with this user id from now on, in one transaction.

    The answer names the fields of the identifiers that the page's person has not had before. An identity token has to
    cover the call's identifiers, and the user id as well if the app denies anonymous people.

    Raises the refusals of identity tokens, IdentifierConflict, CustomerErased, CustomersCreatedLimitExceeded,
    AppQuotaExceeded, TooLargeToMerge and TooManyAtOnce; nothing is then written.
    """
    call, said = proven_words(app=app, call=call, user_id=user_id)
    return undisturbed(lambda: _identify(app, call, said))


def proven_words(*, app: App, call: BridgeCall, user_id: str) -> tuple[BridgeCall, Said]:
    """The call, marked with what is proven, and what it says. Raises the refusals of identity tokens."""
    call = proven(app=app, call=call, attributes=None)
    said = Said(workspace_id=app.workspace_id, user_id=user_id, known_by=call.known_by, proven=call.proven)
    if call.is_proven and app.anonymous == App.Anonymous.DENY and not said.proves("user_id"):
        call = unproven(app=app, call=call, refusal=IdentityTokenMismatch("userId"))
    return call, said


def _identify(app: App, call: BridgeCall, said: Said) -> list[str]:
    with looking_once():
        identified = identify_person(said)
        person = identified.person
        if person.created:
            count_customer_created(app_id=app.id, address=call.address)
        _merge(person, app, said)
    recorded = RecordedInteraction(
        kind=Interaction.Kind.IDENTIFY, created_customer=person.created and person.anonymous is None
    )
    insert_interaction(recorded, app=app, call=call, customer_id=person.customer.id)
    if not identified.kept:
        transaction.set_rollback(True)
    return identified.added


def _merge(person: Person, app: App, said: Said) -> None:
    if person.anonymous is None:
        return
    if is_large(workspace_id=app.workspace_id, customer_id=person.anonymous.id):
        raise TooLargeToMerge
    by_page = Actor(kind=ActorKind.STRANGER, id=app.id)  # whoever calls with it
    handover = alias_of(person.anonymous, claimed=not said.proves("user_id"))
    move_all(anonymous=person.anonymous, into=person.customer, handover=handover, by=by_page)
