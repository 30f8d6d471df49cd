"""`code` is stable: programs rely on it. The tests' clients hold each answer to the document, and this the document."""

from collections.abc import Iterator

from engage.resources.resource import Resource
from tests.support.conformance import at, escaped, target

CODES = {
    "app_quota_exceeded": (429, "Rate limit exceeded"),
    "array_size_exceeded": (400, "Array size exceeded"),
    "body_too_large": (413, "Body too large"),
    "breaks_journeys": (409, "Breaks journeys"),
    "connection_in_use": (409, "Connection in use"),
    "cursor_from_another_history": (409, "Cursor from another history"),
    "customer_erased": (410, "Customer erased"),
    "customer_not_found": (404, "Customer not found"),
    "customers_created_limit_exceeded": (429, "Rate limit exceeded"),
    "definition_invalid": (422, "Definition invalid"),
    "delivery_not_found": (404, "Delivery not found"),
    "enrollment_already_ended": (409, "Enrollment already ended"),
    "enrollment_not_found": (404, "Enrollment not found"),
    "error_resolving_segments": (400, "Error resolving segments"),
    "feed_off": (409, "Feed off"),
    "idempotency_key_reused": (422, "Idempotency key reused"),
    "identifier_conflict": (409, "Identifier conflict"),
    "identifier_needed": (409, "Identifier needed"),
    "identity_token_expired": (401, "Identity not proven"),
    "identity_token_invalid": (401, "Identity not proven"),
    "identity_token_mismatch": (401, "Identity not proven"),
    "identity_token_missing": (401, "Identity not proven"),
    "internal_error": (500, "Internal error"),
    "invalid_action_type": (400, "Invalid action type"),
    "invalid_app_id": (401, "Invalid app id"),
    "invalid_gzip": (400, "Invalid request"),
    "invalid_journey": (400, "Invalid journey"),
    "invalid_journey_type": (400, "Invalid journey type"),
    "invalid_json": (400, "Invalid request"),
    "invalid_message": (400, "Invalid message"),
    "invalid_request": (400, "Invalid request"),
    "invalid_submit_action": (400, "Invalid submit action"),
    "job_already_decided": (409, "Job already decided"),
    "job_not_found": (404, "Job not found"),
    "journey_aborted": (409, "Journey aborted"),
    "journey_not_allowed": (403, "Journey not allowed"),
    "message_not_registered": (403, "Message not registered"),
    "missing_required_parameter": (400, "Missing required parameter"),
    "network_not_allowed": (401, "Network not allowed"),
    "not_acceptable": (406, "Not acceptable"),
    "not_in_message": (422, "Not in the message"),
    "not_found": (404, "Not found"),
    "origin_not_allowed": (403, "Origin not allowed"),
    "payload_invalid": (422, "Payload invalid"),
    "precondition_failed": (412, "Precondition failed"),
    "precondition_required": (428, "Precondition required"),
    "rate_limit_exceeded": (429, "Rate limit exceeded"),
    "request_in_progress": (409, "Request in progress"),
    "scope_missing": (403, "Scope missing"),
    "secret_needed": (422, "Secret needed"),
    "service_unavailable": (503, "Service unavailable"),
    "subscription_exists": (409, "Subscription exists"),
    "large_work_in_progress": (503, "Service unavailable"),
    "too_large_to_merge": (409, "Too large to merge"),
    "too_many_at_once": (503, "Service unavailable"),
    "revision_not_found": (404, "Revision not found"),
    "unknown_parameter": (400, "Invalid request"),
    "trigger_not_found": (404, "Trigger not found"),
    "unauthorized": (401, "Unauthorized"),
    "unsupported_media_type": (415, "Unsupported media type"),
    "contact_policy_not_found": (404, "Contact policy not found"),
    "suppression_not_found": (404, "Suppression not found"),
    "topic_in_use": (409, "Topic in use"),
    "variable_in_use": (409, "Variable in use"),
    "workspace_not_found": (404, "Workspace not found"),
}


def _described() -> Iterator[tuple[str, tuple[int, str]]]:
    for path, operations in at("/paths").items():
        for method, operation in operations.items():
            for status in operation["responses"]:
                response = at(target(f"/paths/{escaped(path)}/{method}/responses/{status}"))
                for either in (
                    response.get("content", {}).get("application/json", {"schema": {}})["schema"].get("anyOf", [])
                ):
                    kind = {name: described["const"] for name, described in either["properties"].items()}
                    yield kind["code"], (int(status), kind["error"])


def test_every_code_has_its_status_and_its_title() -> None:
    kinds = [kind.noun for kind in Resource.all() if not kind.only]
    of_kinds = {f"{noun}_not_found": (404, f"{noun.capitalize()} not found") for noun in kinds}
    assert dict(_described()) == CODES | of_kinds
