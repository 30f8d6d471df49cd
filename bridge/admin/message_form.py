"""The form that creates and edits a message: its definition as JSON, refused as the API refuses it."""

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError

from bridge.messages.authoring import MessageChanges, check_key
from bridge.messages.content import parse_content
from bridge.messages.definition import Definition, InvalidMessage, check_definition
from bridge.models import Message
from engage.admin.parts.json_field import JsonField

_CHANGED = ("status", "actions", "forms", "content")


class MessageForm(forms.ModelForm[Message]):
    """A refusal is shown at its field and names the place: `actions[1].properties.n.max must be a number`."""

    actions = JsonField(
        named="actions",
        required=False,
        help_text='The buttons, such as [{"id": "cta", "type": "track_event", "eventName": "clicked", "properties": '
        '{"n": {"type": "number", "max": 10}}}, {"id": "opt", "type": "update_profile", "attributes": {"plan": '
        '{"type": "string", "values": ["free", "pro"]}}}]; empty: none.',
    )
    forms = JsonField(
        named="forms",
        required=False,
        help_text='The forms, such as [{"id": "nps", "fields": {"score": {"type": "number", "required": true}}, '
        '"submitAction": {"type": "track_event", "eventName": "answered"}}]; without a submitAction, every field '
        "becomes an attribute. Other actions or forms make a new revision.",
    )

    content = JsonField(
        named="content",
        required=False,
        help_text='What is shown where a journey delivers the message, such as {"kind": "banner", "title": "Hello '
        '{{ customer.name }}", "text": "{{ values.coupon }}", "buttons": [{"action": "cta", "text": "More", "href": '
        '"https://shop.example/"}, {"action": "close", "text": "Later"}]}; empty: nothing, and no journey delivers it.',
    )

    class Meta:
        model = Message
        fields = ("workspace", "key", "status", "actions", "forms", "content")
        help_texts = {
            "key": "The messageId in the page's calls.",
            "status": "Only an active message counts: of others, apps that enforce take nothing.",
        }

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"]
        try:
            check_key(key)
        except InvalidMessage as refusal:
            raise ValidationError(refusal.message) from None
        return key

    def clean_actions(self) -> Any:
        return self._checked("actions")

    def clean_forms(self) -> Any:
        return self._checked("forms")

    def _checked(self, name: str) -> Any:
        value = self.cleaned_data[name]
        listed = [] if value is None else value
        try:
            check_definition(actions=listed if name == "actions" else [], forms=listed if name == "forms" else [])
        except InvalidMessage as refusal:
            raise ValidationError(refusal.message) from None
        return listed

    def clean_content(self) -> Any:
        """After the definition, which it names; if that is wrong, it is looked at when that is right."""
        content = self.cleaned_data["content"]
        if {"actions", "forms"} <= {*self.cleaned_data}:
            try:
                parse_content(content, definition=self._definition())
            except InvalidMessage as refusal:
                raise ValidationError([one.message for one in refusal.all_found()]) from None
        return content

    def _definition(self) -> Definition:
        return check_definition(actions=self.cleaned_data["actions"], forms=self.cleaned_data["forms"])

    def changes(self) -> MessageChanges:
        """All of a new message; of an existing one, what was edited."""
        written = [name for name in _CHANGED if "key" in self.fields or name in self.changed_data]
        return cast("MessageChanges", {name: self.cleaned_data[name] for name in written})
