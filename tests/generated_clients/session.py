"""A whole session with the client that openapi-python-client makes. At the end it prints every refusal that it got."""

import json
import os
import sys
import time
import uuid
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar

from engage_client import AuthenticatedClient
from engage_client.api.access import get_me
from engage_client.api.customers import (
    change_segment_members,
    erase_customer,
    find_customer,
    get_customer,
    get_customer_journeys,
    list_customer_deliveries,
    list_customer_events,
    list_customers,
    list_segment_members,
    merge_customers,
    put_customer,
    put_customers,
    report_events,
)
from engage_client.api.definitions import (
    create_subscription,
    delete_subscription,
    get_subscription,
    list_journeys,
    list_segments,
    list_subscription_deliveries,
    list_subscriptions,
    put_journey,
    put_subscription,
    resume_paused_subscription,
    try_out_subscription,
)
from engage_client.api.feed import read_feed
from engage_client.api.in_app_messages import capture_form, identify, record_action, record_calls
from engage_client.api.journeys import (
    cancel_job,
    cancel_trigger,
    exit_enrollment,
    exit_journey_entrance,
    get_enrollment,
    get_job,
    get_trigger,
    hold_journey,
    list_enrollments,
    list_trigger_jobs,
    resume_journey,
    trigger_journey,
)
from engage_client.api.messages import delete_message, get_message, list_messages, patch_message, put_message
from engage_client.models import (
    ActionAnswer,
    ActionData,
    ActionRequest,
    ActionRequestActionType,
    BatchRequest,
    BatchResultAnswer,
    CallsAnswer,
    CallsRequest,
    CancelledTriggerAnswer,
    CancelTriggerRequest,
    CaptureRequest,
    CustomerAnswer,
    CustomerDeliveriesAnswer,
    CustomerErasedAnswer,
    CustomerJourneysAnswer,
    CustomerPutAnswer,
    CustomerRequest,
    CustomersMergedAnswer,
    CustomersPageAnswer,
    DefinitionDeletedAnswer,
    EnrollmentAnswer,
    EnrollmentHistoryAnswer,
    EnrollmentsPageAnswer,
    EventItem,
    EventsAnswer,
    EventsPageAnswer,
    EventsRequest,
    ExitedEntranceAnswer,
    ExitEntranceRequest,
    ExitRequest,
    Failure,
    FeedPageAnswer,
    FormCapturedAnswer,
    IdentifiedAnswer,
    IdentifyRequest,
    JobAnswer,
    JourneyRequest,
    JourneysPageAnswer,
    JsonObject,
    ListCustomersIdentifier,
    ListedSubscriptionsAnswer,
    ListEnrollmentsState,
    MeAnswer,
    MembersChangedAnswer,
    MembersPageAnswer,
    MembersRequest,
    MergeAnonymous,
    MergeInto,
    MergeRequest,
    MessageAnswer,
    MessageDeletedAnswer,
    MessageRequest,
    MessagesPageAnswer,
    Moving,
    PatchedMessageRequest,
    PushesPageAnswer,
    PutDefinitionAnswer,
    ResumedSubscriptionAnswer,
    ResumeRequest,
    SegmentsPageAnswer,
    SteeringAnswer,
    SteerRequest,
    StoredDefinitionAnswer,
    SubmitAction,
    SubmitActionType,
    SubscriptionRequest,
    TestSentAnswer,
    TriggerAnswer,
    TriggerJobsAnswer,
    TriggerRequest,
    TriggerStateAnswer,
)
from engage_client.types import Response

Wanted = TypeVar("Wanted")

WORLD: dict[str, str] = json.loads(os.environ["WORLD"])
WORKSPACE, JOURNEY, SEGMENT, NOTHING = WORLD["workspaceId"], WORLD["journeyId"], WORLD["segmentId"], "0" * 24
refusals: dict[str, int] = {}


def server(key: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=WORLD["url"], token=key, raise_on_unexpected_status=True)


def sdk(app: str) -> AuthenticatedClient:
    """An SDK sends its app's id as it is, in a header of its own."""
    return AuthenticatedClient(
        base_url=WORLD["url"], token=app, prefix="", auth_header_name="X-App-Id", raise_on_unexpected_status=True
    )


def done(response: Response[Any], kind: type[Wanted], *, status: int = 200) -> Wanted:
    assert response.status_code == status, response
    assert isinstance(response.parsed, kind), response
    return response.parsed


def refused(response: Response[Any]) -> Failure:
    failure = response.parsed
    assert isinstance(failure, Failure), response
    assert failure.success is False
    assert failure.request_id == response.headers["X-Request-Id"]
    refusals[failure.code] = int(HTTPStatus(response.status_code))
    return failure


def json_object(**values: Any) -> JsonObject:
    return JsonObject.from_dict(values)


api = server(WORLD["key"])

# Customers -----------------------------------------------------------------------------------------------------------

created = put_customer.sync_detailed(
    WORKSPACE,
    client=api,
    body=CustomerRequest(
        external_id="ada", email="ada@example.com", attributes=json_object(plan="pro", tags=["a", 1, None])
    ),
)
ada = done(created, CustomerPutAnswer, status=201).data
assert (ada.attributes["plan"], ada.phone) == ("pro", None)
assert ada.created_at.tzinfo is not None
done(
    put_customer.sync_detailed(WORKSPACE, client=api, body=CustomerRequest(external_id="ada", phone=None)),
    CustomerPutAnswer,
)
batch = BatchRequest(
    customers=[CustomerRequest(external_id="bob"), CustomerRequest(attributes=json_object(nobody=True))]
)
bob, failed = done(put_customers.sync_detailed(WORKSPACE, client=api, body=batch), BatchResultAnswer).data.results
assert (bob.status.value, failed.status.value, failed.code) == ("created", "failed", "missing_required_parameter")
found = done(find_customer.sync_detailed(WORKSPACE, client=api, external_id="ada"), CustomerAnswer).data
assert found == done(get_customer.sync_detailed(WORKSPACE, ada.customer_id, client=api), CustomerAnswer).data
members = done(
    change_segment_members.sync_detailed(WORKSPACE, SEGMENT, client=api, body=MembersRequest(add=["bob", "nobody"])),
    MembersChangedAnswer,
).data
assert (members.added, members.unknown) == (1, ["nobody"])
inside = done(list_segment_members.sync_detailed(WORKSPACE, SEGMENT, client=api), MembersPageAnswer).data
assert "bob" in [member.external_id for member in inside.members]
alike = list_customers.sync_detailed(WORKSPACE, client=api, identifier=ListCustomersIdentifier.EXTERNAL_ID, prefix="ad")
assert [one.external_id for one in done(alike, CustomersPageAnswer).data.customers] == ["ada"]

# Triggers ------------------------------------------------------------------------------------------------------------


def trigger(
    body: TriggerRequest, client: AuthenticatedClient = api, journey: str = JOURNEY, **more: Any
) -> Response[Any]:
    return trigger_journey.sync_detailed(WORKSPACE, journey, client=client, body=body, **more)


for_ada = TriggerRequest(external_id="ada", payload=json_object(orderId="A-1042", items=[{"sku": 7}]))
dry = done(trigger(for_ada, dry_run=True), TriggerAnswer).data
assert dry.status.value == "dry_run"
assert dry.results
assert dry.results["enrolled"] == 1
assert dry.rehearsal
assert dry.rehearsal.steps[0].type_ == "delay"
excluded = done(trigger(TriggerRequest(external_id="ada", exclude_external_ids=["ada"])), TriggerAnswer).data
assert (excluded.status.value, excluded.job_id) == ("excluded", None)

once = str(uuid.uuid4())
single = done(trigger(for_ada, idempotency_key=once), TriggerAnswer, status=202).data
assert single.status.value == "queued"
assert single.job_id
assert single.trigger_id
assert done(trigger(for_ada, idempotency_key=once), TriggerAnswer, status=202).data == single
job_id, trigger_id = single.job_id, single.trigger_id
refused(trigger(TriggerRequest(external_id="bob"), idempotency_key=once))
bulk = done(trigger(TriggerRequest(external_ids=["bob", "nobody"], segment_ids=[SEGMENT])), TriggerAnswer, status=202)
assert bulk.data.customers_enrolled == 1

# What became of them -------------------------------------------------------------------------------------------------


def look() -> JobAnswer:
    return done(get_job.sync_detailed(WORKSPACE, job_id, client=api), JobAnswer)


assert done(get_me.sync_detailed(client=api), MeAnswer).data.workspace.workspace_id == WORKSPACE

deadline = time.monotonic() + 60
while (job := look().data).status == "queued":
    assert time.monotonic() < deadline
    time.sleep(0.05)
assert job.result == "enrolled"
assert job.enrollment_id is not None
state = done(get_trigger.sync_detailed(WORKSPACE, trigger_id, client=api), TriggerStateAnswer).data
assert state.results["enrolled"] == 1
jobs = done(list_trigger_jobs.sync_detailed(WORKSPACE, trigger_id, client=api, limit=1), TriggerJobsAnswer).data
assert ([one.job_id for one in jobs.jobs], jobs.next_) == ([job_id], None)
history = done(get_enrollment.sync_detailed(WORKSPACE, job.enrollment_id, client=api), EnrollmentHistoryAnswer).data
assert history.customer_id == ada.customer_id
under_way = list_enrollments.sync_detailed(WORKSPACE, JOURNEY, client=api, state=ListEnrollmentsState.ACTIVE, limit=1)
assert len(done(under_way, EnrollmentsPageAnswer).data.enrollments) == 1
journeys = done(
    get_customer_journeys.sync_detailed(WORKSPACE, ada.customer_id, client=api), CustomerJourneysAnswer
).data
assert journeys.triggers[0].enrollment
assert journeys.triggers[0].enrollment.enrollment_id == job.enrollment_id
sent = done(
    list_customer_deliveries.sync_detailed(WORKSPACE, ada.customer_id, client=api), CustomerDeliveriesAnswer
).data
assert sent.next_ is None

# Events, and messages in the app -------------------------------------------------------------------------------------

ordered = EventsRequest(
    external_id="ada", event_name="ordered", event_properties=json_object(total=59.9), occurred_at=datetime.now(UTC)
)
reported = done(report_events.sync_detailed(WORKSPACE, client=api, body=ordered), EventsAnswer, status=202).data
assert reported.event_id
two = EventsRequest(
    events=[EventItem(external_id="ada", event_name="a"), EventItem(external_id="nobody", event_name="b")]
)
many = done(report_events.sync_detailed(WORKSPACE, client=api, body=two), EventsAnswer, status=202).data
assert many.results
assert many.results[1].status.value == "failed"
would_do = done(report_events.sync_detailed(WORKSPACE, client=api, body=ordered, dry_run=True), EventsAnswer).data
assert would_do.events
assert (would_do.events[0].status.value, would_do.events[0].goals) == ("tried", [])

did = done(list_customer_events.sync_detailed(WORKSPACE, ada.customer_id, client=api), EventsPageAnswer).data
assert "ordered" in [event.event_name for event in did.events]

app = sdk(WORLD["app"])
close = ActionRequest(message_id="sale", user_id="u-1", action_type=ActionRequestActionType.CLOSE)
see = ActionRequest(
    message_id="sale",
    user_id="u-1",
    action_type=ActionRequestActionType.TRACK_EVENT,
    action_data=ActionData(event_name="seen"),
)
assert done(record_action.sync_detailed(client=app, body=see), ActionAnswer).data.event_id
assert done(record_action.sync_detailed(client=app, body=close), ActionAnswer).data.closed
form = CaptureRequest(
    message_id="sale",
    user_id="u-1",
    form_data=json_object(city="Ulm"),
    submit_action=SubmitAction(type_=SubmitActionType.BOTH, event_name="sent"),
)
captured = done(capture_form.sync_detailed(client=app, body=form), FormCapturedAnswer).data
assert captured.attributes_updated == ["city"]
assert captured.event_id
calls = CallsRequest.from_dict(
    {"calls": [{"call": "action", "messageId": "sale", "userId": "u-1", "actionType": "link"}, {"call": "neither"}]}
)
in_one = done(record_calls.sync_detailed(client=app, body=calls), CallsAnswer).data
assert [result.status for result in in_one.results] == [200, 400]

# Who an anonymous person is ------------------------------------------------------------------------------------------

logged_in = IdentifyRequest(user_id="u-1", external_id="bob")
assert done(identify.sync_detailed(client=app, body=logged_in), IdentifiedAnswer).data.identified
pair = MergeRequest(anonymous=MergeAnonymous(user_id="u-1"), into=MergeInto(external_id="bob"))
one = done(merge_customers.sync_detailed(WORKSPACE, client=api, body=pair), CustomersMergedAnswer).data
assert (one.customer_id, one.merged, one.moved.events) == (bob.customer_id, False, 0)
refused(identify.sync_detailed(client=app, body=IdentifyRequest(user_id="u-1", external_id="ada")))

# Messages that are known ---------------------------------------------------------------------------------------------

sale = MessageRequest.from_dict(
    {"status": "active", "actions": [{"id": "cta", "type": "track_event", "eventName": "clicked"}]}
)
put = done(put_message.sync_detailed(WORKSPACE, "sale", client=api, body=sale), MessageAnswer, status=201).data
assert (put.key, put.revision) == ("sale", 1)
assert done(get_message.sync_detailed(WORKSPACE, "sale", client=api), MessageAnswer).data == put
listed = done(list_messages.sync_detailed(WORKSPACE, client=api), MessagesPageAnswer).data
assert [message.key for message in listed.messages] == ["sale"]
draft = PatchedMessageRequest.from_dict({"status": "draft"})
patched = done(patch_message.sync_detailed(WORKSPACE, "sale", client=api, body=draft), PutDefinitionAnswer).data
assert patched.changed == ["status"]
done(delete_message.sync_detailed(WORKSPACE, "sale", client=api), MessageDeletedAnswer)
refused(get_message.sync_detailed(WORKSPACE, "sale", client=api))
senseless = MessageRequest.from_dict({"actions": [{"id": "cta", "type": "dance"}]})
refused(put_message.sync_detailed(WORKSPACE, "sale", client=api, body=senseless))

# Definitions and subscriptions ---------------------------------------------------------------------------------------

first = done(list_journeys.sync_detailed(WORKSPACE, client=api, limit=1), JourneysPageAnswer).data
assert first.next_
rest = done(list_journeys.sync_detailed(WORKSPACE, client=api, after=first.next_), JourneysPageAnswer).data
assert {one.journey_id for one in [*first.journeys, *rest.journeys]} == {JOURNEY, WORLD["eventJourneyId"]}
assert (
    done(list_segments.sync_detailed(WORKSPACE, client=api), SegmentsPageAnswer).data.segments[0].segment_id == SEGMENT
)
two_days = JourneyRequest.from_dict({"steps": [{"id": "wait", "type": "delay", "for": "P2D"}]})
moving = put_journey.sync_detailed(WORKSPACE, JOURNEY, client=api, body=two_days, dry_run=True, move_inside=True)
would = done(moving, PutDefinitionAnswer).data
assert isinstance(would.moving, Moving)
assert (would.outcome, would.inside, would.moving.revision, would.moving.moves) == ("changed", 2, 2, 2)
refused(put_journey.sync_detailed(WORKSPACE, JOURNEY, client=api, body=JourneyRequest.from_dict({"steps": 7})))
crm = SubscriptionRequest(key="crm", url="https://crm.example/events", types=["job.decided"])
made = create_subscription.sync_detailed(WORKSPACE, client=api, body=crm)
assert done(made, StoredDefinitionAnswer, status=201).data.key == "crm"
refused(create_subscription.sync_detailed(WORKSPACE, client=api, body=crm))
few = SubscriptionRequest(url="https://crm.example/events", batch=7)
refused(put_subscription.sync_detailed(WORKSPACE, "crm", client=api, body=few))
changed = put_subscription.sync_detailed(WORKSPACE, "crm", client=api, body=few, if_match=made.headers["ETag"])
assert done(changed, PutDefinitionAnswer).data.changed == ["types", "batch"]
subscribed = done(list_subscriptions.sync_detailed(WORKSPACE, client=api), ListedSubscriptionsAnswer).data
assert [(one.key, one.batch) for one in subscribed.subscriptions] == [("crm", 7)]
tried = done(try_out_subscription.sync_detailed(WORKSPACE, "crm", client=api), TestSentAnswer, status=202).data
pushed = done(list_subscription_deliveries.sync_detailed(WORKSPACE, "crm", client=api), PushesPageAnswer).data
assert [(one.delivery_id, one.is_test) for one in pushed.deliveries] == [(tried.delivery_id, True)]
went_on = resume_paused_subscription.sync_detailed(WORKSPACE, "crm", client=api)
assert done(went_on, ResumedSubscriptionAnswer).data.changed is False
done(delete_subscription.sync_detailed(WORKSPACE, "crm", client=api, if_match="*"), DefinitionDeletedAnswer)
refused(get_subscription.sync_detailed(WORKSPACE, "crm", client=api))

# Steering ------------------------------------------------------------------------------------------------------------

told = SteerRequest(reason="A moment, please.")
held = done(hold_journey.sync_detailed(WORKSPACE, JOURNEY, client=api, body=told), SteeringAnswer).data
assert (str(held.state), held.changed) == ("held", True)
paced = ResumeRequest(per_minute=600)
resumed = done(resume_journey.sync_detailed(WORKSPACE, JOURNEY, client=api, body=paced), SteeringAnswer).data
assert (str(resumed.state), resumed.released) == ("active", 0)
back = CancelTriggerRequest(reason="A mistake.")
taken = done(
    cancel_trigger.sync_detailed(WORKSPACE, job.trigger_id, client=api, body=back, dry_run=True), CancelledTriggerAnswer
).data
assert taken.cancelled + taken.already_decided == taken.customers
hers = ExitEntranceRequest(external_id="ada")
of_order = exit_journey_entrance.sync_detailed(WORKSPACE, JOURNEY, "order/17", client=api, body=hers)
gone = done(of_order, ExitedEntranceAnswer).data
assert (gone.entrance_id, gone.cancelled, gone.exited) == ("order/17", 0, 0)

# Refusals ------------------------------------------------------------------------------------------------------------

asked = ExitRequest(reason="Asked to.")
left = done(exit_enrollment.sync_detailed(WORKSPACE, job.enrollment_id, client=api, body=asked), EnrollmentAnswer).data
assert left.state == "exited"
refused(exit_enrollment.sync_detailed(WORKSPACE, job.enrollment_id, client=api, body=asked))
refused(cancel_job.sync_detailed(WORKSPACE, job_id, client=api))

refused(find_customer.sync_detailed(WORKSPACE, client=server("wrong"), external_id="ada"))
refused(record_action.sync_detailed(client=sdk("wrong"), body=close))
elsewhere = sdk(WORLD["strictApp"]).with_headers({"Origin": "https://elsewhere.example"})
refused(record_action.sync_detailed(client=elsewhere, body=close))
refused(find_customer.sync_detailed(WORLD["otherWorkspaceId"], client=api, email="a@b.example"))
refused(find_customer.sync_detailed(WORKSPACE, client=api, external_id="nobody"))
refused(get_job.sync_detailed(WORKSPACE, "none", client=api))
refused(get_trigger.sync_detailed(WORKSPACE, NOTHING, client=api))
refused(get_enrollment.sync_detailed(WORKSPACE, NOTHING, client=api))
refused(get_enrollment.sync_detailed(WORKSPACE, job.enrollment_id, client=api, cursor="none"))
refused(change_segment_members.sync_detailed(WORKSPACE, NOTHING, client=api, body=MembersRequest(add=["ada"])))
refused(trigger(TriggerRequest(external_id="ada"), journey=NOTHING))
refused(trigger(TriggerRequest(external_id="ada"), journey=WORLD["eventJourneyId"]))
refused(trigger(TriggerRequest()))
refused(trigger(TriggerRequest(external_ids=["ada"] * 1001)))
refused(trigger(TriggerRequest(segment_ids=[NOTHING])))
refused(trigger(TriggerRequest(external_id="ada", payload=json_object(text="x" * 2**20))))
refused(trigger(TriggerRequest(external_id="ada"), server(WORLD["key"]).with_headers({"Accept": "text/html"})))
same_email = CustomerRequest(external_id="bob", email="ada@example.com")
conflict = refused(put_customer.sync_detailed(WORKSPACE, client=api, body=same_email))
assert conflict.details
assert conflict.details[0].customer_id

slow = server(WORLD["slowKey"])
done(trigger(TriggerRequest(external_id="ada"), slow, dry_run=True), TriggerAnswer)
refused(trigger(TriggerRequest(external_id="ada"), slow))

done(erase_customer.sync_detailed(WORKSPACE, ada.customer_id, client=api), CustomerErasedAnswer)
page = done(read_feed.sync_detailed(WORKSPACE, client=api, types="customer.erased"), FeedPageAnswer).data
assert page.events[0].customer_id == ada.customer_id
done(read_feed.sync_detailed(WORKSPACE, client=api, after=page.next_), FeedPageAnswer)
refused(get_customer.sync_detailed(WORKSPACE, ada.customer_id, client=api))

sys.stdout.write(json.dumps(refusals))
