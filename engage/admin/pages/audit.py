"""The audit: who did what to what, to be filtered, read, and taken along as CSV."""

import csv
import re
from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import display

from engage.admin.parts.acts import Act, Button, Place, may_look
from engage.admin.parts.audited import in_words
from engage.admin.parts.columns import Json, json_line
from engage.admin.parts.differences import diff_of
from engage.admin.parts.filters import ChoicesDropdownFilter, ExactFilter, TimesFilter
from engage.admin.parts.records import ReadOnlyAdmin
from engage.database.object_ids import is_object_id
from engage.models import AuditEntry

MOST_ROWS = 100_000
_LONGEST_LINE = 300  # letters
_COLUMNS = (
    "id", "at", "workspace_id", "actor_kind", "actor_id", "actor_name", "action", "object_kind", "object_id",
    "object_name", "changes", "note", "request_id", "address",
)  # fmt: skip


class _Changes(Json):
    """Each field with its value before and after."""

    def __call__(self, record: Any) -> SafeString | None:
        changes = (record.changes or {}).items()
        return format_html_join("", "{}", ((_told(name, *both),) for name, both in changes)) or None


def _told(name: str, before: Any, after: Any) -> SafeString:
    """In one line; what is longer than that, as a diff."""
    old, new = json_line(before), json_line(after)
    if len(old) + len(new) <= _LONGEST_LINE:
        return format_html("<div><b>{}</b>: <code>{}</code> → <code>{}</code></div>", name, old, new)
    diff = render_to_string("engage/admin/diff.html", {"diff": diff_of(before, after)})
    return format_html("<div><b>{}</b>:</div>{}", name, diff)


def _as_csv(model_admin: ReadOnlyAdmin, request: HttpRequest, _: None) -> StreamingHttpResponse:
    """The list as it is filtered, in a file; the first hundred thousand rows."""
    chosen = model_admin.get_changelist_instance(request).get_queryset(request)
    rows = chosen.prefetch_related(None).values_list(*_COLUMNS)[:MOST_ROWS]
    answer = StreamingHttpResponse(_lines(rows.iterator(chunk_size=500)), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="audit.csv"'
    return answer


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    acts = (
        Act(
            "csv", _as_csv, of_list=True, opens=True, may=may_look, button=Button("Download as CSV"), place=Place.TOOLS
        ),
    )
    ordering = ("-at", "-id")
    list_display = ("at", "who", "action", "what", "told", "workspace", "address")
    list_filter = (
        ("action", ChoicesDropdownFilter),
        ("actor_kind", ChoicesDropdownFilter),
        ("actor_id", ExactFilter),
        ("object_kind", ExactFilter),
        ("object_id", ExactFilter),
        ("at", TimesFilter),
    )
    search_help_text = "Id of an entry, of an object, or of a request"
    fieldsets = (
        (None, {"fields": (("at", "action"), "note")}),
        ("Who", {"fields": ("actor_kind", ("actor_name", "actor_id"), ("address", "request_id"))}),
        ("What", {"fields": (("object_kind", "workspace"), ("object_name", "object_id"), "changes")}),
        (None, {"fields": (("id", "kept_until"),)}),
    )

    @display(description="who")
    def who(self, entry: AuditEntry) -> str:
        return entry.actor_name or entry.actor_id or entry.get_actor_kind_display()

    @display(description="what")
    def what(self, entry: AuditEntry) -> str:
        return f"{entry.object_kind} {entry.object_name or entry.object_id}".strip()

    @display(description="in words")
    def told(self, entry: AuditEntry) -> str:
        return in_words(entry)

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        return _Changes("changes") if name == "changes" else super().shown_as(name, request)

    def matching(self, text: str, request: HttpRequest) -> Q:
        return Q(object_id=text) if is_object_id(text) else Q(request_id=text)


class _Line:
    """A file that gives back what is written."""

    def write(self, text: str) -> str:
        return text


def _lines(rows: Iterator[tuple[Any, ...]]) -> Iterator[str]:
    writer: Any = csv.writer(_Line())
    yield writer.writerow(_COLUMNS)
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


# A spreadsheet may take semicolons as the ends of cells, whatever quotes are around them.
_FORMULA_LATER = re.compile(r"(;\s*)([=+@-])")


def _cell(value: Any) -> str:
    """As text, and never as a formula: a spreadsheet would calculate one."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return _FORMULA_LATER.sub(lambda found: f"{found[1]}\\u{ord(found[2]):04x}", json_line(value))
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    text = _FORMULA_LATER.sub(r"\1'\2", text)
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r"} else text
