"""Merging two customers: what each app keeps of the anonymous one becomes the other one's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from django.db import transaction
from django.utils import timezone

from customers.contact.consent import State
from customers.contact.ledger import Change as Will
from customers.contact.ledger import unite
from customers.identifier_rules import SPELLINGS
from customers.identity.locks import undisturbed
from customers.identity.lookup import Reference
from customers.identity.merging import Handover, alias_of, hand_over, merge_profile, pair_to_merge, people_to_merge
from customers.models import Customer
from customers.personal import move_rows, time_for_all_of
from engage.audit.acting import Actor
from engage.audit.recording import Change, record
from engage.database.object_ids import ObjectId
from engage.errors import Refusal
from engage.json.fields import LEFT_OUT
from engage.models import AuditEntry
from journeys.engine.merging import merge_journeys


class TooLargeToMerge(Refusal):
    """A page may not have so much moved; a server's `merge` may."""

    status = 409
    error = "Too large to merge"
    says = "The anonymous customer has too many records for this call. A server can merge the two with mergeCustomers."


@dataclass(frozen=True, kw_only=True)
class MovedNumbers:
    """How much of the customer who was merged has become the other one's."""

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
class Lost:
    """What of the customer who was merged is nobody's any more."""

    attributes: Annotated[
        Sequence[str], "Names of attributes of which the other one has another value, or no room."
    ] = ()
    identifiers: Annotated[
        Sequence[str], "Names of identifiers of either that only a message had claimed: no server stands by them."
    ] = ()
    consents: Annotated[
        Sequence[str] | None,
        "What the other one wanted to be written about (`offers.email`) and is not any more: the stricter of two wills "
        "counts.",
        LEFT_OUT,
    ] = None


@dataclass(frozen=True, kw_only=True)
class CustomersMerged:
    """The result of a merge."""

    customer_id: Annotated[ObjectId, "The id of the customer who remains."]
    merged: Annotated[bool, "False if the two were one customer already."]
    moved: MovedNumbers = MovedNumbers()
    identifiers: Annotated[Sequence[str], "Names of the identifiers that the other one lacked and has now."] = ()
    aliases: Annotated[Sequence[str], "Names of the identifiers that lead to the other one, who has others."] = ()
    lost: Lost = Lost()


def move_all(*, anonymous: Customer, into: Customer, handover: Handover, by: Actor | None = None) -> CustomersMerged:
    """Merges the first customer into the other one, in the transaction that has locked both, and audits that."""
    record(_deed(anonymous, into), by=by)
    ids = {"workspace_id": into.workspace_id, "anonymous": anonymous.id, "into": into.id}
    journeys = merge_journeys(**ids)
    rows = move_rows(workspace_id=into.workspace_id, customer_id=anonymous.id, into=into.id)
    both = {"workspace_id": into.workspace_id, "former_id": anonymous.id, "into_id": into.id}
    wills = unite(**both, now=timezone.now()) if rows["consentActs"] else []
    profile = merge_profile(anonymous=anonymous, into=into, handover=handover)
    moved = MovedNumbers(
        events=rows["events"],
        interactions=rows["interactions"],
        attributes=len(profile.attributes),
        segments=profile.segments,
        jobs=journeys.jobs,
        jobs_cancelled=journeys.cancelled,
        enrollments=journeys.enrollments,
        enrollments_exited=journeys.exited,
    )
    given, aliases, lost = (
        [SPELLINGS[name] for name in SPELLINGS if name in names]
        for names in (handover.given, handover.aliases, handover.lost)
    )
    return CustomersMerged(
        customer_id=into.id,
        merged=True,
        moved=moved,
        identifiers=given,
        aliases=aliases,
        lost=Lost(attributes=profile.lost, identifiers=lost, consents=_stricter(wills) or None),
    )


def _stricter(wills: Sequence[Will]) -> list[str]:
    """What they were subscribed to, and are not any more."""
    lost = [one for one in wills if one.before.state is State.SUBSCRIBED is not one.after.state]
    return sorted(f"{one.about.topic}.{one.about.channel}" for one in lost)


def _deed(anonymous: Customer, into: Customer) -> Change:
    return Change(
        action=AuditEntry.Action.MERGED,
        workspace_id=into.workspace_id,
        kind="customer",
        id=into.id,
        changes={"customerId": (anonymous.id, into.id)},
    )


def merge_customers(
    *, workspace_id: str, anonymous: Reference, into: Reference, are_known: bool = False, dry_run: bool = False
) -> CustomersMerged:
    """Makes one customer of the two, if they are not one already.

    `are_known`: both may have any identifiers; else the first one has to be anonymous. A dry run is taken back.
    Raises CustomerNotFound, IdentifierConflict, CustomerErased, LargeWorkInProgress and TooManyAtOnce; nothing is then
    written.
    """

    def merge() -> CustomersMerged:
        former, known, handover = pair(workspace_id, anonymous, into)
        if former is None:
            merged = CustomersMerged(customer_id=known.id, merged=False)
        else:
            with time_for_all_of(workspace_id=workspace_id, customer_id=former.id):
                merged = move_all(anonymous=former, into=known, handover=handover)
        if dry_run:
            transaction.set_rollback(True)
        return merged

    pair = _known_pair if are_known else _anonymous_pair
    return undisturbed(merge)


_Pair = tuple[Customer | None, Customer, Handover]


def _anonymous_pair(workspace_id: str, anonymous: Reference, into: Reference) -> _Pair:
    person = pair_to_merge(workspace_id=workspace_id, anonymous=anonymous, into=into)
    return person.anonymous, person.customer, alias_of(person.anonymous)


def _known_pair(workspace_id: str, customer: Reference, into: Reference) -> _Pair:
    former, known = people_to_merge(workspace_id=workspace_id, customer=customer, into=into)
    handover = hand_over(former, known, named=customer.field, into_named=into.field)
    return (None if former.id == known.id else former), known, handover
