"""Hosts that are held, or have a rate; and what was done about journeys, calls and hosts, by whom and why."""

import re
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from engage.admin.parts.columns import badge
from engage.admin.parts.filters import ChoicesDropdownFilter, SelectFilter
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import ReadOnlyAdmin, RecordAdmin
from engage.audit.acting import by_staff
from engage.models import Workspace
from journeys.engine import wakeups
from journeys.engine.steering.hosts import hold_host, rate_host, release_host
from journeys.models import Journey, SteeredHost, SteeringAct, Trigger
from journeys.steps.exit import LONGEST_REASON

_HOST = re.compile(r"[^\s/@:]+:\d{1,5}|\[[0-9a-f:.]+\]:\d{1,5}")


class SteeredHostForm(forms.ModelForm[SteeredHost]):
    held = forms.BooleanField(
        required=False, help_text="No webhook of the workspace is sent there.", widget=UnfoldBooleanSwitchWidget
    )
    reason = forms.CharField(
        required=False,
        max_length=LONGEST_REASON,
        help_text="Why it is changed; it is kept.",
        widget=UnfoldAdminTextInputWidget,
    )

    class Meta:
        model = SteeredHost
        fields = ("workspace", "host", "per_second")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["held"] = self.instance.held_at is not None

    def clean_host(self) -> str:
        host = str(self.cleaned_data["host"]).strip().lower()
        if not _HOST.fullmatch(host):
            raise forms.ValidationError("Write it with its port, such as mail.example:443.")
        return host


@admin.register(SteeredHost)
class SteeredHostAdmin(RecordAdmin):
    form = SteeredHostForm
    list_display = ("host", "workspace", "status", "per_second", "held_at", "held_by", "held_because")
    search_fields = ("host",)
    search_help_text = "Host"
    autocomplete_fields = ("workspace",)
    fields = (("workspace", "host"), ("held", "per_second"), "reason", ("held_at", "held_by"), "held_because")
    written_once = ("workspace", "host")
    never_deleted = "A host is not deleted here. Release it, and empty its rate."

    @display(description="status")
    def status(self, host: SteeredHost) -> SafeString:
        return badge("open", "success") if host.held_at is None else badge("held", "warning")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        said = form.cleaned_data
        named: dict[str, Any] = {
            "workspace_id": obj.workspace_id,
            "host": obj.host,
            "reason": said["reason"],
            "actor": by_staff(request.user.get_username()),
        }
        rate_host(**named, per_second=said["per_second"])
        (hold_host if said["held"] else release_host)(**named)
        obj.pk = SteeredHost.objects.get(workspace_id=obj.workspace_id, host=obj.host).pk
        wakeups.wake_sender()


show_on(Workspace, Panel(model=SteeredHost, by="workspace", columns=("__str__", "status", "per_second", "held_at")))


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
show_on(Journey, Panel(model=SteeringAct, by="journey", columns=_COLUMNS, title="steering", tab="revisions"))
show_on(Trigger, Panel(model=SteeringAct, by="trigger", columns=_COLUMNS, title="steering"))
