"""What became of a whole trigger, who sent it, and whom it left out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from customers.audience.selection import LeftOut, NamedCustomer
from engage.database.object_ids import row_with_id
from engage.database.sql import Statement
from engage.errors import Refusal
from engage.models import ApiKey
from journeys.engine.jobs.progress import count_jobs
from journeys.models import EnrollmentJob, Trigger, UnknownExternalId


class TriggerNotFound(Refusal):
    """No such trigger in the workspace."""

    status = 404
    error = "Trigger not found"

    def __init__(self, trigger_id: str) -> None:
        super().__init__(f"There is no trigger {trigger_id[:100]!r} in this workspace.")


@dataclass(frozen=True, kw_only=True)
class CallForMany:
    """What a call for many said, and whom it left out.

    `named` is how many external ids it named, and `unknown` how many of them nobody had; `left_out` lists fewer if some
    of those have been erased. A call with recipients names these instead, by identifiers of any kind, and
    `unknown_recipients` are the places of those whom nobody was (None for other calls). `exempt` are all customers whom
    it named as exclusions; erased ones have no external id.
    """

    segment_ids: Sequence[str]
    named: int
    unknown: int
    left_out: LeftOut
    exempt: Sequence[NamedCustomer]
    unknown_recipients: Sequence[int] | None
    unknown_exclusions: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class TriggerState:
    """A trigger's jobs, counted by status and by result. `key` and `call` are None if there was none, or not noted.

    `scheduled_for` is when the first of those is due that are due later than now.
    """

    trigger_id: str
    journey_id: str
    key: ApiKey | None
    call: CallForMany | None
    customers: int
    queued: int
    decided: int
    failed: int
    cancelled: int
    results: Mapping[str, int]
    queued_at: datetime
    scheduled_for: datetime | None
    expires_at: datetime | None
    else_stood_in: int | None = None


def own_trigger(*, workspace_id: str, trigger_id: str) -> Trigger:
    """The workspace's trigger, without its payload. Raises TriggerNotFound."""
    trigger = row_with_id(Trigger.objects.filter(workspace_id=workspace_id).defer("payload"), trigger_id)
    if trigger is None:
        raise TriggerNotFound(trigger_id)
    return trigger


def journey_of_trigger(*, workspace_id: str, trigger_id: str) -> str | None:
    """The journey of the workspace's trigger; None if there is no such trigger."""
    found = row_with_id(Trigger.objects.filter(workspace_id=workspace_id).only("journey_id"), trigger_id)
    return found.journey_id if found else None


def trigger_state(*, workspace_id: str, trigger_id: str) -> TriggerState:
    """The trigger's jobs, counted now. Raises TriggerNotFound."""
    trigger = own_trigger(workspace_id=workspace_id, trigger_id=trigger_id)
    counted = count_jobs(trigger)
    by_status = {
        status: sum(jobs.number for jobs in counted if jobs.status == status) for status in EnrollmentJob.Status.values
    }
    return TriggerState(
        trigger_id=trigger.id,
        journey_id=trigger.journey_id,
        key=key_that_sent(trigger),
        call=call_of(trigger),
        customers=trigger.customers,
        **by_status,
        results={jobs.result: jobs.number for jobs in counted if jobs.result},
        queued_at=trigger.queued_at,
        scheduled_for=_NEXT_DUE.column(trigger_id=trigger.id)[0],
        expires_at=trigger.expires_at,
        else_stood_in=(trigger.selection or {}).get("stood_in"),
    )


_NEXT_DUE = Statement(
    "SELECT min(due_at) FROM journeys_chunk WHERE trigger_id = {trigger_id} AND lane || '' = 'scheduled'"
)


def key_that_sent(trigger: Trigger) -> ApiKey | None:
    """The API key of the call; None if the trigger is an event's."""
    return row_with_id(ApiKey.objects.filter(workspace_id=trigger.workspace_id), trigger.called_by)


def call_of(trigger: Trigger) -> CallForMany | None:
    """What the call for many said; None if the trigger was for one customer."""
    if trigger.selection is None or trigger.form == Trigger.Form.SINGLE:
        return None
    kept: Mapping[str, Any] = trigger.selection
    of_customers = {name: kept[name] for name in ("exempt", "excluded", "not_in_segments")}
    known = _external_ids({one for ids in of_customers.values() for one in ids})
    named = {name: [NamedCustomer(one, known.get(one)) for one in ids] for name, ids in of_customers.items()}
    unknown = UnknownExternalId.objects.filter(trigger_id=trigger.id).order_by("excluded", "place")
    sent = list(unknown.values_list("excluded", "external_id"))
    return CallForMany(
        segment_ids=kept["segments"],
        named=kept["named"],
        unknown=kept["unknown"],
        left_out=LeftOut(
            unknown=[external_id for excluded, external_id in sent if not excluded],
            excluded=named["excluded"],
            not_in_segments=named["not_in_segments"],
        ),
        exempt=named["exempt"],
        unknown_recipients=kept.get("unknown_recipients"),
        unknown_exclusions=[external_id for excluded, external_id in sent if excluded],
    )


_EXTERNAL_IDS = Statement("SELECT id, external_id FROM customers_customer WHERE id = ANY({customer_ids}::text[])")


def _external_ids(customer_ids: Collection[str]) -> dict[str, str | None]:
    """Those of the customers who are there, by id."""
    return dict(_EXTERNAL_IDS.rows(customer_ids=list(customer_ids))) if customer_ids else {}
