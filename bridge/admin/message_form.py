"""The form that creates and edits a message: its definition as JSON, refused as the API refuses it."""

from typing import Any

from bridge.messages.saving import MESSAGES
from bridge.models import Message
from engage.admin.parts.definitions import DefinitionForm
from engage.admin.parts.json_field import JsonField


class MessageForm(DefinitionForm):
    """A refusal is shown at its field and names the place: `actions[1].properties.n.max must be a number`."""

    resource = MESSAGES
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

    def clean_actions(self) -> Any:
        return [] if self.cleaned_data["actions"] is None else self.cleaned_data["actions"]

    def clean_forms(self) -> Any:
        return [] if self.cleaned_data["forms"] is None else self.cleaned_data["forms"]

    def changes(self) -> dict[str, Any]:
        """All of a new message; of an existing one, what was edited."""
        is_new = "key" in self.fields
        return {name: value for name, value in super().changes().items() if is_new or name in self.changed_data}
