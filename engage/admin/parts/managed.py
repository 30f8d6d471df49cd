"""Records that a repository manages (`managed_by`): their pages say so, and ask before they are saved over."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldBooleanSwitchWidget

SAVE_OVER = "save_over"


class ManagedForm(forms.ModelForm[Any]):
    """Asks only where it must: its admin keeps the question from the pages of other records."""

    save_over = forms.BooleanField(required=False, label="Save over it", widget=UnfoldBooleanSwitchWidget)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if SAVE_OVER in self.fields:
            self.fields[SAVE_OVER].help_text = (
                f"It is managed by {self.instance.managed_by}: what is changed here is changed back from there, unless "
                "it is changed there as well."
            )

    def clean(self) -> Any:
        cleaned = super().clean()
        if SAVE_OVER in self.fields and not self.cleaned_data.get(SAVE_OVER):
            self.add_error(
                SAVE_OVER, f"It is managed by {self.instance.managed_by}. Switch this on to save all the same."
            )
        return cleaned


def asks(name: str, record: Any) -> bool:
    """Whether a field of this name has a place on the record's page: the question only where it is managed."""
    return name != SAVE_OVER or bool(record is not None and record.managed_by)
