"""What a call, a page or a worker reads does not grow with the database: `make growth` says it in numbers."""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from customers.models import Customer, Segment
from engage.models import Workspace
from journeys.engine.operations.alerts import causes_in
from journeys.engine.operations.backlog import backlog
from journeys.engine.walking import walk_due
from journeys.engine.webhooks.claims import claim_due
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.models import Enrollment, Journey
from tests.abuse.calls import good_calls, resolved
from tests.benchmarks.filling import fill
from tests.benchmarks.growth import CUSTOMERS, costs, table
from tests.browsers.admin_pages import pages
from tests.browsers.furnished import Shown, furnish
from tests.support.bridge_calls import click
from tests.support.calls import customers_path, let_workers_decide, trigger
from tests.support.clients import SdkClient, ServerClient
from tests.support.conformance import at
from tests.support.factories import JourneyFactory, SegmentFactory

_AT_MOST = 3  # times the pages of an empty database, and so many more: indexes are deeper, and pages full of rows
_MORE = 1000
# What goes through all of something: pages for each customer of the large database.
_PER_CUSTOMER = {
    "page: customers segment change": 0.4,  # counts whoever meets conditions
    "GET exportCustomer": 1.0,  # of a person with a fiftieth of all history
    "GET listCustomerDeliveries": 0.15,  # of the same
    "GET listEnrollments": 0.2,  # looks at so many and no more
    # By a choice that hardly any row has: of the latest 10,000.
    "page: journeys.Enrollment": 0.2,
    "page: journeys.EnrollmentJob": 0.2,
    "page: customers.Event": 0.2,
}


@pytest.fixture
def staff() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_what_is_read_does_not_grow_with_the_database(
    acme: Workspace, server: ServerClient, sdk: SdkClient, staff: Client, settings: Settings
) -> None:
    asked = os.environ.get(CUSTOMERS)
    customers = int(asked or 20_000)
    settings.CREDENTIALS_KEPT_SECONDS = 60
    Workspace.objects.filter(pk=acme.pk).update(feed=True)
    shown = furnish(acme, server)
    journey = JourneyFactory.create(workspace=acme, key="enter", allow_reenrollment=True)
    segment = SegmentFactory.create(workspace=acme, key="some")
    busy = Customer.objects.create(workspace=acme, external_id="some", user_id="some")
    acts = {
        **_lists(acme, journey, server, busy.pk, shown[Enrollment].pk),
        **_opened(staff, shown),
        **_hot(acme, journey, segment, server, sdk),
    }
    small = costs(acts, timed=bool(asked))
    fill(customers=customers, journey=journey, segment_id=segment.pk, busy=busy.pk)
    large = costs(acts, timed=bool(asked))
    sys.stdout.write(f"\n{customers:,} customers\n\n{table(small, large)}\n")
    grown = [
        name
        for name, cost in large.items()
        if cost.pages > _AT_MOST * small[name].pages + _MORE + _all(name, customers)
    ]
    assert {name: (small[name].pages, large[name].pages, large[name].most) for name in grown} == {}


def _all(name: str, customers: int) -> float:
    return customers * _PER_CUSTOMER.get(name.partition(",")[0], 0)


def _opened(staff: Client, shown: Shown) -> dict[str, Callable[[], Any]]:
    """Each page of the admin that reads; each list by each of its choices, and searched for what is not there."""
    urls = {name: url for name, url in pages(shown).items() if name.split()[-1] not in {"add", "delete", "history"}}
    for model, records in site._registry.items():
        listed = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        named = f"{model._meta.label}"
        if records.search_fields:
            urls[f"{named}, search"] = f"{listed}?q=nowhere-at-all"
        for field in [str(one[0]) for one in records.list_filter if isinstance(one, tuple)]:
            for value, _ in getattr(get_fields_from_path(model, field)[-1], "choices", None) or ():
                urls[f"{named}, {field} {value}"] = f"{listed}?{field}__exact={value}"
    urls["search of all"] = f"{reverse('admin:search')}?s=nowhere-at-all"
    return {f"page: {name}": partial(staff.get, url) for name, url in urls.items()}


def _lists(
    acme: Workspace, journey: Journey, server: ServerClient, customer: str, enrollment: str
) -> dict[str, Callable[[], Any]]:
    """Each call that reads, with the ids of what is there, and by each choice of its query."""
    ids = {"workspaceId": acme.pk, "journeyId": journey.pk, "customerId": customer, "enrollmentId": enrollment}
    paths = {}
    for call in good_calls(ids):
        if call.method == "GET" and not call.is_of_sdk and "{" not in call.path:
            paths[call.operation] = call.path
            described = at(f"/paths/{call.template.replace('/', '~1')}/get").get("parameters", ())
            for asked in (resolved(one) for one in described):
                for value in resolved(asked["schema"]).get("enum", ()) if asked["in"] == "query" else ():
                    paths[f"{call.operation}, {asked['name']} {value}"] = f"{call.path}?{asked['name']}={value}"
    return {f"GET {name}": partial(server.get, path) for name, path in paths.items()}


def _hot(
    acme: Workspace, journey: Journey, segment: Segment, server: ServerClient, sdk: SdkClient
) -> dict[str, Callable[[], Any]]:
    """What is done the most; "some" is who has lived through much."""
    whom = {"external_id": "some"}

    def entered() -> None:
        trigger(server, journey, whom)
        let_workers_decide()

    said = {"events": [whom | {"eventName": "x"}]}
    members = customers_path(acme, "segments", segment.pk, "members")
    return {
        "trigger one, decide": entered,
        "walk": partial(walk_due, seconds=5),
        "claim of webhooks": lambda: claim_due(HostSlots(16)),
        "backlog": backlog,
        "alerts": partial(causes_in, [acme.pk, None]),
        "PUT customer": partial(server.put, customers_path(acme), whom | {"attributes": {"n": "1"}}),
        "event": partial(server.post, customers_path(acme, "events"), said),
        "click": partial(click, sdk, actionType="track_event", actionData={"eventName": "x"}, userId="some"),
        "member": partial(server.post, members, {"add": ["some"], "remove": []}),
    }
