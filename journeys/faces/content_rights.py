"""Who may write what journeys read of customers and send, and who sees the credentials of its receivers."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.safestring import SafeString

from customers.models import Customer
from engage.admin.parts.columns import Json, json_block, json_form, may_view, named_first
from journeys.engine.operations.redaction import steps_without_credentials
from journeys.models import Journey, JourneyRevision
from journeys.steps.secrets import masked_steps

# These read what is known of customers; steps also send it out, and conditions tell it by whom they let in.
READ_CUSTOMERS = frozenset({"steps", "exit_on", "entry_conditions", "event_where", "goals"})
WHY_NOT = (
    "Steps, exits and conditions read what is known of customers. Changing them needs the permission to view "
    "customers, too; an administrator can grant it."
)


def may_write_content(request: HttpRequest) -> bool:
    """Whether this member of staff may write these fields of journeys that they may add or change."""
    return may_view(Customer, request=request)


def sees_queries(request: HttpRequest) -> bool:
    """Whether this member of staff sees the queries of URLs whole: only those who may also write them."""
    return bool(request.user.has_perm("journeys.change_journey")) and may_write_content(request)


@dataclass(frozen=True)
class Content(Json):
    """The steps or exit rules of a revision, or of a journey's current one: as JSON, or as the form that they have."""

    with_queries: bool
    form: str = ""

    def __call__(self, record: Any) -> SafeString | None:
        revision = _current(record) if isinstance(record, Journey) else record
        if revision is None:
            return None
        shown = shown_of(revision)[self.field]
        if self.field == "steps" and not self.with_queries:
            shown = steps_without_credentials(shown)
        if self.form:
            return json_form(shown, name=self.field, form=self.form, as_written=True)
        return json_block(shown, as_written=True)


def _current(journey: Journey) -> JourneyRevision | None:
    return journey.revisions.filter(number=journey.revision).first()


def shown_of(revision: JourneyRevision) -> dict[str, Any]:
    """The steps and exit rules as they were written, secrets masked; id and type first, where that is not known."""
    written = revision.written if revision.key_order else named_first(revision.written)
    return {**written, "steps": masked_steps(written["steps"])}
