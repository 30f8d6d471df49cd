"""The database itself refuses a row that links two workspaces, whatever code or person writes it."""

from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import ForeignKey, Model
from psycopg.errors import ForeignKeyViolation

from customers.models import Customer
from engage.database.tenancy import WorkspaceForeignKey
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob, Trigger
from tests.support.cases import each
from tests.support.one_of_everything import one_of_everything, populate
from tests.support.tables import taken_back

TENANTS = [model for model in apps.get_models() if hasattr(model, "workspace_id")]
LINKS = [
    (model, field)
    for model in TENANTS
    for field in model._meta.local_concrete_fields
    if isinstance(field, ForeignKey) and field.related_model in TENANTS
]


@pytest.fixture
def foreign(acme: Workspace, rival: Workspace) -> Workspace:
    """Both have one of everything; Rival is the one whose things nobody of Acme may refer to."""
    one_of_everything(acme)
    one_of_everything(rival)
    return rival


def run(statement: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def refused_by_the_database(statement: str, *parameters: Any) -> None:
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        run(statement, *parameters)
    assert isinstance(caught.value.__cause__, ForeignKeyViolation), caught.value


def foreign_id(field: "ForeignKey[Any, Any]", foreign: Workspace) -> Any:
    target: Any = field.related_model._default_manager.filter(workspace=foreign).first()
    return target.pk


def named(model: type[Model], field: "ForeignKey[Any, Any]") -> str:
    return f"{model.__name__}.{field.name}"


@pytest.mark.slow
def test_no_row_is_made_that_links_two_workspaces(
    acme: Workspace, foreign: Workspace, subtests: pytest.Subtests
) -> None:
    for model, field in LINKS:
        with subtests.test(link=named(model, field)), taken_back():
            table, column = model._meta.db_table, field.column
            run(
                f"CREATE TEMP TABLE kept ON COMMIT DROP AS "
                f"SELECT * FROM {table} WHERE workspace_id = %s AND {column} IS NOT NULL LIMIT 1",
                acme.id,
            )
            run(f"DELETE FROM {table}")  # so that nothing but the link can be wrong
            run(f"INSERT INTO {table} SELECT * FROM kept")
            run(f"DELETE FROM {table}")
            run(f"UPDATE kept SET {column} = %s", foreign_id(field, foreign))
            refused_by_the_database(f"INSERT INTO {table} SELECT * FROM kept")


def test_no_row_is_changed_to_link_two_workspaces(
    acme: Workspace, foreign: Workspace, subtests: pytest.Subtests
) -> None:
    for model, field in LINKS:
        with subtests.test(link=named(model, field)), taken_back():
            table, column, theirs = model._meta.db_table, field.column, foreign_id(field, foreign)
            run(f"DELETE FROM {table} WHERE workspace_id = %s", foreign.id)
            refused_by_the_database(f"UPDATE {table} SET {column} = %s WHERE {column} IS NOT NULL", theirs)
            refused_by_the_database(f"UPDATE {table} SET workspace_id = %s", foreign.id)


def test_every_link_is_known_and_filled_in(acme: Workspace, foreign: Workspace) -> None:
    assert len(LINKS) >= 20
    empty = [
        named(model, field)
        for model, field in LINKS
        if not model._default_manager.filter(workspace=acme).exclude(**{field.name: None}).exists()
    ]
    assert empty == []


def test_a_customer_never_moves_to_another_workspace(foreign: Workspace) -> None:
    refused_by_the_database(
        "UPDATE customers_customer SET workspace_id = %s WHERE workspace_id <> %s", *[foreign.id] * 2
    )


@each("change", [{"field": "job"}, {"table": "journeys_journey"}, {"on_delete": "CASCADE"}, {"within": ["journey"]}])
def test_a_link_that_is_described_otherwise_needs_a_migration(change: dict[str, Any]) -> None:
    described: dict[str, Any] = {"field": "trigger", "table": "journeys_trigger", "on_delete": "RESTRICT"}
    link = WorkspaceForeignKey(name="link", **described)
    assert link == link.clone()
    assert link != WorkspaceForeignKey(name="link", **(described | change))


# A job has no foreign keys of its own: what they would do is done by triggers of the database ---------------------


def test_the_jobs_of_an_erased_customer_stay_as_they_are(acme: Workspace, foreign: Workspace) -> None:
    jobs = EnrollmentJob.objects.filter(workspace=acme)
    before = list(jobs.values())
    Customer.objects.filter(workspace=acme).delete()
    assert list(jobs.values()) == before != []


def test_jobs_of_a_customer_whom_nobody_knows_any_more_may_be_made(acme: Workspace) -> None:
    """An erasure cannot see a call that commits just after it."""
    one_of_everything(acme)
    sent = Trigger.objects.get(workspace=acme)
    EnrollmentJob.objects.create(
        workspace=acme, journey=sent.journey, trigger=sent, customer_id="f" * 24, ordinal=9999, queued_ms=7
    )
    assert sent.jobs.count() == 2


def test_a_job_needs_a_trigger_of_its_journey(acme: Workspace) -> None:
    populate(acme, rows=2, journeys=2)
    first, second = Trigger.objects.filter(workspace=acme).order_by("id")
    refused_by_the_database("UPDATE journeys_enrollmentjob SET journey_id = %s", second.journey_id)
    with pytest.raises(IntegrityError, match="names no trigger"), transaction.atomic():
        EnrollmentJob.objects.create(
            workspace=acme, journey_id=first.journey_id, trigger=second, customer_id="f" * 24, ordinal=9999, queued_ms=7
        )


def test_a_deleted_trigger_takes_its_jobs_along_and_leaves_enrollments(acme: Workspace, rival: Workspace) -> None:
    ours, theirs = one_of_everything(acme), one_of_everything(rival)
    run("DELETE FROM journeys_trigger WHERE workspace_id = %s", acme.id)
    assert list(EnrollmentJob.objects.all()) == [theirs.job]
    assert Enrollment.objects.get(id=ours.id).job is None
    assert Enrollment.objects.get(id=theirs.id).job == theirs.job


def test_a_deleted_journey_takes_everything_of_it_along(acme: Workspace) -> None:
    enrollment = one_of_everything(acme)
    run("DELETE FROM journeys_journey WHERE id = %s", enrollment.journey_id)
    assert not EnrollmentJob.objects.exists()
    assert not Enrollment.objects.exists()
