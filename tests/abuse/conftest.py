import pytest
from pytest_django import Settings

from engage.models import Workspace
from tests.abuse.service import Service
from tests.support.clients import ServerClient


@pytest.fixture
def service(acme: Workspace, server: ServerClient, settings: Settings) -> Service:
    settings.BRIDGE_RATE_LIMIT = settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = "1000000/m"
    settings.IN_APP_RATE_LIMIT = "1000000/m"
    return Service(acme, server)
