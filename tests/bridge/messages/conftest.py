import pytest

from bridge.models import Message
from engage.models import App, Workspace
from tests.bridge.messages import sale
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory, MessageFactory


@pytest.fixture
def message(acme: Workspace) -> Message:
    return MessageFactory.create(workspace=acme, key=sale.KEY, actions=sale.ACTIONS, forms=sale.FORMS)


@pytest.fixture
def strict(acme: Workspace, message: Message) -> SdkClient:
    """An app that enforces what its messages list."""
    return SdkClient(AppFactory.create(workspace=acme, message_policy=App.MessagePolicy.ENFORCE))


@pytest.fixture
def reporting(acme: Workspace, message: Message) -> SdkClient:
    return SdkClient(AppFactory.create(workspace=acme, message_policy=App.MessagePolicy.REPORT))
