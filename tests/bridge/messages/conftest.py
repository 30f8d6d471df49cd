import pytest
from pytest_django import Settings

from bridge.models import Message
from engage.models import App, Workspace
from tests.bridge.messages import sale
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory, MessageFactory


@pytest.fixture
def message(acme: Workspace) -> Message:
    return MessageFactory.create(workspace=acme, key=sale.KEY, actions=sale.ACTIONS, forms=sale.FORMS)


@pytest.fixture
def unlimited(settings: Settings) -> None:
    """As many calls from one address as ten thousand examples make."""
    settings.BRIDGE_RATE_LIMIT = settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = "1000000/m"


@pytest.fixture
def strict(acme: Workspace, message: Message) -> SdkClient:
    """An app that enforces what its messages list."""
    return SdkClient(AppFactory.create(workspace=acme, message_policy=App.MessagePolicy.ENFORCE))


@pytest.fixture
def reporting(acme: Workspace, message: Message) -> SdkClient:
    return SdkClient(AppFactory.create(workspace=acme, message_policy=App.MessagePolicy.REPORT))
