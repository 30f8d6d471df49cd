"""Pages of definitions: what they save and delete goes the way of calls and seed files (engage/resources/)."""

import re
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from engage.admin.parts.edits import TakenMeanwhile
from engage.admin.parts.records import RecordAdmin
from engage.errors import Refusal
from engage.resources.resource import InvalidDefinition, Resource

_CONFIRM = "confirm"


class DefinitionForm(forms.ModelForm[Any]):
    """Checks what is checked wherever such a definition is saved. Mistakes stand at their field, or at `otherwise`."""

    resource: ClassVar[Resource[Any]]
    otherwise: ClassVar[str | None] = None

    def clean(self) -> None:
        super().clean()
        if self.errors:
            return
        kind, workspace = self.resource, self.cleaned_data.get("workspace")
        if workspace is not None and kind.find(workspace.pk, self.cleaned_data[kind.named_by]).exists():
            self.add_error(kind.named_by, f"The workspace has a {kind.noun} with this {kind.named_by} already.")
            return
        try:
            self.checked()
        except Refusal as refusal:
            for one in refusal.all_found():
                field = re.split(r"[.\[]", one.place)[0]
                self.add_error(field if field in self.fields else self.otherwise, one.message)

    def checked(self) -> Any:
        """What would be saved. Raises all mistakes."""
        stored: Any = QuerySet(self.resource.model).filter(pk=self.instance.pk).first()
        key = self.cleaned_data.get(self.resource.named_by, "")
        row = stored if stored is not None else self.resource.new(self.cleaned_data.get("workspace"), key)
        return self.resource.checked(row, self.changes())

    def changes(self) -> dict[str, Any]:
        """The fields to set."""
        own = {"workspace", self.resource.named_by, _CONFIRM}
        return {name: value for name, value in self.cleaned_data.items() if name not in own}

    def _post_clean(self) -> None:
        """The instance keeps what is stored: the resource alone writes."""


class DefinitionAdmin(RecordAdmin):
    """The admin of a kind of definition, whose `form` is a DefinitionForm. With an `icon` it is listed among the
    settings in the sidebar. Whether it `reads_people` each says itself.
    """

    resource: ClassVar[Resource[Any]]
    icon: ClassVar[str] = ""
    audited_elsewhere = True

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        said = form.cleaned_data
        named = self.resource.named_by
        key = said.get(named) or getattr(obj, named)
        try:
            saved = self.resource.save(
                workspace=said.get("workspace") or obj.workspace,
                key=key,
                now=timezone.now(),
                confirmed=bool(said.get(_CONFIRM)),
                **form.changes(),
            )
        except InvalidDefinition as refusal:  # one too many
            self.message_user(request, refusal.message, messages.ERROR)
            return
        if not change and saved.outcome != "created":
            raise TakenMeanwhile
        vars(obj).update({name: value for name, value in vars(saved.row).items() if name != "_state"})

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().delete_view(request, *args, **kwargs)
        except Refusal as refusal:  # something names it
            self.message_user(request, refusal.message, messages.ERROR)
            return HttpResponseRedirect(request.path.replace("/delete/", "/change/"))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.resource.delete(obj)


def definitions_with_icon() -> list[tuple[str, str, type[Model]]]:
    """What the sidebar's settings list: a title, an icon and a model, in the order of `Resource.all()`."""
    listed = [(kind, admin.site.get_model_admin(kind.model)) for kind in Resource.all()]
    return [
        (kind.section.capitalize(), page.icon, kind.model)
        for kind, page in listed
        if isinstance(page, DefinitionAdmin) and page.icon
    ]
