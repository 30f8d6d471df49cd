"""A misspelt filter must not answer everybody: what a call does not know in its query string is refused."""

from dataclasses import replace

from engage.calls.call import Call
from tests.abuse.calls import good_calls
from tests.abuse.service import Service
from tests.support.cases import each

OPERATIONS = [call.operation for call in good_calls({})]
# Those of 1.0.0: what they never looked at, clients may send. Of these, only what is read in pages refuses it now.
OF_1_0_0 = frozenset({
    "abortJourney", "activateJourney", "cancelJob", "cancelTrigger", "captureForm", "changeSegmentMembers",
    "closeJourney", "deleteMessage", "eraseCustomer", "exitEnrollment", "exportCustomer", "findCustomer",
    "getCustomer", "getCustomerJourneys", "getEnrollment", "getJob", "getJourneyGraph", "getJourneyStats", "getMe",
    "getMessage", "getTrigger", "holdJourney", "identify", "listAudit", "listMessages", "listTriggerJobs",
    "mergeCustomers", "putCustomer", "putCustomers", "putMessage", "recordAction", "recordCalls", "reportEvents",
    "resumeJourney", "triggerJourney",
})  # fmt: skip


@each("operation", OPERATIONS)
def test_an_unknown_name_is_told_with_those_that_there_are(service: Service, operation: str) -> None:
    known = {call.operation_id: call.parameter_names for call in Call.all()}[operation]
    good = service.calls[operation]
    answer = service.answer(replace(good, query=f"{good.query or '?'}&segmentId=vip"))
    if operation in OF_1_0_0 and "limit" not in known:
        assert answer.succeeded, answer
        return
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_parameter")
    message = answer.json()["message"]
    assert message.startswith("segmentId is not known; ")
    assert all(name in message for name in known or ["nothing may stand here"])


@each("operation", OPERATIONS)
def test_each_name_that_is_described_is_known(service: Service, operation: str) -> None:
    """With a value or without a good one: the call may object to that, not to the name."""
    for name in {call.operation_id: call.parameter_names for call in Call.all()}[operation]:
        answer = service.answer(replace(service.calls[operation], query=f"?{name}=1"))
        assert answer.succeeded or answer.json()["code"] != "unknown_parameter", answer
