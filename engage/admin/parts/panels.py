"""Panels: below a record's fields, the latest records that refer to it.

A panel is declared beside the admin of the records that it shows, because an app may import the apps below it, never
those above: `journeys` puts its jobs on the customer's page.
"""

from collections import defaultdict
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import label_for_field, lookup_field
from django.db.models import Model
from django.http import HttpRequest
from unfold.utils import display_for_field, display_for_value

from engage.admin.parts.columns import column_of, link, linked_fields, list_url, may_view


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The latest records of `model` whose field `by` refers to the page's record.

    Those with a lower `place` come first. The column `opens` links to them. `order` needs an index that begins with
    `by`, or with the workspace and `by`. On a page in tabs it is in the `tab` of this name.
    """

    model: type[Model]
    by: str
    columns: tuple[str, ...]
    opens: str = "__str__"
    order: tuple[str, ...] = ("-pk",)
    title: str = ""
    rows: int = 20
    place: int = 1
    tab: str = ""


@dataclass(frozen=True)
class Table:
    """A panel with its rows, ready for the template."""

    title: str
    tab: str
    headers: list[str]
    rows: list[list[Any]]
    more: str
    is_complete: bool


_panels: dict[type[Model], list[Panel]] = defaultdict(list)


def show_on(page: type[Model], *panels: Panel) -> None:
    """Adds the panels to the pages of this model's records."""
    _panels[page] += panels


def tables_for(record: Model, *, request: HttpRequest) -> list[Table]:
    """The panels of the record's page that this member of staff may view."""
    return [
        _table(panel, record, request=request)
        for panel in sorted(_panels[type(record)], key=attrgetter("place"))
        if may_view(panel.model, request=request)
    ]


def _table(panel: Panel, record: Any, *, request: HttpRequest) -> Table:
    model_admin: Any = admin.site.get_model_admin(panel.model)
    named = (column_of(panel.model, name, request=request, colours=model_admin.colours) for name in panel.columns)
    columns = [column for column in named if column is not None]
    belonging = model_admin.model.objects.filter(**{panel.by: record.pk})
    if panel.by != "workspace":  # the first column of some indexes
        belonging = belonging.filter(workspace=record.workspace_id)
    found = list(belonging.order_by(*panel.order).prefetch_related(*linked_fields(columns))[: panel.rows + 1])
    opens = panel.opens
    return Table(
        tab=panel.tab,
        title=panel.title or str(panel.model._meta.verbose_name_plural),
        headers=[str(label_for_field(column, panel.model, model_admin)) for column in columns],
        rows=[[_cell(column, row, model_admin, opens=opens) for column in columns] for row in found[: panel.rows]],
        more=list_url(panel.model, **{panel.by: record.pk}),
        is_complete=len(found) <= panel.rows,
    )


def _cell(column: Any, row: Model, model_admin: Any, *, opens: str) -> Any:
    if getattr(column, "field", column) == opens:
        return link(row, called=_text(column, row, model_admin))
    return _text(column, row, model_admin)


def _text(column: Any, row: Model, model_admin: Any) -> Any:
    field, _, value = lookup_field(column, row, model_admin)
    return display_for_field(value, field, "-") if field is not None else display_for_value(value, "-")
