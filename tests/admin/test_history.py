"""What staff did to a record can be read on its history page."""

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.test import Client

from engage.admin.columns import page_url
from engage.models import App, Workspace
from tests.factories import AppFactory


@pytest.fixture
def app(acme: Workspace) -> App:
    return AppFactory.create(workspace=acme)


def history_of(client: Client, app: App, *, page: int = 1) -> str:
    return client.get(page_url(app).replace("/change/", "/history/"), {"p": page}).content.decode()


def note(app: App, *messages: str) -> None:
    """Entries of the log, in their order."""
    LogEntry.objects.bulk_create(
        LogEntry(
            user=User.objects.get(),
            content_type=ContentType.objects.get_for_model(App),
            object_id=app.pk,
            action_flag=CHANGE,
            change_message=message,
        )
        for message in messages
    )


def test_a_short_history_has_one_page(staff: Client, app: App) -> None:
    note(app, "Did this.", "Did that.")
    page = history_of(staff, app)
    assert "Did this." in page
    assert "2 entries" in page
    assert "?p=" not in page


def test_a_long_history_is_paged_and_every_page_has_entries(staff: Client, app: App) -> None:
    note(app, *(f"Change {number}." for number in range(101)))
    assert "?p=2" in history_of(staff, app)
    last = history_of(staff, app, page=2)
    assert "101 entries" in last
    assert "Change 100." in last
    assert "?p=3" not in last
