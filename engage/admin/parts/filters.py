"""Filters of the admin's lists. None queries a table for its distinct values, lists its rows or counts them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

from django.contrib.admin import FieldListFilter
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime
from unfold.contrib.filters import admin as unfold
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesDropdownFilter
from unfold.contrib.filters.forms import SearchForm

from engage.admin.parts.columns import choice_label
from engage.admin.rights.reach import reachable
from engage.database.object_ids import ObjectIdField
from engage.database.parts import MOST_LOOKED_AT
from engage.models import Workspace

__all__ = [
    "AutocompleteSelectFilter",
    "BooleanRadioFilter",
    "ChoicesDropdownFilter",
    "ChoicesView",
    "ExactFilter",
    "LatestChoicesFilter",
    "SelectFilter",
    "TimesFilter",
]

# How much earlier than what it says a row's id may have been drawn: clocks differ, and work waits.
_ID_IS_EARLIER = timedelta(hours=1)
_EARLIEST, _LATEST = datetime(1970, 1, 2, tzinfo=UTC), datetime(2106, 1, 1, tzinfo=UTC)


class ExactFilter(FieldListFilter):
    """An input for the whole value of a field: a name, or the id of the record that it refers to."""

    template = "unfold/filters/filters_field.html"

    @property
    def parameter(self) -> str:
        """The same as in Django's own filters, so a link works with either kind."""
        return f"{self.field_path}__id__exact" if self.field.is_relation else self.field_path

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter]

    def value(self) -> str:
        sent: Any = self.used_parameters.get(self.parameter) or [""]
        return str(sent[-1]).strip()

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        narrowed = queryset.filter(**{self.field_path: value})
        return in_workspace_of(narrowed, self.field.related_model, value) if self.field.is_relation else narrowed

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        label = f"By {self.title} id" if self.field.is_relation else f"By {self.title}"
        yield {"form": SearchForm(self.parameter, label, data={self.parameter: self.value()})}


class AutocompleteSelectFilter(unfold.AutocompleteSelectFilter):
    """A choice among the records of a small table, by name."""

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Names what was chosen like the choices that its input loads."""
        for choice in super().choices(changelist):
            field = choice["form"].fields[self.lookup_kwarg]
            field.queryset = reachable(field.queryset, request=self.request)
            field.label_from_instance = partial(choice_label, request=self.request)
            yield choice


class SelectFilter(AutocompleteSelectFilter):
    """The same among records that have a workspace, by which it also filters."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        narrowed = super().queryset(request, queryset)
        value = self.value()
        return (
            in_workspace_of(narrowed, self.field.related_model, value) if narrowed is not None and value else narrowed
        )


def in_workspace_of(records: QuerySet[Any], model: Any, pk: str) -> QuerySet[Any]:
    """Filters also by the workspace of the record `pk`, because workspace is the first column of some indexes."""
    if model is Workspace:
        return records
    found = model.objects.filter(pk=pk).values_list("workspace_id", flat=True).first()
    return records.filter(workspace=found) if found else records


class LatestChoicesFilter(ChoicesDropdownFilter):
    """For a table that grows, and a column that no index has: a choice that hardly any row has would be looked for in
    all of them. So it is looked for in the latest MOST_LOOKED_AT, unless a person or a time narrows the list.
    """

    def __init__(self, field: Any, request: HttpRequest, params: Any, model: Any, *more: Any, **named: Any) -> None:
        super().__init__(field, request, params, model, *more, **named)
        self.title = f"{self.title}, of the latest {MOST_LOOKED_AT:,}"
        self._wide = {"p", "workspace__id__exact", "journey__id__exact"}
        self._wide |= {f"{one.name}__exact" for one in model._meta.concrete_fields if one.choices}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        found: Any = super().queryset(request, queryset)
        narrowing = {name for name, value in request.GET.items() if value} - self._wide
        if narrowing or not request.GET.get(f"{self.field_path}__exact"):
            return cast("QuerySet[Any]", found)
        oldest = queryset.order_by("-pk").values_list("pk", flat=True)[MOST_LOOKED_AT - 1 : MOST_LOOKED_AT].first()
        return cast("QuerySet[Any]", found if oldest is None else found.filter(pk__gte=oldest))


class TimesFilter(FieldListFilter):
    """From one time to before another, in the browser's zone where it runs scripts, in UTC otherwise.

    Ids begin with their time. Where they are the key, which orders the list, it is narrowed by them as well.
    """

    template = "engage/admin/times_filter.html"

    def expected_parameters(self) -> list[str | None]:
        return ["since", "before"]

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        since, before = self.time("since"), self.time("before")
        if since is not None:
            queryset = queryset.filter(**{f"{self.field_path}__gte": since})
        if before is not None:
            queryset = queryset.filter(**{f"{self.field_path}__lt": before})
        if isinstance(queryset.model._meta.pk, ObjectIdField):
            queryset = narrowed_by_id(queryset, "pk", since=since, before=before)
        return queryset

    def time(self, name: str) -> datetime | None:
        """The time that was asked for; None if there is none that can be read."""
        return time_of(self.sent(name))

    def sent(self, name: str) -> str:
        sent: Any = self.used_parameters.get(name) or [""]
        return str(sent[-1]).strip()

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        asked = ((name, label, self.time(name)) for name, label in (("since", "From"), ("before", "Until")))
        yield {
            "times": [
                {"name": name, "label": label, "value": time.strftime("%Y-%m-%dT%H:%M") if time else ""}
                for name, label, time in asked
            ]
        }


def time_of(text: str) -> datetime | None:
    """The time in ISO 8601, in UTC where it names no zone; None if it is none."""
    try:
        time = parse_datetime(text)
    except ValueError:
        return None
    return None if time is None else _bounded(time if time.tzinfo else time.replace(tzinfo=UTC))


def _bounded(time: datetime) -> datetime:
    """The time in UTC, or the nearest that an id can begin with: there is room around it to reckon with."""
    return min(max(time, _EARLIEST), _LATEST).astimezone(UTC)


def narrowed_by_id(
    records: QuerySet[Any], field: str, *, since: datetime | None, before: datetime | None
) -> QuerySet[Any]:
    """Those whose id in the field was drawn at about that time, or a little earlier: a range of its index."""
    if since is not None:
        records = records.filter(**{f"{field}__gte": _first_id(since - _ID_IS_EARLIER)})
    return records if before is None else records.filter(**{f"{field}__lt": _first_id(before + _ID_IS_EARLIER)})


def _first_id(time: datetime) -> str:
    return f"{max(int(time.timestamp()), 0):08x}"


class ChoicesView(AutocompleteJsonView):
    """The choices that an input loads while staff type in it, as the filters' do."""

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, str]:
        """Asks for no workspace by itself: the admins of records that have one fetch it for the whole page."""
        found = super().serialize_result(obj, to_field_name)
        return {**found, "text": choice_label(obj, request=self.request)}
