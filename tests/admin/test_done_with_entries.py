"""What staff do with a button and its entry in the audit are one transaction."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.models import App, AuditEntry, IdentityKey, Workspace
from journeys.journey.authoring import save_journey
from journeys.models import Enrollment, Journey, JourneyRevision, Resending, StepRun, Trigger, WebhookDelivery
from tests.admin.enrollment_page import action
from tests.admin.failures import failed_webhooks
from tests.admin.records import list_of
from tests.bridge.identity.tokens import SECRET
from tests.support.audit import told
from tests.support.factories import DAY, AppFactory, CustomerFactory, JourneyFactory

SEND_AGAIN = f"{list_of(WebhookDelivery)}send-again/"
CHANGED = (App, Enrollment, Journey, JourneyRevision, Resending, StepRun, Trigger, WebhookDelivery)


@pytest.fixture
def app(acme: Workspace) -> App:
    made = AppFactory.create(workspace=acme, identity=App.Identity.REPORT)
    IdentityKey.objects.create(workspace=acme, app=made, kid="k1", alg="HS256", secret=SECRET)
    return made


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    """With two revisions."""
    own = JourneyFactory.create(workspace=acme)
    return save_journey(workspace=acme, key=own.key, now=timezone.now(), steps=[DAY]).journey


@pytest.fixture(
    params=["end", "again", "chosen", "all", "archive", "restore", "duplicate", "roll-back", "enforce", "try"]
)
def button(request: pytest.FixtureRequest, acme: Workspace, journey: Journey, app: App) -> tuple[str, dict[str, Any]]:
    """An address, and what is posted to it."""
    about: Callable[[str], Any] = request.getfixturevalue
    match request.param:
        case "end":
            return action(about("failed"), "end"), {"reason": "Because."}
        case "again":
            return action(about("failed"), "webhooks", WebhookDelivery.objects.get().pk, "send-again"), {}
        case "chosen":
            return SEND_AGAIN, {"chosen": [one.pk for one in failed_webhooks(acme, number=2)]}
        case "all":
            failed_webhooks(acme, number=2)
            return SEND_AGAIN, {}
        case "enforce":
            return page_url(app).replace("change", "enforce-identity"), {}
        case "try":
            own = CustomerFactory.create(workspace=acme)
            return page_url(journey).replace("/change/", "/try/"), {"customer": own.pk, "send": "yes"}
        case "restore":
            Journey.objects.filter(pk=journey.pk).update(active=False, archived_at=timezone.now())
    return page_url(journey).replace("/change/", f"/{request.param}/"), {"key": "copy", "number": 1}


def stored() -> list[Any]:
    return [list(model._default_manager.order_by("pk").values()) for model in CHANGED]


def refusing(statement: str) -> AbstractContextManager[None]:
    """The database refuses such statements."""

    def refuse(execute: Callable[..., Any], sql: str, *further: Any) -> Any:
        if sql.startswith(statement):
            raise OperationalError("no room")
        return execute(sql, *further)

    return connection.execute_wrapper(refuse)


def test_nothing_is_done_without_its_entry(staff: Client, button: tuple[str, dict[str, Any]]) -> None:
    staff.raise_request_exception = False
    path, sent = button
    before, entries = stored(), AuditEntry.objects.count()
    with refusing(f'INSERT INTO "{AuditEntry._meta.db_table}"'):
        assert staff.post(path, sent).status_code == 503
    assert stored() == before
    assert staff.post(path, sent).status_code == 302
    assert stored() != before
    assert AuditEntry.objects.count() > entries


def test_accounts_that_were_not_deleted_have_no_entry_that_says_so(staff: Client) -> None:
    chosen = [User.objects.create_user(name).pk for name in ("ada", "bob")]
    sent = {"action": "delete_selected", "_selected_action": chosen, "post": "yes"}
    staff.raise_request_exception = False
    with refusing('DELETE FROM "auth_user"'):
        assert staff.post(list_of(User), sent).status_code == 503
    assert told() == []
    staff.post(list_of(User), sent)
    assert [what for _, _, what in told("user")] == ["Deleted."] * 2
    assert not User.objects.filter(pk__in=chosen).exists()
