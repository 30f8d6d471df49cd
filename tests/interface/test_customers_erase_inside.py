"""DELETE /api/v1/customers/{workspaceId}/{customerId} of somebody who is inside: the feed tells that they have left."""

from typing import Any

from customers.models import Customer
from engage.models import FeedBatch, Workspace
from journeys.models import Enrollment
from tests.support.calls import customers_path, data, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import DAY, ApiKeyFactory, JourneyFactory


def erase(server: ServerClient, customer: Customer) -> None:
    data(server.delete(customers_path(customer.workspace, customer.id)), status=200)


def events(server: ServerClient) -> list[dict[str, Any]]:
    told = data(server.get(f"/api/v1/feed/{server.key.workspace_id}"), status=200)["events"]
    return [{name: value for name, value in event.items() if name not in {"eventId", "at"}} for event in told]


def test_who_is_erased_while_inside_has_left_before_that(
    acme: Workspace, server: ServerClient, cast: dict[str, Customer]
) -> None:
    one, other = (JourneyFactory.create(workspace=acme, steps=[DAY]) for _ in range(2))
    through = JourneyFactory.create(workspace=acme)
    for name, journeys in {"grace": [one], "ada": [one, other, through]}.items():
        for journey in journeys:
            data(trigger(server, journey, {"external_id": name}))
    let_workers_walk()
    erase(server, cast["grace"])  # while the feed is off
    assert not FeedBatch.objects.exists()
    Workspace.objects.filter(id=acme.id).update(feed=True)
    inside = Enrollment.objects.filter(customer=cast["ada"], state="active").values_list("journey_id", "id")
    whose = {"type": "enrollment.exited", "customerId": cast["ada"].id, "reason": "The customer was erased."}
    left = [{**whose, "journeyId": journey_id, "enrollmentId": enrollment} for journey_id, enrollment in sorted(inside)]
    erase(server, cast["ada"])
    *exited, erased = events(server)
    assert sorted(exited, key=lambda event: str(event["journeyId"])) == left
    assert erased == {"type": "customer.erased", "customerId": cast["ada"].id, "external_id": "ada"}
    assert [event["journeyId"] for event in left] == sorted([one.id, other.id])
    limited = ServerClient(ApiKeyFactory.create(workspace=acme, journeys=[one.id], scopes=["feed"]))
    assert events(limited) == [event for event in left if event["journeyId"] == one.id]
