"""What takes somebody away follows merges: who is named as somebody whom they were merged with is left out as well."""

from functools import partial
from typing import Any

import pytest
from django.db import transaction

from customers.models import Customer, Segment, SegmentMembership
from engage.models import Workspace
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey
from tests.interface.merges import merge
from tests.support.calls import customers_path, data, let_workers_decide, refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted
from tests.support.factories import CustomerFactory, JourneyFactory, SegmentFactory
from tests.support.simultaneous import PATIENCE_SECONDS, elsewhere, made_to_wait

WAIT: list[dict[str, Any]] = [{"id": "wait", "type": "delay", "for": "P1D"}]
EXCLUDED = {"exclude_external_ids": ["ada-2", "nobody"]}
# Each form of a call that names Ada.
FORMS: dict[str, dict[str, Any]] = {
    "external_id": {"external_id": "ada"},
    "email": {"email": "ada@example.com"},
    "by an alias": {"external_id": "ada-2"},
    "with an entrance": {"external_id": "ada", "entranceId": "order-17"},
    "external_ids": {"external_ids": ["ada"]},
    "segment_ids": {"segment_ids": ["vip"]},
    "both": {"external_ids": ["ada"], "segment_ids": ["vip"]},
    "scheduled": {"external_ids": ["ada"], "scheduledFor": "2020-01-01T00:00:00Z"},
    "recipients": {"recipients": [{"external_id": "ada", "payload": {"seats": 7}}]},
}


@pytest.fixture
def former(acme: Workspace, ada: Customer) -> Customer:
    Customer.objects.filter(id=ada.id).update(email="ada@example.com")
    SegmentFactory.create(workspace=acme, key="vip", members=[ada])
    return CustomerFactory.create(workspace=acme, external_id="ada-2")


def one_person(server: ServerClient, acme: Workspace) -> Answer:
    return merge(server, acme, anonymous=None, customer={"external_id": "ada-2"}, into={"external_id": "ada"})


@pytest.mark.usefixtures("former")
@each("form", FORMS)
@each("dry_run", [True, False])
def test_who_is_excluded_under_a_former_name_is_excluded(
    acme: Workspace, server: ServerClient, ada: Customer, journey: Journey, form: str, dry_run: bool
) -> None:
    data(one_person(server, acme), status=200)
    path = f"/api/v1/journeys/{acme.id}/{journey.id}/trigger{'?dryRun=true' if dry_run else ''}"
    for names in (["ada-2", "nobody"], ["ada", "ada-2"]):
        answer = server.post(path, {**FORMS[form], "exclude_external_ids": names})
        assert answer.succeeded, answer.json()
        told = answer.json()["data"]
        assert not EnrollmentJob.objects.exists()
        if dry_run:
            assert told["excluded"] == [{"customerId": ada.id, "external_id": "ada"}]
        elif {"recipients", "external_ids", "segment_ids"} & FORMS[form].keys():
            sent = data(server.get(f"/api/v1/journeys/{acme.id}/triggers/{told['triggerId']}"), status=200)["call"]
            assert sent["leftOut"]["excluded"] == 1
        else:
            assert told["status"] == "excluded"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("form", sorted(FORMS.keys() - {"by an alias"}))
@pytest.mark.parametrize("queued", ["beside the merge", "before it"])
def test_who_is_merged_with_somebody_excluded_before_they_are_decided_does_not_enter(
    acme: Workspace, server: ServerClient, former: Customer, ada: Customer, form: str, queued: str
) -> None:
    """A call that does not exclude them enters them."""
    journey = JourneyFactory.create(workspace=acme, steps=WAIT)
    queue = partial(trigger, server, journey, {**FORMS[form], **EXCLUDED})
    if queued == "before it":
        data(queue())
    with transaction.atomic():
        data(one_person(server, acme), status=200)
        if queued != "before it":
            data(elsewhere(queue))
    let_workers_decide()
    assert EnrollmentJob.objects.get().status == "cancelled"
    assert not Enrollment.objects.exists()
    assert not Chunk.objects.exists()
    data(trigger(server, journey, {**FORMS[form], "exclude_external_ids": ["nobody"]}))
    let_workers_decide()
    assert Enrollment.objects.get().customer == ada
    assert counted(journey) == counted_by_history(journey.id)


@pytest.mark.usefixtures("former")
def test_a_member_is_taken_out_under_a_former_name(acme: Workspace, server: ServerClient) -> None:
    data(one_person(server, acme), status=200)
    path = customers_path(acme, "segments", Segment.objects.get().id, "members")
    refused(server.post(path, {"add": ["ada"], "remove": ["ada-2"]}), status=400, error="Invalid request")
    assert data(server.post(path, {"remove": ["ada", "ada-2"]}), status=200)["removed"] == 1
    assert not SegmentMembership.objects.exists()


@pytest.mark.usefixtures("former")
def test_a_put_takes_away_under_a_former_name(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    data(one_person(server, acme), status=200)
    for body in ({"remove": ["email"]}, {"attributes": {"plan": None}}):
        data(server.put(customers_path(acme), {"external_id": "ada-2", **body}), status=200)
    ada.refresh_from_db()
    assert (ada.external_id, ada.email) == ("ada", None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("state", ["queued", "inside"])
def test_an_entrance_is_exited_of_who_is_merged_at_this_moment(
    acme: Workspace, server: ServerClient, former: Customer, ada: Customer, state: str
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=WAIT)
    data(trigger(server, journey, {"external_id": "ada-2", "entranceId": "order-17"}))
    if state == "inside":
        let_workers_decide()
    path = f"/api/v1/journeys/{acme.id}/{journey.id}/entrances/order-17/exit"
    with transaction.atomic():
        data(one_person(server, acme), status=200)
        exiting = made_to_wait(partial(server.post, path, {"external_id": "ada-2"}))
    told = data(exiting.result(PATIENCE_SECONDS), status=200)
    assert (told["cancelled"], told["exited"]) == ((1, 0) if state == "queued" else (0, 1))
    let_workers_decide()
    assert not Enrollment.objects.filter(state="active").exists()
