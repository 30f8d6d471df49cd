"""What journeys keep of a customer, for exports and for the receipts of erasures."""

from typing import Any

from customers.personal import OWN, Kept
from journeys.operations.redaction import url_without_secrets

_ENROLLMENT = "JOIN journeys_enrollment enrollment ON enrollment.id = {of}.enrollment_id"
_ITS_CUSTOMER = "enrollment.workspace_id = {workspace_id} AND enrollment.customer_id = {customer_id}"


def _without_credentials(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"url": url_without_secrets(row["url"])}


PERSONAL = {
    # They outlive the customer, as records of ids.
    "jobs": Kept(
        rows=f"FROM journeys_enrollmentjob kept JOIN journeys_trigger trigger ON trigger.id = kept.trigger_id "
        f"WHERE {OWN}",
        # What was sent for many says nothing of one of them, but in what was rendered from it; what for one alone does.
        more="'queued_at', trigger.queued_at, 'payload', "
        "CASE WHEN trigger.customers = 1 THEN trigger.payload || coalesce(kept.payload, '{}') ELSE kept.payload END",
        erased=False,
    ),
    "enrollments": Kept(rows=f"FROM journeys_enrollment kept WHERE {OWN}", order="kept.entered_at, kept.id"),
    "steps": Kept(
        rows=f"FROM journeys_steprun kept {_ENROLLMENT.format(of='kept')} WHERE {_ITS_CUSTOMER}",
        order="kept.enrollment_id, kept.ordinal",
    ),
    "webhooks": Kept(
        rows=f"FROM journeys_webhookdelivery kept {_ENROLLMENT.format(of='kept')} WHERE {_ITS_CUSTOMER}",
        order="kept.enrollment_id, kept.ordinal",
        hidden=("headers",),  # the receiver's credentials
        tidy=_without_credentials,
    ),
    "webhookAttempts": Kept(
        rows=f"FROM journeys_webhookattempt kept JOIN journeys_webhookdelivery sent ON sent.id = kept.delivery_id "
        f"{_ENROLLMENT.format(of='sent')} WHERE {_ITS_CUSTOMER}",
    ),
    "goals": Kept(rows=f"FROM journeys_goalwatch kept WHERE {OWN}"),
    "holdOuts": Kept(rows=f"FROM journeys_draw kept WHERE {OWN}"),
    "inAppDeliveries": Kept(rows=f"FROM journeys_inappdelivery kept WHERE {OWN}"),
    "unmatchedCalls": Kept(
        rows="FROM journeys_unknownexternalid kept JOIN ("
        "SELECT workspace_id, external_id FROM customers_customer WHERE id = {customer_id} "
        "UNION SELECT workspace_id, external_id FROM customers_alias WHERE customer_id = {customer_id}"
        ") AS named USING (workspace_id, external_id) WHERE named.workspace_id = {workspace_id}",
    ),
}
