"""The form of a connection."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldBooleanSwitchWidget

from engage.admin.parts.definitions import DefinitionForm
from engage.admin.parts.json_field import JsonField
from journeys.connection.resource import CONNECTIONS, parsed
from journeys.engine.connections.using import journeys_broken_by
from journeys.models import Connection
from journeys.steps.provider import FIELDS
from journeys.steps.secrets import masked

_COLUMNS = ("name", "channel", "per_second")


def shown_of(definition: dict[str, Any]) -> dict[str, Any]:
    """As it is shown: secrets masked, its members in their usual order."""
    hidden = masked(definition)
    return {name: hidden[name] for name in FIELDS if name in hidden}


class ConnectionForm(DefinitionForm):
    """Secrets come as masks, which keep what is stored."""

    resource = CONNECTIONS
    otherwise = "definition"

    definition = JsonField(
        named="definition",
        as_written=True,
        help_text="url, method, headers, body and what else a request has; inputs is a JSON Schema of what steps give "
        "it, and templates read these as {{ inputs.to }}. null stands for a secret that is yet to be given, *** keeps "
        "the one that is stored.",
    )
    confirm = forms.BooleanField(
        required=False,
        label="Change it although journeys break",
        help_text="Journeys that name an input which it does not take any more cannot send.",
        widget=UnfoldBooleanSwitchWidget,
    )

    class Meta:
        model = Connection
        fields = ("workspace", "key", *_COLUMNS, "definition")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.definition:
            self.initial["definition"] = shown_of(self.instance.definition)

    def checked(self) -> None:
        row = super().checked()
        stored = Connection.objects.filter(pk=row.pk).exists()
        if not stored or self.cleaned_data.get("confirm"):
            return
        for broken in journeys_broken_by(parsed(row), workspace_id=row.workspace_id):
            self.add_error("confirm", f"By this, the journey {broken}")
