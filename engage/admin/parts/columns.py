"""How the admin shows a record's fields in lists, on the record's page and in panels."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.core.exceptions import FieldDoesNotExist, ObjectDoesNotExist
from django.db.models import DateTimeField, ForeignKey, JSONField, Model, OneToOneRel, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.utils import display_for_value

from engage.database.table import is_personal, persons
from engage.models import Workspace

Colours = Mapping[str, Mapping[str, str]]


def page_url(record: Model) -> str:
    """The URL of the record's page."""
    meta = record._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[quote(record.pk)])


def list_url(model: type[Model], **narrowed_to: str) -> str:
    """The URL of the model's list, filtered to the records that refer to these ids."""
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{url}?{urlencode({f'{field}__id__exact': pk for field, pk in narrowed_to.items()})}"


def link(record: Model, *, called: Any = None) -> SafeString:
    """A link to the record's page, by the record's own name unless it is called otherwise."""
    return format_html('<a href="{}" class="text-link">{}</a>', page_url(record), called or record)


def gone(key: Any) -> SafeString:
    """The bare id of a record that is not there any more."""
    return format_html('{} <span class="text-subtle">(gone)</span>', key)


def may_view(model: type[Model], *, request: HttpRequest) -> bool:
    """Whether this member of staff may view the model's records: their pages and their names."""
    return bool(admin.site.get_model_admin(model).has_view_permission(request))


def sees_people(request: HttpRequest) -> bool:
    """Whether this member of staff may see what is known of customers, sent to them and said by them."""
    return may_view(persons(), request=request)


def choice_label(record: Any, *, request: HttpRequest) -> str:
    """The record among choices from all workspaces, where several may have its name."""
    told = hasattr(type(record), "workspace") and may_view(Workspace, request=request)
    return f"{record} · {record.workspace}" if told else str(record)


def moment(time: datetime | None) -> SafeString | None:
    """The time as an element, of which the browser makes "3 minutes ago"; None for none."""
    if time is None:
        return None
    return format_html('<time datetime="{}">{}</time>', time.astimezone(UTC).isoformat(), shown(time))


def shown(value: Any) -> str:
    """The value as text, a time to the minute and in UTC; "-" for none."""
    return str(display_for_value(value, "-"))


def badge(text: str, colour: str) -> SafeString:
    """The text as a label in a colour of the theme: success, info, warning, danger, or "" for grey."""
    return render_to_string("unfold/helpers/label.html", {"text": text.replace("_", " "), "type": colour})


def count_up_to(records: QuerySet[Any], *, most: int) -> str:
    """The number of records, counted up to `most` only: "1,000+" if there are more than 1,000."""
    counted = records.order_by()[: most + 1].count()
    return f"{most:,}+" if counted > most else f"{counted:,}"


def json_text(value: Any, *, as_written: bool = False) -> str:
    """The value as indented JSON; each object begins with its id and type, unless its order is known to be right."""
    return json.dumps(value if as_written else named_first(value), indent=2, ensure_ascii=False)


def json_block(value: Any, *, as_written: bool = False) -> SafeString | None:
    """The value as indented JSON on a page; None for null, as for any field without a value."""
    text = json_text(value, as_written=as_written)
    return None if value is None else format_html('<pre class="engage-json">{}</pre>', text)


def json_form(value: Any, *, name: str, form: str, as_written: bool = False) -> SafeString | None:
    """The value as JSON of which the page's script makes this form (json_field.py), and which nobody can change.

    None for nothing: a form of it would only have inputs.
    """
    if not value:
        return None
    return format_html(
        '<textarea id="id_{}" class="engage-json" readonly rows="4" aria-label="{}" data-form="{}">{}</textarea>',
        name, json.loads(form)["label"], form, json_text(value, as_written=as_written),
    )  # fmt: skip


def json_line(value: Any) -> str:
    """The value as JSON in one line."""
    return json.dumps(value, ensure_ascii=False)


def named_first(value: Any) -> Any:
    """Moves `id` and `type` to the front, because jsonb orders an object's names by length."""
    match value:
        case dict():
            first = {name: value[name] for name in ("id", "type") if name in value}
            return {name: named_first(inner) for name, inner in {**first, **value}.items()}
        case list():
            return [named_first(inner) for inner in value]
    return value


@dataclass(frozen=True)
class _Column:
    """A column for a field. The admin calls it with the record, and compares it with other columns."""

    field: str

    @property
    def __name__(self) -> str:
        return self.field

    @property
    def short_description(self) -> str:
        return self.field.replace("_", " ")


class Linked(_Column):
    """A link to the record that the field refers to, or its bare id if that record is gone.

    A list fetches these records for all its rows at once. It does not join, because that would hide a row whose record
    is gone.
    """

    def __call__(self, record: Model) -> SafeString | None:
        key = getattr(record, f"{self.field}_id")
        if key is None:
            return None
        try:
            linked = getattr(record, self.field)
        except ObjectDoesNotExist:
            linked = None
        # None also where the field may be empty, and its record was deleted after this one was read.
        return link(linked) if linked else gone(key)


class LinkedBack(_Column):
    """A link to the one record that refers to this one."""

    def __call__(self, record: Model) -> SafeString | None:
        try:
            return link(getattr(record, self.field))
        except ObjectDoesNotExist:
            return None


@dataclass(frozen=True)
class Badge(_Column):
    """A choice as a label, in the colour of its value."""

    colours: tuple[tuple[str, str], ...]

    def __call__(self, record: Model) -> SafeString | None:
        value = getattr(record, self.field)
        return badge(value, dict(self.colours).get(value, "")) if value else None


class Json(_Column):
    """A JSON value, indented."""

    def __call__(self, record: Model) -> SafeString | None:
        return json_block(getattr(record, self.field))


@dataclass(frozen=True)
class JsonForm(_Column):
    """A JSON value as the form that its author has, with nothing in it that can be changed."""

    form: str

    def __call__(self, record: Model) -> SafeString | None:
        return json_form(getattr(record, self.field), name=self.field, form=self.form)


class Lines(_Column):
    """Texts, one in each line."""

    def __call__(self, record: Model) -> SafeString | None:
        texts = getattr(record, self.field)
        return format_html_join("", "<div>{}</div>", ((text,) for text in texts)) if texts else None


class Moment(_Column):
    """A time: exact and in UTC, which the browser turns into "3 minutes ago" (static/engage/times.js)."""

    def __call__(self, record: Model) -> SafeString | None:
        return moment(getattr(record, self.field))


class Masked(_Column):
    """What people are or did, in place of which who may not view customers sees this."""

    def __call__(self, record: Model) -> str:
        return "•••"


class Id(_Column):
    """An id that one click selects, for copying."""

    def __call__(self, record: Model) -> SafeString:
        return format_html('<code class="engage-copy">{}</code>', getattr(record, self.field))


def column_of(model: type[Model], name: str, *, request: HttpRequest, colours: Colours | None = None) -> Any:
    """The admin column for the field: a `_Column` if its kind has one, else its name.

    None if it refers to records that this member of staff may not view.
    """
    if is_personal(model, name) and not sees_people(request):
        return Masked(name)
    if colours and name in colours:
        return Badge(name, tuple(colours[name].items()))
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return name
    match field:
        case ForeignKey():
            return Linked(name) if may_view(field.related_model, request=request) else None
        case OneToOneRel():
            return LinkedBack(name) if may_view(field.related_model, request=request) else None
        case JSONField():
            return Json(name)
        case DateTimeField():
            return Moment(name)
    return name


def linked_fields(columns: Iterable[Any]) -> list[str]:
    """The fields that the columns link to, to prefetch for all rows at once."""
    return [column.field for column in columns if isinstance(column, Linked)]
