"""The base of all admin lists and record pages.

1. No list counts its table: "next" goes on until a page is empty. What is cheap is told: how many there are on an only
   page, and of all records, up to a bound.
2. Lists are ordered newest first along an index, and cannot be sorted by another column.
3. Linked records are fetched once per page, and may be gone (see Linked). Staff who may not view them see no such
   column, row or filter, and cannot choose among them.
4. A search takes a whole value, such as an id, and finds it through an index. The small tables that staff write are
   also searched for parts of names, and customers for parts of theirs (customers/admin/search.py).

`fields` and `fieldsets` list everything that a page shows. Editable fields get an input, the others are read-only, and
the page that creates a record has only the inputs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.contrib.admin import ShowFacets
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import flatten_fieldsets, get_fields_from_path
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import FieldDoesNotExist, ObjectDoesNotExist, PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator

from engage.admin.parts.acts import ActingAdmin
from engage.admin.parts.columns import (
    Colours,
    Id,
    JsonForm,
    column_of,
    count_up_to,
    linked_fields,
    may_view,
    sees_people,
)
from engage.admin.parts.edits import CheckedEdits
from engage.admin.parts.filters import AutocompleteSelectFilter
from engage.admin.parts.json_field import JsonField
from engage.admin.parts.panels import tables_for
from engage.admin.parts.timeline import timeline_of
from engage.admin.rights.reach import reachable
from engage.database.object_ids import ObjectIdField, is_object_id
from engage.database.table import is_personal
from engage.models import Workspace

_COUNTED_AT_MOST = 1_000
_BY_WORKSPACE = ("workspace", AutocompleteSelectFilter)


class RecordAdmin(ModelAdmin, ActingAdmin, CheckedEdits):  # type: ignore[misc] # two of Unfold's members are not typed as Django's
    """The admin of a model whose records staff may create and edit.

    `written_once` names the fields that cannot change after creation, and `colours` those that are shown as labels.
    `titled_by` names what a record without a name of its own is called by, and `rank` tells what is found first.
    `never_added` and `never_deleted` say why nobody may do that by hand, if so: no permission allows it.
    Of a kind that `reads_people`, what is written is filled in from what is known of them and goes elsewhere: whoever
    writes it must be allowed to see them, as for a key (rights/key_rights.py).
    """

    paginator = InfinitePaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = 50
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)
    sortable_by = ()
    actions = None
    list_filter_submit = True
    warn_unsaved_form = True
    change_list_template = "engage/admin/change_list.html"
    list_before_template: Any = "engage/admin/acts_above.html"
    change_form_outer_before_template: Any = "engage/admin/acts_above.html"
    change_form_outer_after_template: Any = "engage/admin/panels.html"
    written_once: ClassVar[tuple[str, ...]] = ()
    titled_by: ClassVar[tuple[str, ...]] = ()
    rank: ClassVar[int] = 1
    filters_by_workspace: ClassVar[bool] = True
    colours: ClassVar[Colours] = {}
    never_added: ClassVar[str] = ""
    never_deleted: ClassVar[str] = ""
    reads_people: ClassVar[bool] = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        may_add = not self.never_added and super().has_add_permission(request)
        return may_add and not self._hidden_choices(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_change_permission(request, obj) and (not self.reads_people or sees_people(request))

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if self.never_added:
            raise PermissionDenied(self.never_added)
        if super().has_add_permission(request) and (hidden := self._hidden_choices(request)):
            raise PermissionDenied(f"To add one, your account also needs the permission to view {', '.join(hidden)}.")
        return super().add_view(request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if self.never_deleted:
            raise PermissionDenied(self.never_deleted)
        return super().delete_view(request, *args, **kwargs)

    def get_list_display(self, request: HttpRequest) -> Any:
        columns = [self.shown_as(name, request) for name in super().get_list_display(request)]
        return [*(column for column in columns if column is not None), *self.columns_of_acts(request)]

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> Any:
        """Django knows them by their names alone, of which `shown_as` may have made columns."""
        named = self.list_display_links
        if not named:
            return super().get_list_display_links(request, list_display)
        return [column for column in list_display if getattr(column, "__name__", column) in named]

    def get_list_filter(self, request: HttpRequest) -> Any:
        filters: Any = [*([_BY_WORKSPACE] if self.filters_by_workspace else []), *super().get_list_filter(request)]
        return [one for one in filters if not isinstance(one, tuple) or self._may_view_field(one[0], request)]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """What its filters and links ask for, and nothing else.

        Django takes any field of the model: a list that is narrowed by what it hides tells it, letter by letter.
        """
        if request is None or not super().lookup_allowed(lookup, value, request):
            return False
        name = lookup.partition("__")[0]
        try:
            field: Any = self.opts.get_field(name)
        except FieldDoesNotExist:  # a filter's own parameter
            return True
        offered = {one[0] for one in self.get_list_filter(request) if isinstance(one, tuple)}
        is_link = field.primary_key or (field.is_relation and self._may_view_field(name, request))
        return name in offered or is_link

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """The record, which its pages call as lists do."""
        record = super().get_object(request, *args, **kwargs)
        if record is not None and self.titled_by:
            vars(record)["called"] = self.title_of(record, request)
        return record

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        own = reachable(super().get_queryset(request), request=request)
        return own.prefetch_related(*linked_fields(self.get_list_display(request)))

    def get_field_queryset(self, db: str | None, db_field: Any, request: HttpRequest) -> QuerySet[Any]:
        """What a record may refer to: what this member of staff sees."""
        choices = super().get_field_queryset(db, db_field, request)
        if choices is None:
            choices = db_field.remote_field.model.objects.using(db)
        return reachable(choices.all(), request=request)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in self.get_autocomplete_fields(request):
            kwargs.setdefault("widget", _FoundChoice(db_field, self.admin_site, using=kwargs.get("using")))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes: Any = super().get_changelist_instance(request)
        changes.total = self._total(changes)
        return changes

    def _total(self, changes: Any) -> str:
        """How many records there are, where that is known or cheap to know; "" otherwise."""
        shown = len(changes.result_list)
        if changes.page_num == 1 and shown < self.list_per_page:
            return f"{shown:,}"
        if changes.page_num != 1 or changes.query or changes.has_active_filters:
            return ""
        return count_up_to(changes.queryset, most=_COUNTED_AT_MOST)

    def get_paginator(self, request: HttpRequest, queryset: Any, *args: Any, **kwargs: Any) -> Any:
        """The model's own records are not counted. The history of one record is, because it is short."""
        if queryset.model is LogEntry:
            return Paginator(queryset, *args, **kwargs)
        return super().get_paginator(request, queryset, *args, **kwargs)

    def get_search_fields(self, request: HttpRequest) -> Any:
        names = {one: one.lstrip("^=@").partition("__")[0] for one in super().get_search_fields(request)}
        hidden = {one for one, name in names.items() if is_personal(self.model, name)}
        return [one for one in names if one not in hidden or sees_people(request)]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Finds nothing for staff who may search by no field; Django would then show everything."""
        if search_term.strip() and not self.get_search_fields(request):
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    def title_of(self, record: Any, request: HttpRequest) -> str:
        """What the record is called: by the names in `titled_by` of those that this member of staff may view."""
        named = [name for name in self.titled_by if self._may_view_field(name, request)]
        told = [str(getattr(record, name)) for name in named if _is_there(record, name)]
        return " in ".join(told) or str(record)

    def hits(self, request: HttpRequest, text: str, *, most: int) -> list[Any]:
        """The records that the box for any record shows for the text: the latest."""
        everything = self.get_queryset(request).order_by("-pk")
        records, _ = self.get_search_results(request, everything, text)
        return list(records[:most])

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        may_edit = self.has_add_permission(request) if obj is None else self.has_change_permission(request, obj)

        def arranged(name: str) -> Any:
            if may_edit and self._has_input(name, obj, request):
                return name
            return self._on_page(name, request) if obj is not None else None

        return [
            (title, {**options, "fields": fields})
            for title, options in super().get_fieldsets(request, obj)
            if (fields := _replaced(options["fields"], arranged))
        ]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 (Django's)
        """The edit form also checks unique constraints over `written_once` fields, for which it has no input.

        Django leaves a form's own fields in, even where the page shows them read-only: sent without, they were emptied.
        """
        form: Any = super().get_form(request, obj, change, **kwargs)
        kept = set(self.written_once) if change else set()

        class WholeForm(form):  # type: ignore[misc] # created for each request
            def _get_validation_exclusions(self) -> set[str]:
                return set(super()._get_validation_exclusions()) - kept

        for name in [name for name in WholeForm.base_fields if not self._has_input(name, obj, request)]:
            del WholeForm.base_fields[name]
        return WholeForm

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """With the workspace, where there is only one to choose.

        Leaves out values in the address that their field would refuse: not every input can show such a value.
        """
        fields = self.get_form(request).base_fields
        initial = super().get_changeform_initial_data(request)
        if "workspace" in fields and len(own := reachable(Workspace.objects.all(), request=request)[:2]) == 1:
            initial = {"workspace": own[0].pk, **initial}
        return {name: value for name, value in initial.items() if name in fields and _takes(fields[name].clean, value)}

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> dict[str, Any]:
        """The key of a new record is made from its name as that is typed, until somebody edits the key."""
        inputs = set(map(str, flatten_fieldsets(self.get_fieldsets(request, obj))))
        return {"key": ["name"]} if obj is None and {"key", "name"} <= inputs else {}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        names = flatten_fieldsets(super().get_fieldsets(request, obj))
        shown = [self._on_page(name, request) for name in names if not self._has_input(name, obj, request)]
        return [field for field in shown if field is not None]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Staff who may not view a record may not delete it either: the page that asks them names it."""
        if self.never_deleted:
            return False
        return super().has_delete_permission(request, obj) and self.has_view_permission(request, obj)

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: Any) -> HttpResponse:
        """Goes back to the list. Django would do so only for staff who may change records."""
        super().response_delete(request, obj_display, obj_id)
        return self.response_post_save_change(request, None)

    def may_write(self, name: str, request: HttpRequest) -> bool:
        """Whether this member of staff may write this field of records that they may add or change."""
        return True

    def _has_input(self, name: str, obj: Any, request: HttpRequest) -> bool:
        if (obj is not None and name in self.written_once) or not self.may_write(name, request):
            return False
        if name in self.form.base_fields:
            return True
        try:
            return bool(getattr(self.opts.get_field(name), "editable", False))
        except FieldDoesNotExist:
            return False

    def _on_page(self, name: str, request: HttpRequest) -> Any:
        return Id(name) if name == "id" else self.shown_as(name, request)

    def _hidden_choices(self, request: HttpRequest) -> list[str]:
        """What a new record refers to, or reads, of the kinds that this member of staff may not view."""
        hidden = [name for name in self.autocomplete_fields if not self._may_view_field(name, request)]
        return [*hidden, *(["customers"] if self.reads_people and not sees_people(request) else [])]

    def _may_view_field(self, name: str, request: HttpRequest) -> bool:
        field: Any = get_fields_from_path(self.model, name)[-1]
        if is_personal(field.model, field.name) and not sees_people(request):
            return False
        return not field.is_relation or may_view(field.related_model, request=request)

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        """The column or the read-only field for this name; None if this member of staff may not see it.

        What authors have a form for is shown as that form.
        """
        field = self.form.base_fields.get(name)
        if isinstance(field, JsonField) and field.offered:
            return JsonForm(name, field.offered)
        return column_of(self.model, name, request=request, colours=self.colours)

    def above(self, record: Any) -> str:
        """What stands above the buttons of a record's page; "" for nothing."""
        return ""

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        """What the page of a record tells beside its fields and panels, for its templates."""
        return {}

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        record = context["original"]
        context["refused_fields"] = [field for field in context["adminform"].form if field.errors]
        if record is not None:
            context |= {"subtitle": record.called} if self.titled_by else {}
            context["panels"] = tables_for(record, request=request)
            context["history_told"] = timeline_of(record, request=request)
            context |= {"acts": self.drawn(request, record), "told_above": self.above(record)}
            context |= self.beside(record, request)
        return super().render_change_form(request, context, *args, **kwargs)


class ReadOnlyAdmin(RecordAdmin):
    """The admin of records that the service writes: they can be viewed and found by a whole id, but not changed."""

    search_fields = ("pk",)  # makes the search box appear; matching() decides what it finds
    never_added = "The service makes such records itself; they are not made by hand."
    never_deleted = "The service makes such records itself; they are not deleted by hand."

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def matching(self, text: str, request: HttpRequest) -> Q:
        """The condition for records that match the text (stripped, not empty), if it is not the id of one."""
        return Q(pk__in=[])

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Looks for the id first: one condition over two indexes could make PostgreSQL scan the table instead."""
        text = search_term.strip()
        if not text:
            return queryset, False
        if isinstance(self.opts.pk, ObjectIdField) and is_object_id(text):
            by_id = queryset.filter(pk=text)
            if by_id.exists():
                return by_id, False
        return queryset.filter(self.matching(text, request)), False


class _FoundChoice(AutocompleteSelect):
    """Django's fails where a refused form is drawn again with what can be no key, such as `abc` of an integer."""

    def optgroups(self, name: str, value: Any, attr: Any = None) -> Any:
        clean = partial(self.field.target_field.clean, model_instance=None)
        return super().optgroups(name, [one for one in value if _takes(clean, one)], attr)


def _is_there(record: Any, name: str) -> bool:
    """Whether what the field refers to was not deleted meanwhile."""
    try:
        return getattr(record, name) is not None
    except ObjectDoesNotExist:
        return False


def _takes(clean: Callable[[Any], Any], value: Any) -> bool:
    try:
        clean(value)
    except ValidationError:
        return False
    return True


def _replaced(fields: Any, replace: Callable[[str], Any]) -> list[Any]:
    """The page's rows of fields with each name replaced; a name whose replacement is None is left out."""
    rows = [[entry] if isinstance(entry, str) else entry for entry in fields]
    replaced = [[new for name in row if (new := replace(name)) is not None] for row in rows]
    return [row[0] if len(row) == 1 else row for row in replaced if row]
