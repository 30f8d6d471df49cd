"""Staff: one who may do everything, and one who may only look; and an enrollment for them to look at."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from engage.models import Workspace
from journeys.models import Enrollment
from tests.journeys.walking.stories import walked
from tests.journeys.webhooks.standing import send
from tests.support.calls import let_workers_walk
from tests.support.clients import ServerClient
from tests.support.factories import DAY
from tests.support.receiver import Receiver


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def onlooker(db: None) -> Client:
    """May view every record and change none."""
    user = User.objects.create_user("onlooker", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def failed(server: ServerClient, acme: Workspace, receiver: Receiver) -> Enrollment:
    """An enrollment whose webhook was refused by the receiver, and that waits for a day now."""
    headers = {"Authorization": "Bearer hush"}
    call = {"id": "call", "type": "webhook", "url": receiver.url("/status/404"), "headers": headers, "body": {"a": 1}}
    enrollment = walked(server, acme, [call, DAY])
    send()
    let_workers_walk()
    enrollment.refresh_from_db()
    return enrollment
