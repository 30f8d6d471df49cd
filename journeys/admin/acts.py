"""What was done about journeys, calls and hosts, by whom and why."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from unfold.decorators import display

from engage.admin.filters import ChoicesDropdownFilter, SelectFilter
from engage.admin.panels import Panel, show_on
from engage.admin.records import ReadOnlyAdmin
from journeys.models import Journey, SteeringAct, Trigger


@admin.register(SteeringAct)
class SteeringActAdmin(ReadOnlyAdmin):
    list_display = ("at", "kind", "journey", "host", "actor", "reason", "did", "workspace")
    list_filter = (
        ("journey", SelectFilter),
        ("kind", ChoicesDropdownFilter),
    )
    fields = (("kind", "at"), ("journey", "workspace"), ("trigger", "host"), ("actor", "reason"), "did")
    search_help_text = "Journey or trigger id"

    def matching(self, text: str, request: HttpRequest) -> Q:
        return Q(journey=text) | Q(trigger=text)

    @display(description="numbers")
    def did(self, act: SteeringAct) -> str:
        numbers: dict[str, Any] = act.numbers
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in numbers.items() if value is not None)


_COLUMNS = ("at", "kind", "actor", "reason", "did")
show_on(Journey, Panel(model=SteeringAct, by="journey", columns=_COLUMNS, title="steering"))
show_on(Trigger, Panel(model=SteeringAct, by="trigger", columns=_COLUMNS, title="steering"))
