"""Who may write what journeys read of customers and send, and who sees the credentials of its receivers."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.safestring import SafeString

from customers.models import Customer
from engage.admin.columns import Json, json_block, may_view
from journeys.models import Journey
from journeys.operations.redaction import steps_without_credentials

# These read what is known of customers; steps also send it out, and conditions tell it by whom they let in.
READ_CUSTOMERS = frozenset({"steps", "exit_on", "entry_conditions", "event_where"})
WHY_NOT = (
    "Steps, exits and conditions read what is known of customers. Changing them needs the permission to view "
    "customers, too; an administrator can grant it."
)


def may_write_content(request: HttpRequest) -> bool:
    """Whether this member of staff may write these fields of journeys that they may add or change."""
    return may_view(Customer, request=request)


def sees_credentials(request: HttpRequest) -> bool:
    """Whether this member of staff sees the headers of webhooks: only those who may also write them."""
    return bool(request.user.has_perm("journeys.change_journey")) and may_write_content(request)


@dataclass(frozen=True)
class Steps(Json):
    """The steps of a revision, or of a journey's current one, as JSON."""

    with_credentials: bool

    def __call__(self, record: Any) -> SafeString | None:
        steps = in_current_revision(record, self.field) if isinstance(record, Journey) else getattr(record, self.field)
        return json_block(steps if self.with_credentials else steps_without_credentials(steps))


def in_current_revision(journey: Journey, field: str) -> Any:
    """The value of the field of the journey's current revision."""
    return journey.revisions.filter(number=journey.revision).values_list(field, flat=True).first()
