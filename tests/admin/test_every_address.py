"""Every address that the admin routes is a page, or is named as none: browsers look at all of the pages."""

import pytest
from django.test import Client

from engage.models import Workspace
from tests.browsers.admin_pages import pages
from tests.browsers.furnished import furnish
from tests.support.clients import ServerClient


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_every_address_opens_or_is_forbidden(admin_client: Client, acme: Workspace, server: ServerClient) -> None:
    answers = {name: admin_client.get(url).status_code for name, url in pages(furnish(acme, server)).items()}
    assert {name: status for name, status in answers.items() if status not in {200, 403}} == {}
    assert answers["index"] == 200
