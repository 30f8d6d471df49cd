"""The panels about journeys on the pages of workspaces, customers, journeys and triggers, from top to bottom."""

from customers.models import Customer
from engage.admin.panels import Panel, show_on
from engage.models import Workspace
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, JourneyRevision, Trigger

show_on(Workspace, Panel(model=Journey, by="workspace", columns=("__str__", "key", "trigger_type", "active")))

show_on(
    Customer,
    Panel(
        model=EnrollmentJob,
        by="customer",
        columns=("__str__", "journey", "status", "result", "reason", "decided_at"),
    ),
    Panel(
        model=Enrollment,
        by="customer",
        columns=("__str__", "journey", "state", "step_id", "due_at", "entered_at"),
    ),
)

show_on(
    Journey,
    Panel(model=Trigger, by="journey", columns=("__str__", "form", "customers", "queued_at"), rows=10),
    Panel(
        model=Enrollment,
        by="journey",
        columns=("__str__", "customer", "state", "step_id", "due_at", "entered_at"),
        rows=10,
    ),
    Panel(model=JourneyRevision, by="journey", columns=("__str__", "number", "created_at"), order=("-number",)),
)

show_on(
    Trigger,
    Panel(
        model=Chunk,
        by="trigger",
        columns=("__str__", "lane", "due_at", "attempts", "error"),
        order=("start",),
    ),
    Panel(
        model=EnrollmentJob,
        by="trigger",
        columns=("__str__", "customer", "status", "result", "reason"),
        order=("ordinal",),
    ),
)
