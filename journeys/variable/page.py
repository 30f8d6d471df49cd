"""The variables of workspaces."""

from django.contrib import admin
from unfold.decorators import display

from engage.admin.parts.columns import json_line
from engage.admin.parts.definitions import DefinitionAdmin, DefinitionForm
from engage.admin.parts.json_field import JsonField
from engage.admin.parts.panels import Panel, show_on
from engage.models import Workspace
from journeys.models import Variable
from journeys.variable.resource import VARIABLES

_SHOWN = 80


class VariableForm(DefinitionForm):
    resource = VARIABLES
    value = JsonField(
        named="value",
        required=True,
        help_text='JSON: a text such as "Garden", a number, a list, an object. No secret: everybody reads it.',
    )


@admin.register(Variable)
class VariableAdmin(DefinitionAdmin):
    form, resource, icon = VariableForm, VARIABLES, "data_object"
    reads_people = False
    list_display = ("name", "short", "workspace", "updated_at")
    search_fields = ("name",)
    search_help_text = "Name"
    autocomplete_fields = ("workspace",)
    fields = ("workspace", "name", "value", ("id", "updated_at"))
    written_once = ("workspace", "name")

    @display(description="value")
    def short(self, variable: Variable) -> str:
        text = json_line(variable.value)
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


show_on(Workspace, Panel(model=Variable, by="workspace", columns=("name", "value", "updated_at")))
