"""The variables of workspaces."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from unfold.decorators import display

from engage.admin.parts.columns import json_line
from engage.admin.parts.json_field import JsonField
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import RecordAdmin
from engage.models import Workspace
from journeys.connections.variables import (
    InvalidVariable,
    VariableInUse,
    check_variable,
    delete_variable,
    save_variable,
)
from journeys.models import Variable

_SHOWN = 80


class VariableForm(forms.ModelForm[Variable]):
    value = JsonField(
        named="value",
        required=True,
        help_text='JSON: a text such as "Garden", a number, a list, an object. No secret: everybody reads it.',
    )

    def clean(self) -> None:
        super().clean()
        if self.errors:
            return
        name = self.cleaned_data.get("name", self.instance.name)
        try:
            check_variable(Variable(name=name, value=self.cleaned_data["value"]))
        except InvalidVariable as refusal:
            raise ValidationError({refusal.field: refusal.message}) from None


@admin.register(Variable)
class VariableAdmin(RecordAdmin):
    form = VariableForm
    list_display = ("name", "short", "workspace", "updated_at")
    search_fields = ("name",)
    search_help_text = "Name"
    autocomplete_fields = ("workspace",)
    fields = ("workspace", "name", "value", ("id", "updated_at"))
    written_once = ("workspace", "name")
    audited_elsewhere = True

    @display(description="value")
    def short(self, variable: Variable) -> str:
        text = json_line(variable.value)
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        try:
            saved, _ = save_variable(workspace=obj.workspace, name=obj.name, value=obj.value, now=timezone.now())
        except InvalidVariable as refusal:  # one too many
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            obj.pk = saved.pk

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().delete_view(request, *args, **kwargs)
        except VariableInUse as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
            return HttpResponseRedirect(request.path.replace("/delete/", "/change/"))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        delete_variable(obj)


show_on(Workspace, Panel(model=Variable, by="workspace", columns=("name", "value", "updated_at")))
