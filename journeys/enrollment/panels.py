"""The panels about journeys on the pages of workspaces, customers, journeys and triggers, from top to bottom."""

from customers.models import Customer
from engage.admin.parts.panels import Panel, show_on
from engage.models import Workspace
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, JourneyRevision, Trigger

show_on(Workspace, Panel(model=Journey, by="workspace", columns=("__str__", "key", "trigger_type", "active")))

show_on(
    Customer,
    Panel(
        model=Enrollment,
        by="customer",
        columns=("journey", "state", "step_id", "due_at", "entered_at"),
        opens="entered_at",
        place=0,  # where somebody is inside is what staff come for
        title="journeys that they entered",
        rows=10,
    ),
)

show_on(
    Journey,
    Panel(
        model=Trigger,
        by="journey",
        columns=("form", "customers", "queued_at"),
        opens="queued_at",
        rows=10,
        tab="runs",
    ),
    Panel(
        model=Enrollment,
        by="journey",
        columns=("customer", "state", "step_id", "due_at", "entered_at"),
        opens="entered_at",
        rows=10,
        tab="runs",
    ),
    Panel(
        model=JourneyRevision,
        by="journey",
        columns=("number", "created_at", "made_by"),
        opens="number",
        order=("-number",),
        tab="revisions",
    ),
)

show_on(
    Trigger,
    Panel(
        model=Chunk,
        by="trigger",
        columns=("lane", "due_at", "attempts", "error"),
        opens="due_at",
        order=("start",),
    ),
    Panel(
        model=EnrollmentJob,
        by="trigger",
        columns=("customer", "status", "result", "reason", "queued_at"),
        opens="queued_at",
        order=("ordinal",),
    ),
)
