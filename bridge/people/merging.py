"""Merging two customers: what each app keeps of the anonymous one becomes the other one's."""

from dataclasses import dataclass
from typing import Annotated

from customers.identity.locks import undisturbed
from customers.identity.lookup import Reference
from customers.identity.merging import Person, merge_profile, pair_to_merge
from customers.models import Customer
from customers.personal import time_for_all_of
from engage.audit.acting import Actor
from engage.audit.recording import Change, record
from engage.database.object_ids import ObjectId
from engage.database.sql import Statement
from engage.errors import Refusal
from engage.models import AuditEntry
from journeys.merging import merge_journeys

_MOVE_INTERACTIONS = Statement("""
UPDATE bridge_interaction SET customer_id = {into} WHERE workspace_id = {workspace_id} AND customer_id = {anonymous}
""")


class TooLargeToMerge(Refusal):
    """A page may not have so much moved; a server's `merge` may."""

    status = 409
    error = "Too large to merge"
    says = "The anonymous customer has too many records for this call. A server can merge the two with mergeCustomers."


@dataclass(frozen=True, kw_only=True)
class MovedNumbers:
    """How much of the anonymous customer has become the other one's."""

    events: int = 0
    interactions: int = 0
    attributes: Annotated[int, "The number of attributes that the other one lacked and has room for."] = 0
    segments: Annotated[int, "The number of segments to which the other one did not belong."] = 0
    jobs: int = 0
    jobs_cancelled: Annotated[
        int, "The number of queued jobs whose call had queued both, or excludes the other one."
    ] = 0
    enrollments: int = 0
    enrollments_exited: Annotated[
        int, "The number of enrollments that ended because the other one is in that journey."
    ] = 0


@dataclass(frozen=True, kw_only=True)
class CustomersMerged:
    """The result of a merge."""

    customer_id: Annotated[ObjectId, "The id of the customer who remains."]
    merged: Annotated[bool, "False if the two were one customer already."]
    moved: MovedNumbers = MovedNumbers()


def move_all(
    *, anonymous: Customer, into: Customer, claimed_alias: bool = False, by: Actor | None = None
) -> MovedNumbers:
    """Merges the anonymous customer into the other one, in the transaction that has locked both, and audits that.

    `claimed_alias`: only a page has said that the user id leads to them.
    """
    record(_deed(anonymous, into), by=by)
    ids = {"workspace_id": into.workspace_id, "anonymous": anonymous.id, "into": into.id}
    journeys = merge_journeys(**ids)
    interactions = _MOVE_INTERACTIONS.execute(**ids)
    profile = merge_profile(anonymous=anonymous, into=into, claimed_alias=claimed_alias)
    return MovedNumbers(
        events=profile.events,
        interactions=interactions,
        attributes=profile.attributes,
        segments=profile.segments,
        jobs=journeys.jobs,
        jobs_cancelled=journeys.cancelled,
        enrollments=journeys.enrollments,
        enrollments_exited=journeys.exited,
    )


def _deed(anonymous: Customer, into: Customer) -> Change:
    return Change(
        action=AuditEntry.Action.MERGED,
        workspace_id=into.workspace_id,
        kind="customer",
        id=into.id,
        changes={"customerId": (anonymous.id, into.id)},
    )


def merge_customers(*, workspace_id: str, anonymous: Reference, into: Reference) -> CustomersMerged:
    """Makes one customer of the two, if they are not one already.

    Raises CustomerNotFound, IdentifierConflict, CustomerErased, LargeWorkInProgress and TooManyAtOnce;
    nothing is then written.
    """

    def merge() -> CustomersMerged:
        pair: Person = pair_to_merge(workspace_id=workspace_id, anonymous=anonymous, into=into)
        if pair.anonymous is None:
            return CustomersMerged(customer_id=pair.customer.id, merged=False)
        with time_for_all_of(workspace_id=workspace_id, customer_id=pair.anonymous.id):
            moved = move_all(anonymous=pair.anonymous, into=pair.customer)
            return CustomersMerged(customer_id=pair.customer.id, merged=True, moved=moved)

    return undisturbed(merge)
