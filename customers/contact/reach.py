"""Which addresses are not written to. Of each there is a keyed digest, so that it outlives whoever had it."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping

from django.db import transaction

from customers.contact.deciding import Reach
from customers.identifier_rules import comparable_email, one_spelling, stored_phone
from customers.models import Consent, ContactRules, Customer, Suppression
from engage.audit.facts import changes_between, facts_of
from engage.audit.recording import change, record, saved
from engage.database.known_values import known_value
from engage.database.object_ids import row_with_id
from engage.database.parts import Part
from engage.database.sql import Rows, Statement
from engage.errors import Refusal
from engage.models import AuditEntry

# Each is given what is suppressed from now on, in the transaction that suppresses it; as ledger.CHANGED.
SUPPRESSED: list[Callable[[Suppression], None]] = []
SOFT_BOUNCES = 5  # in a row, without a delivery between them
_LONGEST_MASKED = 100
_WORST_FIRST = ("erased", "manual", "hard_bounce", "invalid", "complaint", "soft_bounce")


def spelled(channel: str, address: str, *, country: str = "") -> str:
    """The address as identifiers are compared: one that is spelled in two ways is one."""
    if channel == "email":
        return comparable_email(one_spelling(address))
    return stored_phone(address, country) if channel == "sms" else one_spelling(address.strip())


def masked(channel: str, address: str) -> str:
    """What staff and callers are shown of it: `a…@example.com`, `…4567`."""
    if channel == "email":
        name, _, domain = address.rpartition("@")
        return f"{name[:1]}…@{domain}"[:_LONGEST_MASKED]
    return f"…{address[-4:]}"


def rules_of(workspace_id: str) -> ContactRules:
    """The workspace's policy and the key of its digests, which is drawn for the first one who asks."""
    drawn = {"digest_key": secrets.token_hex(32)}
    return ContactRules.objects.get_or_create(workspace_id=workspace_id, defaults=drawn)[0]


def digest_of(key: str, channel: str, address: str) -> str:
    """Of an address that is `spelled`. Keyed: addresses may be few enough to try them all."""
    return hmac.new(key.encode(), f"{channel} {address}".encode(), hashlib.sha256).hexdigest()


_REACH = Statement(
    """
SELECT suppressed.channel, suppressed.digest, suppressed.reason FROM {asked}
JOIN customers_suppression suppressed ON suppressed.workspace_id = {workspace_id}
    AND suppressed.channel = asked.channel AND suppressed.digest = asked.digest
WHERE suppressed.reason <> 'soft_bounce' OR suppressed.soft_bounces >= {soft_bounces}
""",
    asked=Rows("asked", {"channel": "text", "digest": "text"}),
)


def reach_of(*, workspace_id: str, addresses: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], frozenset[Reach]]:
    """Why each of these (channel, address as it is spelled) is not written to, in one statement; those that are, lack.

    A workspace that suppresses nothing has no key, and is not asked for it.
    """
    asked = sorted(set(addresses))
    rules = ContactRules.objects.filter(workspace_id=workspace_id).first() if asked else None
    if rules is None:
        return {}
    known = {(channel, digest_of(rules.digest_key, channel, address)): (channel, address) for channel, address in asked}
    rows = _REACH.rows(asked=sorted(known), workspace_id=workspace_id, soft_bounces=SOFT_BOUNCES)
    return {
        known[channel, digest]: frozenset({known_value(Reach, reason) or Reach.MANUAL})
        for channel, digest, reason in rows
    }


def suppress(
    *, workspace_id: str, channel: str, address: str, reason: Suppression.Reason, note: str = ""
) -> Suppression:
    """Writes no more to the address; what was known of it before gives way, unless that is worse."""
    key = rules_of(workspace_id).digest_key
    found, made = Suppression.objects.get_or_create(
        workspace_id=workspace_id,
        channel=channel,
        digest=digest_of(key, channel, address),
        defaults={"masked": masked(channel, address), "reason": reason, "note": note},
    )
    if not made and found.reason in _WORST_FIRST[_WORST_FIRST.index(reason) + 1 :]:
        found.reason, found.note = reason, note
        found.save(update_fields=["reason", "note"])
    for tell in SUPPRESSED:
        tell(found)
    return found


def keep_opt_outs(customer: Customer) -> int:
    """Before they are erased: the addresses by which they have opted out of anything are suppressed from now on.

    How many of their addresses are. Of whom nothing is known there is nothing else to do.
    """
    own = {"email": customer.email, "sms": customer.phone}
    has = {"workspace_id": customer.workspace_id, "customer": customer, "state": Consent.State.UNSUBSCRIBED}
    left = Consent.objects.filter(**has).values_list("channel", flat=True).distinct()
    for channel in left:
        if address := own.get(channel):
            erased = Suppression.Reason.ERASED
            found = suppress(workspace_id=customer.workspace_id, channel=channel, address=address, reason=erased)
            if found.reason == erased:
                Suppression.objects.filter(id=found.id).update(masked="…")
    addresses = [(channel, address) for channel, address in own.items() if address]
    return len(reach_of(workspace_id=customer.workspace_id, addresses=addresses))


class SuppressionNotFound(Refusal):
    """The workspace suppresses no such address."""

    status = 404
    error = "Suppression not found"
    says = "This workspace has no such suppression."


@transaction.atomic
def suppress_by_hand(
    *, workspace_id: str, channel: str, address: str, reason: Suppression.Reason, note: str
) -> tuple[bool, Suppression]:
    """The same as a caller or staff do it, which is audited: whether it is new, and the row."""
    key = digest_of(rules_of(workspace_id).digest_key, channel, address)
    before = Suppression.objects.filter(workspace_id=workspace_id, channel=channel, digest=key).first()
    row = suppress(workspace_id=workspace_id, channel=channel, address=address, reason=reason, note=note)
    record(*saved(row, before=None if before is None else facts_of(before), after=facts_of(row)))
    return before is None, row


@transaction.atomic
def write_again(*, workspace_id: str, suppression_id: str) -> None:
    """Takes a suppression away, which is audited. Raises SuppressionNotFound."""
    rows = Suppression.objects.select_for_update().filter(workspace_id=workspace_id)
    row = row_with_id(rows, suppression_id)
    if row is None:
        raise SuppressionNotFound
    gone = change(AuditEntry.Action.DELETED, row, changes=changes_between(facts_of(row), {}))
    row.delete()
    record(gone)


def suppressions_part(*, workspace_id: str, after: str, limit: int) -> Part[Suppression]:
    """The workspace's, the latest first."""
    rows = Suppression.objects.filter(workspace_id=workspace_id).order_by("-id")
    found = list((rows.filter(id__lt=after) if after else rows)[: limit + 1])
    return Part(rows=found[:limit], last=found[limit - 1].id if len(found) > limit else None)
