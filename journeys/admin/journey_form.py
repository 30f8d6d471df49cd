"""The form that makes and edits a journey together with the steps of its current revision."""

from typing import Any, cast

from django import forms

from engage.admin.json_field import JsonField
from journeys.design import InvalidJourney, JourneyChanges, check_journey
from journeys.models import Journey, JourneyRevision

_SAID = (
    "name",
    "trigger_type",
    "event_name",
    "active",
    "max_entries_per_customer",
    "allow_reenrollment",
    "entry_conditions",
    "steps",
)


class JourneyForm(forms.ModelForm[Journey]):
    """Checks with the rules that every journey is saved by; a refusal stands at its field, with the place in it."""

    entry_conditions = JsonField(
        named="entryConditions",
        required=False,
        help_text='Who may enter, such as {"field": "customer.plan", "op": "eq", "value": "pro"}; empty: everybody.',
    )
    steps = JsonField(
        named="steps",
        required=False,
        help_text="Other steps make a new revision; customers who are inside go on with the one they entered with.",
    )

    class Meta:
        model = Journey
        fields = ("workspace", "key", *_SAID[:-1])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        current = JourneyRevision.objects.filter(journey=self.instance.pk, number=self.instance.revision)
        self.initial["steps"] = current.values_list("steps", flat=True).first()

    def clean_steps(self) -> Any:
        steps = self.cleaned_data["steps"]
        return [] if steps is None else steps

    def clean(self) -> None:
        super().clean()
        if self.errors:
            return
        said = dict(self.cleaned_data)
        steps = said.pop("steps")
        try:
            check_journey(Journey(**{"key": self.instance.key, **said}), steps=steps)
        except InvalidJourney as refusal:
            self.add_error(refusal.field if refusal.field in self.fields else None, refusal.message)

    def changes(self) -> JourneyChanges:
        """What the form says of the journey."""
        return cast("JourneyChanges", {name: self.cleaned_data[name] for name in _SAID})
