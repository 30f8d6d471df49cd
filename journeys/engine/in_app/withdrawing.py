"""Staff take a delivery back: no page shows it any more."""

from django.db import transaction

from engage.audit.recording import change, record
from engage.database.sql import Statement
from engage.models import AuditEntry
from journeys.models import InAppDelivery

_WITHDRAW = Statement("""
UPDATE journeys_inappdelivery SET state = 'withdrawn', ended_at = now(), because = {because}
WHERE id = {id} AND workspace_id = {workspace_id} AND ended_at IS NULL
""")


def withdraw(delivery: InAppDelivery, *, by: str) -> bool:
    """Withdraws the delivery, and audits that. False if it is over already; then it stays as it is."""
    with transaction.atomic():
        done = _WITHDRAW.execute(id=delivery.pk, workspace_id=delivery.workspace_id, because=f"Withdrawn by {by}.")
        if done:
            record(change(AuditEntry.Action.ENDED, delivery))
    return bool(done)
