"""The form of a connection."""

from typing import Any, cast

from django import forms
from unfold.widgets import UnfoldBooleanSwitchWidget

from engage.admin.parts.json_field import JsonField
from engage.errors import Refusal
from journeys.connections.using import journeys_broken_by
from journeys.design.connections import ConnectionChanges, checked
from journeys.models import Connection
from journeys.steps.provider import FIELDS
from journeys.steps.secrets import masked

_COLUMNS = ("name", "channel", "per_second")


def shown_of(definition: dict[str, Any]) -> dict[str, Any]:
    """As it is shown: secrets masked, its members in their usual order."""
    hidden = masked(definition)
    return {name: hidden[name] for name in FIELDS if name in hidden}


class ConnectionForm(forms.ModelForm[Connection]):
    """Checks the rules that apply whenever a connection is saved; secrets come as masks, which keep what is stored."""

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

    def clean(self) -> None:
        super().clean()
        if self.errors:
            return
        named = {name: self.cleaned_data[name] for name in ("workspace", "key") if name in self.cleaned_data}
        if named and Connection.objects.filter(**named).exists():
            self.add_error("key", "The workspace has a connection with this key already.")
            return
        stored = Connection.objects.filter(pk=self.instance.pk).first()
        try:
            _, provider = checked(stored or Connection(**named, definition={}), self.changes())
        except Refusal as refusal:
            for one in refusal.all_found():
                self.add_error("definition", one.message)
            return
        if stored is None or self.cleaned_data.get("confirm"):
            return
        for broken in journeys_broken_by(provider, workspace_id=stored.workspace_id):
            self.add_error("confirm", f"By this, the journey {broken}")

    def changes(self) -> ConnectionChanges:
        return cast("ConnectionChanges", {name: self.cleaned_data[name] for name in (*_COLUMNS, "definition")})

    def _post_clean(self) -> None:
        """The instance keeps what is stored: masks are for save_connection alone."""
