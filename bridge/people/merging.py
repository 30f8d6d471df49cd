"""Merging two customers: what each app keeps of the anonymous one becomes the other one's."""

from dataclasses import dataclass

from customers.identity.locks import undisturbed
from customers.identity.lookup import Reference
from customers.identity.merging import MovedProfile, Person, merge_profile, pair_to_merge
from customers.models import Customer
from customers.personal import time_for_all_of
from engage.audit.acting import Actor
from engage.audit.recording import Deed, record
from engage.database.sql import Statement
from engage.errors import Refusal
from engage.models import AuditEntry
from journeys.merging import MovedJourneys, merge_journeys

_MOVE_INTERACTIONS = Statement("""
UPDATE bridge_interaction SET customer_id = {into} WHERE workspace_id = {workspace_id} AND customer_id = {anonymous}
""")


class TooLargeToMerge(Refusal):
    """A page may not have so much moved; a server's `merge` may."""

    status = 409
    error = "Too large to merge"
    says = "The anonymous customer has too many records for this call. A server can merge the two with mergeCustomers."


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What became another customer's, in numbers."""

    profile: MovedProfile
    journeys: MovedJourneys
    interactions: int


def move_all(*, anonymous: Customer, into: Customer, claimed_alias: bool = False, by: Actor | None = None) -> Moved:
    """Merges the anonymous customer into the other one, in the transaction that has locked both, and audits that.

    `claimed_alias`: only a page has said that the user id leads to them.
    """
    record(_deed(anonymous, into), by=by)
    ids = {"workspace_id": into.workspace_id, "anonymous": anonymous.id, "into": into.id}
    return Moved(
        journeys=merge_journeys(**ids),
        interactions=_MOVE_INTERACTIONS.execute(**ids),
        profile=merge_profile(anonymous=anonymous, into=into, claimed_alias=claimed_alias),
    )


def _deed(anonymous: Customer, into: Customer) -> Deed:
    return Deed(
        action=AuditEntry.Action.MERGED,
        workspace_id=into.workspace_id,
        kind="customer",
        id=into.id,
        changes={"customerId": (anonymous.id, into.id)},
    )


def merge_customers(*, workspace_id: str, anonymous: Reference, into: Reference) -> tuple[str, Moved | None]:
    """The id of the customer who `into` is, and what has become theirs; None if the two were one before.

    Raises CustomerNotFound, IdentifierConflict, CustomerErased, LargeWorkInProgress and TooManyAtOnce;
    nothing is then written.
    """

    def merge() -> tuple[str, Moved | None]:
        pair: Person = pair_to_merge(workspace_id=workspace_id, anonymous=anonymous, into=into)
        if pair.anonymous is None:
            return pair.customer.id, None
        with time_for_all_of(workspace_id=workspace_id, customer_id=pair.anonymous.id):
            return pair.customer.id, move_all(anonymous=pair.anonymous, into=pair.customer)

    return undisturbed(merge)
