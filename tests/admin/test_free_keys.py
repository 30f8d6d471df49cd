"""Names that callers and staff choose freely are no attributes of a dictionary, even where they are called so."""

import pytest
from django.db.models import JSONField
from django.test import Client

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.models import EnrollmentJob, Trigger
from tests.admin.enrollment_page import page_of
from tests.admin.records import MODELS, list_of, named
from tests.journeys.walking.stories import enter, walked
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.one_of_everything import populate

# A template takes `value.items` for the key first, and for the method only if there is none.
OF_A_DICT = [name for name in dir(dict) if not name.startswith("_")]
FREE = {name: f"the {name}" for name in OF_A_DICT}


def test_the_headers_of_a_webhook_may_have_any_names(staff: Client, acme: Workspace, server: ServerClient) -> None:
    step = {"id": "send", "type": "webhook", "url": "https://hooks.example/in", "headers": FREE, "body": FREE}
    page = page_of(staff, walked(server, acme, [step]))
    for name in OF_A_DICT:
        assert f"{name}: ***\n" in page


@pytest.mark.slow
def test_every_page_and_list_opens_whatever_the_keys_of_what_it_shows(
    staff: Client, acme: Workspace, subtests: pytest.Subtests
) -> None:
    populate(acme, rows=1)
    for model in MODELS:
        fields = [field for field in model._meta.concrete_fields if isinstance(field, JSONField)]
        free = [field.name for field in fields if field.default is dict and field.editable]
        if not free:
            continue
        model._default_manager.update(**dict.fromkeys(free, FREE))
        with subtests.test(model=named(model)):
            assert staff.get(list_of(model)).status_code == 200
            for record in model._default_manager.all():
                page = staff.get(page_url(record)).content.decode()
                assert page.count("the popitem") >= len(free)


def test_an_enrollments_pages_open_whatever_its_call_holds(
    staff: Client, acme: Workspace, server: ServerClient
) -> None:
    customer = CustomerFactory.create(workspace=acme, attributes=FREE)
    tell = {"id": "tell", "type": "track_event", "eventName": "items", "eventProperties": FREE}
    note = {"id": "keys", "type": "update_profile", "attributes": FREE}
    journey = JourneyFactory.create(workspace=acme, steps=[tell, note])
    enrollment = enter(server, journey, customer, **FREE)
    for record in (enrollment, EnrollmentJob.objects.get(), Trigger.objects.get(), journey, customer):
        assert staff.get(page_url(record)).status_code == 200
