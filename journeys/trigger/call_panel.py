"""What stands on a trigger's page about the call that made it: whose key called, and whom the call left out."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from customers.models import Customer, Segment
from engage.admin.parts.columns import gone, link, may_view
from engage.models import ApiKey, AuditEntry
from journeys.engine.jobs.trigger_states import CallForMany, call_of, key_that_sent
from journeys.models import Trigger

_MOST_SHOWN = 50
_HEADERS = ["What", "Number", "Which"]


def table_of_call(trigger: Trigger, *, request: HttpRequest) -> dict[str, Any] | None:
    """A table as this member of staff may see it; None if an event made the trigger, or if nothing was noted."""
    key, call = key_that_sent(trigger), call_of(trigger)
    if trigger.event_id is not None or (key is None and call is None):
        return None
    rows = _sender(trigger, key, request=request)
    if call:
        rows.append(["external ids named", f"{call.named:,}", ""])
    if call and may_view(Segment, request=request):
        segments = _links(Segment.objects.all(), call.segment_ids)
        rows.append(
            ["segments named", f"{len(call.segment_ids):,}", _listed([segments[pk] for pk in call.segment_ids])]
        )
    if call and may_view(Customer, request=request):
        rows += _left_out(call)
    return {"headers": _HEADERS, "rows": rows} if rows else None


def _sender(trigger: Trigger, key: ApiKey | None, *, request: HttpRequest) -> list[list[Any]]:
    """The key that sent it, or who did by hand."""
    if key is not None:
        return [["API key", "-", link(key)]] if may_view(ApiKey, request=request) else []
    entry = AuditEntry.objects.filter(object_id=trigger.pk, object_kind="trigger").first()
    return [["sent by", "-", entry.actor_name]] if entry else []


def _left_out(call: CallForMany) -> list[list[Any]]:
    left_out = call.left_out
    customers = [
        ("excluded", call.exempt),
        ("left out as excluded", left_out.excluded),
        ("left out as in none of the segments", left_out.not_in_segments),
    ]
    unknown = [
        ("left out as unknown", call.unknown, left_out.unknown),
        ("excluded, but unknown", len(call.unknown_exclusions), call.unknown_exclusions),
    ]
    seen = {named.customer_id for _, many in customers for named in many[:_MOST_SHOWN]}
    links = _links(Customer.objects.all(), seen)
    return [
        *([what, f"{number:,}", _listed(ids)] for what, number, ids in unknown),
        *([what, f"{len(many):,}", _listed([links.get(one.customer_id) for one in many])] for what, many in customers),
    ]


def _links(records: QuerySet[Any], ids: Iterable[str]) -> dict[str, Any]:
    """For each id a link to the record, or the bare id if it is gone."""
    found = {record.pk: link(record) for record in records.filter(pk__in=set(ids))}
    return {pk: found.get(pk) or gone(pk) for pk in ids}


def _listed(items: Sequence[Any]) -> SafeString:
    """The first items, and how many more there are."""
    more = len(items) - _MOST_SHOWN
    shown = format_html_join(", ", "{}", ((item,) for item in items[:_MOST_SHOWN]))
    return format_html("{} and {} more", shown, f"{more:,}") if more > 0 else shown
