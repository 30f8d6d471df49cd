"""The form that creates and edits a journey together with the content of its current revision."""

from typing import Any

from engage.admin.parts.json_field import JsonField
from engage.admin.parts.managed import SAVE_OVER, ManagedForm
from engage.json.compact import same_json
from journeys.faces.content_rights import shown_of
from journeys.journey.asked import ENTRY_CONDITIONS, EVENT_WHERE, EXIT_ON, GOALS, GUARDS, HOLD_OUT
from journeys.journey.authoring import InvalidJourney, refusals_of
from journeys.models import Journey, JourneyRevision
from journeys.steps.secrets import steps_as_stored

_JOURNEY_FIELDS = (
    "name",
    "trigger_type",
    "event_name",
    "event_where",
    "event_from_bridge",
    "active",
    "max_entries_per_customer",
    "allow_reenrollment",
    "concurrent_entrances",
    "entry_conditions",
    "guards",
    "payload_schema",
    "goals",
    "hold_out",
    "topic",
    "on_opt_out",
)
_REVISION_FIELDS = ("steps", "exit_on")
# Stand in for values that were refused at their own field, so that the other fields are still checked.
_STAND_INS = {"key": "unnamed", "name": "unnamed", "steps": []}
_OF_EVENTS = ("event_name", "event_where")


class JourneyForm(ManagedForm):
    """Checks the rules that apply whenever a journey is saved; a refusal is shown at its field and names the place."""

    more_mistakes = 0  # that are only counted

    entry_conditions = JsonField(
        named="entryConditions",
        required=False,
        form=ENTRY_CONDITIONS,
        example='{"field": "customer.plan", "op": "eq", "value": "pro"}',
        help_text="Who may enter; none: everybody.",
    )
    event_where = JsonField(
        named="where",
        required=False,
        form=EVENT_WHERE,
        example='{"field": "event.properties.price", "op": "gt", "value": 10}',
        help_text="Which of these events; none: all of them.",
    )
    steps = JsonField(
        named="steps",
        as_written=True,
        required=False,
        help_text='A list such as [{"id": "pause", "type": "delay", "for": "P1D"}, {"id": "hello", "type": "webhook", '
        '"url": "https://mail.example/send", "body": {"to": "{{ customer.email }}"}}]; empty: it completes at once. '
        "Other steps make a new revision; customers who are inside go on with the one they are in.",
    )
    exit_on = JsonField(
        named="exitOn",
        as_written=True,
        required=False,
        form=EXIT_ON,
        example='[{"event": "bought"}, {"if": {"field": "customer.plan", "op": "eq", "value": "pro"}}]',
        help_text="What ends an enrollment early; other rules make a new revision, too.",
    )
    guards = JsonField(
        named="guards",
        required=False,
        form=GUARDS,
        example='{"failedShare": 0.5, "of": 50, "entries": 50000, "per": "PT1H"}',
        help_text="When it holds itself: if too many of the latest attempts at its webhooks failed, or too many "
        "customers entered within a time.",
    )
    payload_schema = JsonField(
        named="payloadSchema",
        required=False,
        help_text='What the payload of a trigger must be, as JSON Schema: {"type": "object", "required": ["orderId"], '
        '"properties": {"orderId": {"type": "string"}}}. Templates may then read these names alone; empty: anything.',
    )

    goals = JsonField(
        named="goals",
        required=False,
        form=GOALS,
        example='[{"key": "bought", "event": "order_paid", "within": "P7D"}]',
        help_text="What it is for: counted once for each enrollment, from its beginning until that time is over.",
    )

    hold_out = JsonField(
        named="holdOut",
        required=False,
        form=HOLD_OUT,
        example='{"share": 0.1}',
        help_text="Which share of those who might enter is held out, to compare them.",
    )

    class Meta:
        model = Journey
        fields = ("workspace", "key", *_JOURNEY_FIELDS)
        help_texts = {
            "active": "Switched off, it takes in no more customers; those inside go on. "
            "Who publishes its steps is asked whether to open it."
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        current = JourneyRevision.objects.filter(journey=self.instance.pk, number=self.instance.revision).first()
        if "on_opt_out" in self.fields:  # of those who may only look it is none
            self.fields["on_opt_out"].required = False
        self.stored_steps = current.steps if current else []
        self.initial.update(shown_of(current) if current else {})
        if self._is_new:
            self.initial["active"] = False  # without steps, whoever enters completes it, perhaps for good
        else:  # of the fields without an input as well
            self.initial.update({name: getattr(self.instance, name) for name in _JOURNEY_FIELDS})

    def clean_steps(self) -> Any:
        steps = self.cleaned_data["steps"]
        return [] if steps is None else steps

    def clean_on_opt_out(self) -> str:
        return self.cleaned_data["on_opt_out"] or Journey.OnOptOut.EXIT.value

    def clean_event_from_bridge(self) -> bool:
        """A journey by API takes no events: for it, the box says nothing."""
        if self.cleaned_data.get("trigger_type") == Journey.TriggerType.API:
            return True
        return bool(self.cleaned_data["event_from_bridge"])

    def clean(self) -> None:
        super().clean()
        if "trigger_type" in self.errors:
            return
        values = {**_STAND_INS, **self.cleaned_data, **self._left_alone()}
        values.pop(SAVE_OVER, None)
        if not self._is_new:
            values["workspace_id"] = self.instance.workspace_id
        content = {name: values.pop(name, None) for name in _REVISION_FIELDS}
        content["steps"] = steps_as_stored(content["steps"], self.stored_steps)
        changed = None if self._is_new else [name for name in self.changed_data if not self._is_same(name)]
        refused = set(self.errors)
        for refusal in refusals_of(Journey(**values), **content, changed=changed):
            self.more_mistakes += refusal.more
            if refusal.field not in refused:
                message = _in_the_form(refusal, trigger_type=values["trigger_type"])
                self.add_error(refusal.field if refusal.field in self.fields else None, message)

    def changes(self) -> dict[str, Any]:
        """The values of a new journey that have an input; for an existing one, only those that were edited."""
        values = {name: self.cleaned_data.get(name) for name in (*_JOURNEY_FIELDS, *_REVISION_FIELDS)}
        written = (values.keys() & self.fields.keys()) - self._left_alone().keys()
        return {name: values[name] for name in written}

    def _is_same(self, name: str) -> bool:
        """Whether a field holds the same in another order: that is a change, but nothing new to be checked."""
        return name in _REVISION_FIELDS and same_json(self.initial.get(name), self.cleaned_data.get(name))

    @property
    def _is_new(self) -> bool:
        return "key" in self.fields

    def _left_alone(self) -> dict[str, Any]:
        """The current values that were not edited; none for a new journey."""
        if self._is_new:
            return {}
        return {
            name: self.initial[name] for name in (*_JOURNEY_FIELDS, *_REVISION_FIELDS) if name not in self.changed_data
        }


def _in_the_form(refusal: InvalidJourney, *, trigger_type: str) -> str:
    """The refusal's message, unless it asks for null, which nobody can enter in a form."""
    if trigger_type == Journey.TriggerType.API and refusal.field in _OF_EVENTS:
        return "Leave this empty where the trigger type is API."
    return refusal.message
