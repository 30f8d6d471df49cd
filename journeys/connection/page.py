"""Connections to providers: made by hand or from a preset, tried, and changed for all journeys at once."""

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.decorators import display

from engage.admin.parts.acts import Act, Button, Input
from engage.admin.parts.columns import Json, badge, json_block, link, page_url
from engage.admin.parts.definitions import DefinitionAdmin
from engage.admin.parts.filters import ChoicesDropdownFilter
from engage.admin.parts.json_field import JsonField
from engage.admin.parts.panels import Panel, show_on
from engage.errors import Refusal
from engage.models import Workspace
from journeys.connection.form import ConnectionForm, shown_of
from journeys.connection.presets import presets
from journeys.connection.resource import CONNECTIONS
from journeys.engine.connections.providers import provider_of
from journeys.engine.connections.using import journeys_sending_by
from journeys.engine.operations.sending_once import send_once
from journeys.models import Connection, Journey
from journeys.steps.provider import FIELDS
from journeys.steps.secrets import secrets_of

_EMPTY: dict[str, Any] = {"object": {}, "array": [], "number": 0, "integer": 0, "boolean": False}


class TestForm(forms.Form):
    """What a test is sent with."""

    inputs = JsonField(named="inputs", required=False)

    def clean_inputs(self) -> dict[str, Any]:
        inputs = self.cleaned_data["inputs"]
        if not isinstance(inputs, dict | None):
            raise forms.ValidationError("This must be an object.")
        return inputs or {}


class _Definition(Json):
    """As it is shown to those who may not change it."""

    def __call__(self, record: Any) -> SafeString | None:
        return json_block(shown_of(record.definition), as_written=True)


def _test(model_admin: DefinitionAdmin, request: HttpRequest, connection: Connection) -> HttpResponse:
    """Sends a test and shows what came of it."""
    form = TestForm(request.POST)
    tried = send_once(connection, form.cleaned_data["inputs"], now=timezone.now()) if form.is_valid() else None
    if tried is not None and tried.sent:
        model_admin.log_change(request, connection, f"Sent a test: {tried.verdict}")
    return model_admin.page(
        request,
        "journeys/admin/connection_test.html",
        title="A test",
        original=connection,
        page=page_url(connection),
        form=form,
        tried=tried,
        kept=json_block(tried.kept if tried else None),
    )


def _testing(connection: Connection, _: HttpRequest) -> list[Button]:
    label = "Inputs of the test, as JSON"
    inputs = Input(name="inputs", value=_example(connection), label=label, look="engage-reason")
    return [Button("Send a test", "It is sent to the provider. Send it?", inputs=[inputs])]


@admin.register(Connection)
class ConnectionAdmin(DefinitionAdmin):
    form, resource = ConnectionForm, CONNECTIONS
    reads_people = True
    acts = (Act("test", _test, noted_as=None, button=_testing),)
    list_display = ("name", "key", "channel", "status", "workspace", "updated_at")
    list_filter = (("channel", ChoicesDropdownFilter),)
    search_fields = ("name", "key", "=id")
    search_help_text = "Name, key or id"
    autocomplete_fields = ("workspace",)
    fieldsets = (
        (None, {"fields": ("workspace", ("name", "key"), ("channel", "per_second"), "definition", "confirm")}),
        (None, {"fields": (("id", "host"), ("created_at", "updated_at"))}),
    )
    written_once = ("workspace", "key")
    change_form_outer_before_template: Any = "journeys/admin/connection.html"

    @display(description="state")
    def status(self, connection: Connection) -> SafeString:
        incomplete = any(value is None for value in secrets_of(connection.definition).values())
        return badge("incomplete", "danger") if incomplete else badge("complete", "success")

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        if name == "confirm":
            return None
        return _Definition("definition") if name == "definition" else super().shown_as(name, request)

    def _has_input(self, name: str, obj: Any, request: HttpRequest) -> bool:
        return (obj is not None or name != "confirm") and super()._has_input(name, obj, request)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        preset, initial = presets().get(request.GET.get("preset", "")), super().get_changeform_initial_data(request)
        if preset is None:
            return initial
        definition = {name: preset[name] for name in FIELDS if name in preset}
        return initial | {name: preset[name] for name in ("key", "name", "channel")} | {"definition": definition}

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        add = reverse("admin:journeys_connection_add")
        context["presets"] = [(one["name"], f"{add}?preset={key}") for key, one in presets().items()]
        return super().render_change_form(request, context, *args, **kwargs)

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        keys = journeys_sending_by(workspace_id=record.workspace_id, key=record.key)
        used = Journey.objects.filter(workspace=record.workspace_id, key__in=keys).order_by("key")
        return {
            "missing": [".".join(path) for path, value in secrets_of(record.definition).items() if value is None],
            "used_by": [link(journey) for journey in used],
        }


def _example(connection: Connection) -> str:
    """What a test may be sent with, to be filled in."""
    try:
        wanted = provider_of(connection).inputs
    except Refusal:
        return "{}"
    properties = wanted.schema.get("properties", {})
    return json.dumps({name: _EMPTY.get(_type_of(one), "") for name, one in properties.items()}, ensure_ascii=False)


def _type_of(schema: Any) -> str:
    return str(schema.get("type")) if isinstance(schema, dict) else ""


show_on(Workspace, Panel(model=Connection, by="workspace", columns=("__str__", "key", "channel", "updated_at")))
