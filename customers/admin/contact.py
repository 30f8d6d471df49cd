"""What a workspace writes about: its topics."""

from typing import Any

from django import forms
from django.contrib import admin

from customers.contact.topics import TOPICS
from customers.models import ContactRules, Topic
from customers.models.contact import Channel
from engage.admin.parts.definitions import DefinitionAdmin, DefinitionForm
from engage.admin.parts.json_field import JsonField
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import ReadOnlyAdmin
from engage.models import Workspace


class TopicForm(DefinitionForm):
    resource = TOPICS
    channels = forms.MultipleChoiceField(choices=Channel, widget=forms.CheckboxSelectMultiple)
    texts = JsonField(
        named="texts",
        required=False,
        example='{"de": {"name": "Angebote", "description": "Was es neu gibt."}}',
        help_text="Name and description by language.",
    )

    def clean_texts(self) -> Any:
        return self.cleaned_data["texts"] or {}

    def clean_valid_for(self) -> str | None:
        return self.cleaned_data["valid_for"] or None


@admin.register(Topic)
class TopicAdmin(DefinitionAdmin):
    form, resource, icon = TopicForm, TOPICS, "topic"
    reads_people = False
    list_display = ("name", "key", "workspace", "default", "updated_at")
    search_fields = ("name", "key", "=id")
    search_help_text = "Name, key or id"
    autocomplete_fields = ("workspace",)
    fields = (
        "workspace",
        ("name", "key"),
        "description",
        "channels",
        "default",
        ("confirm", "valid_for"),
        "texts",
        "id",
        ("created_at", "updated_at"),
    )
    written_once = ("workspace", "key")


@admin.register(ContactRules)
class ContactRulesAdmin(ReadOnlyAdmin):
    """What calls and files have set."""

    list_display = ("__str__", "workspace", "updated_at")
    titled_by = ("workspace",)
    fields = ("workspace", "policy", ("id", "updated_at"))


show_on(Workspace, Panel(model=Topic, by="workspace", columns=("name", "key", "updated_at")))
