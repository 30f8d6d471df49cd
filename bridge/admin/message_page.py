"""What stands below a message's form: how it was used, what was refused, who listens, and how a page calls it.

Also a definition that is learned from what was recorded, shown as what it changes, for a person to save.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.html import format_html

from bridge.lately import since
from bridge.messages.definition import Definition, InvalidMessage, parse_definition
from bridge.messages.figures import refused_by_reason, reported_by_reason
from bridge.messages.learning import learned
from bridge.messages.markup import html_of, is_markup, preview_of, shown_of
from bridge.messages.recorded import recorded_lately
from bridge.messages.usage import READ_AT_MOST, Usage, usage_of
from bridge.models import Interaction, Message
from customers.models import Customer, Event
from engage.admin.parts.columns import link, may_view, page_url
from engage.admin.parts.differences import DiffLine, diff_of
from engage.notations.plurals import counted
from journeys.engine.in_app.figures import delivered_lately
from journeys.journey.listening import listeners_to
from journeys.models import InAppDelivery, Journey

_SAMPLES = 50
_SHOWN = 7  # buttons and forms with a colour of their own
_COLOURS = ("#9333ea", "#0ea5e9", "#f59e0b", "#10b981", "#ef4444", "#6366f1", "#84cc16", "#94a3b8")


def page_of(message: Message, *, request: HttpRequest, now: datetime) -> dict[str, Any]:
    """The sections that this member of staff may see."""
    try:
        definition = parse_definition(actions=message.actions, forms=message.forms)
    except InvalidMessage:  # of an older version
        return {}
    page: dict[str, Any] = {
        "html": html_of(definition),
        "preview": preview_of(definition),
        "shown": shown_of(message),
        "shown_may": "" if is_markup(message) else "allow-scripts",
        "widths": (1440, 390),
    }
    if may_view(Interaction, request=request):
        page |= _used(usage_of(message, definition, now=now)) | _refused(message, now=now)
    if may_view(InAppDelivery, request=request):
        page["delivered"] = _delivered(message, now=now)
    if may_view(Journey, request=request):
        page["listeners"] = _listeners(message, definition)
    return page


def _used(usage: Usage) -> dict[str, Any]:
    days = [f"{day:%b} {day.day}" for day in usage.days]
    rows = [
        [control.name, *(f"{number:,}" for number in control.by_day), f"{control.total:,}"]
        for control in usage.controls
    ]
    sums = ["all", *(f"{number:,}" for number in usage.totals), f"{usage.total:,}"]
    return {
        "usage": usage,
        "uses": counted(usage.total, "use"),
        "customers": f"{usage.customers:,}+" if usage.drawn else f"{usage.customers:,}",
        "read_at_most": READ_AT_MOST,
        "used": {"headers": ["Button or form", *days, "7 days"], "rows": [*rows, sums]},
        "chart": json.dumps({"labels": days, "datasets": _datasets(usage)}),
        "chart_options": json.dumps(_CHART),
    }


def _datasets(usage: Usage) -> list[dict[str, Any]]:
    """A series for each of the most used controls, and one for all the others."""
    series = [(control.name, control.by_day) for control in usage.controls[:_SHOWN]]
    others = [control.by_day for control in usage.controls[_SHOWN:]]
    if others:
        series.append(("others", [sum(numbers) for numbers in zip(*others, strict=True)]))
    return [
        {"label": name[:40], "data": [*numbers], "backgroundColor": colour, "maxBarThickness": 48}
        for (name, numbers), colour in zip(series, _COLOURS, strict=False)
    ]


_TICKS = {"color": "#7d8797"}
_CHART = {
    "animation": False,
    "responsive": True,
    "maintainAspectRatio": False,
    "plugins": {"legend": {"display": True, "position": "bottom", "labels": {"color": "#7d8797", "boxWidth": 12}}},
    "scales": {
        "x": {"stacked": True, "ticks": _TICKS, "grid": {"display": False}},
        "y": {"stacked": True, "beginAtZero": True, "ticks": {**_TICKS, "precision": 0}, "grid": {}},
    },
}


def _refused(message: Message, *, now: datetime) -> dict[str, Any]:
    reported, refused = reported_by_reason(message, now=now), refused_by_reason(message, now=now)
    reasons = sorted({*reported, *(refused or {})})
    marked = Interaction.objects.filter(
        message_id=message.key, workspace=message.workspace_id, message_problems__isnull=False
    )
    return {
        "refusals": {
            "headers": ["Reason", "Reported", "Refused"],
            "rows": [[_words(reason), _count(reported, reason), _count(refused, reason)] for reason in reasons],
        },
        "refusals_unknown": refused is None,
        "samples": {
            "headers": ["When", "Field", "Why", "Value", "Page"],
            "rows": [_sample(one) for one in marked.order_by("-pk")[:_SAMPLES]],
        },
    }


def _count(counts: Mapping[str, int] | None, reason: str) -> str:
    return "?" if counts is None else f"{counts.get(reason, 0):,}"


def _words(reason: str) -> str:
    return reason.replace("_", " ")


def _sample(interaction: Interaction) -> list[Any]:
    problem: Mapping[str, str] = (interaction.message_problems or [{}])[0]
    when = date_format(interaction.created_at, "DATETIME_FORMAT")
    return [
        format_html('<a href="{}" class="text-link engage-whole">{}</a>', page_url(interaction), when),
        problem.get("field", "-"),
        problem.get("why", "-"),
        problem.get("value", "-"),
        interaction.origin or "-",
    ]


def _delivered(message: Message, *, now: datetime) -> dict[str, Any]:
    found = delivered_lately(workspace_id=message.workspace_id, message_id=message.key, since=since(now))
    named = Journey.objects.in_bulk({one.journey_id for one in found})
    return {
        "headers": ["Day", "Journey", "Delivered", "Shown", "Acted", "Closed", "Expired"],
        "rows": [
            [
                f"{one.day:%b} {one.day.day}",
                link(named[one.journey_id]) if one.journey_id in named else "deleted",
                *(f"{number:,}" for number in (one.delivered, one.shown, one.acted, one.closed, one.expired)),
            ]
            for one in found
        ],
    }


def _listeners(message: Message, definition: Definition) -> dict[str, Any]:
    names = {action.event_name for action in definition.actions if action.event_name}
    names |= {form.submit.event_name for form in definition.forms if form.submit and form.submit.event_name}
    found = listeners_to(workspace_id=message.workspace_id, event_names=names, message_id=message.key)
    return {
        "headers": ["Journey", "What it does", "Active"],
        "rows": [
            [link(Journey(pk=one.journey_id, name=one.name)), "; ".join(one.how), "yes" if one.active else "no"]
            for one in found
        ],
    }


def may_learn(request: HttpRequest) -> bool:
    """Whether this member of staff may see what was recorded: a definition tells of it."""
    return all(may_view(model, request=request) for model in (Interaction, Event, Customer))


def learned_of(message: Message, *, now: datetime) -> tuple[dict[str, Any], Sequence[DiffLine]]:
    """The definition with what was recorded in the last seven days, and how it differs from the stored one."""
    actions, forms = learned(actions=message.actions, forms=message.forms, recorded=recorded_lately(message, now=now))
    stored, proposed = {"actions": message.actions, "forms": message.forms}, {"actions": actions, "forms": forms}
    return proposed, diff_of(stored, proposed)
