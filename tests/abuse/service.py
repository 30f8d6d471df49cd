"""The service that is abused, with something in it that could be changed."""

from collections.abc import Mapping

from django.utils import timezone

from bridge.api.in_app import DELIVERY
from bridge.api.interactions import MESSAGE
from customers.contact.reach import suppress
from customers.contact.saving import CONTACT_POLICY
from customers.models import Suppression
from engage.models import App, Workspace
from journeys.models import Connection, Enrollment
from journeys.subscription.resource import SUBSCRIPTIONS
from tests.abuse.calls import Call, good_calls
from tests.bridge.in_app.deliveries import deliver
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.factories import AppFactory, CustomerFactory, JourneyFactory, MessageFactory, SegmentFactory
from tests.support.one_of_each_kind import define_each_kind, ids_of_each_kind


class Service:
    """Two people, somebody anonymous with a message that is due, a segment, a journey with somebody inside, a job that
    waits; a server's key, an app of one origin that believes who reads messages."""

    def __init__(self, workspace: Workspace, server: ServerClient) -> None:
        workspace.feed = True
        workspace.save(update_fields=["feed"])
        ada = CustomerFactory.create(workspace=workspace, external_id="ada", email="ada@example.com")
        CustomerFactory.create(workspace=workspace, external_id="bob", email="bob@example.com")
        SegmentFactory.create(workspace=workspace, members=[ada])
        journey = JourneyFactory.create(workspace=workspace, steps=[{"id": "wait", "type": "delay", "for": "P1D"}])
        data(trigger(server, journey, {"external_id": "ada"}))
        let_workers_decide()
        MessageFactory.create(workspace=workspace, key="sale")
        CONTACT_POLICY.save(workspace=workspace, key=CONTACT_POLICY.only, now=timezone.now(), require_topic=False)
        suppress(
            workspace_id=workspace.id, channel="email", address="eve@example.com", reason=Suppression.Reason.MANUAL
        )
        Connection.objects.create(
            workspace=workspace, key="mail", name="Mail", definition={"url": "https://mail.example/"}
        )
        SUBSCRIPTIONS.save(workspace=workspace, key="crm", now=timezone.now(), url="https://crm.example/")
        define_each_kind(workspace, name="sale")
        queued = data(trigger(server, journey, {"external_id": "ada"}))
        self._server = server
        server.headers["If-Match"] = "*"
        deliver(CustomerFactory.create(workspace=workspace, user_id="u-shown"), id=DELIVERY, message_id=MESSAGE)
        app = AppFactory.create(workspace=workspace, allowed_origins=["https://shop.example"], in_app=App.InApp.OPEN)
        self._sdk = SdkClient(app)
        self.ids = {
            "workspaceId": workspace.id,
            **ids_of_each_kind(workspace),
            "customerId": ada.id,
            "triggerId": queued["triggerId"],
            "jobId": queued["jobId"],
            "enrollmentId": Enrollment.objects.get().id,
            "key": "sale",
            "entranceId": "order-1042",
            "suppressionId": Suppression.objects.get(workspace=workspace).id,
        }
        self.calls: Mapping[str, Call] = {call.operation: call for call in good_calls(self.ids)}

    def answer(self, call: Call) -> Answer:
        return call.sent_by(self.caller_of(call))

    def caller_of(self, call: Call) -> ServerClient | SdkClient:
        return self._sdk if call.is_of_sdk else self._server
