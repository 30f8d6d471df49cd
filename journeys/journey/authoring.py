"""Creating and changing journeys: the one place where their rules, steps and exit rules are checked and saved."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from copy import copy
from datetime import datetime
from typing import Any, Literal, NamedTuple, cast

from django.conf import settings
from django.db import transaction

from engage.audit.acting import current_actor
from engage.audit.facts import Facts, facts_of
from engage.audit.recording import record, saved
from engage.errors import Refusal
from engage.json.compact import same_json
from engage.json.documents import one_of
from engage.json.key_order import KeyOrder, key_order_of
from engage.models import Workspace
from engage.resources.columns import column_mistakes
from engage.resources.resource import DefinitionWarning
from journeys.engine.connections.known import KnownInWorkspace
from journeys.engine.operations.redaction import steps_without_credentials
from journeys.engine.steering.guards import parse_guards
from journeys.engine.webhooks.addresses import refuse_address
from journeys.journey.conditions import check_entry_conditions, check_event_where
from journeys.journey.fields import SPELLINGS
from journeys.journey.warnings import warnings_of
from journeys.models import Journey, JourneyRevision
from journeys.rendering import Names
from journeys.rules.hold_out import parse_hold_out
from journeys.steps.contacting import NO_TOPIC, no_topic, silent_steps
from journeys.steps.definition import names_within, parse_steps, readable_steps, require_known
from journeys.steps.exit_rules import parse_exit_rules
from journeys.steps.goals import parse_goals, require_countable
from journeys.steps.payloads import check_payload_schema, names_with
from journeys.steps.secrets import SecretNeeded, steps_as_stored
from journeys.steps.webhook_targets import Target

YET_ABORTING = "active cannot be true yet: some have yet to leave the aborted journey, or to be decided."
_CONDITIONS = frozenset({"event_where", "entry_conditions", "goals"})
_CONTENT = frozenset({"steps", "exit_on"})
_KEPT = _CONTENT | {"topic"}


class InvalidJourney(Refusal):
    """A journey cannot be as described; the message begins with the place: `steps[2].for must …`.

    `field` is the invalid field, named as in `JourneyFields`, or `key`. The code is `secret_needed` if it is that.
    """

    error = "Invalid journey"

    def __init__(self, field: str, message: str, *, of: Refusal | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.place = (of.place if of else "") or SPELLINGS.get(field, field)
        self.more = of.more if of else 0
        if isinstance(of, SecretNeeded):
            self.status, self.code = of.status, of.code


class SavedJourney(NamedTuple):
    """A journey as it is now, what saving it did, and what may not be meant in its definition."""

    journey: Journey
    outcome: Literal["created", "changed", "unchanged"]
    warnings: list[DefinitionWarning]


@transaction.atomic
def save_journey(*, workspace: Workspace, key: str, now: datetime, **changes: Any) -> SavedJourney:
    """Creates the workspace's journey with this key, or changes it. Raises InvalidJourney; then nothing is written.

    Different steps or exit rules create a new revision, with which customers enter from then on; those already in the
    journey go on with theirs. A new journey is named after its key until it is given a name. A masked secret is that of
    the stored step with the same id and host.
    """
    check_journey(Journey(workspace=workspace, key=key, name=key), steps=[])
    journey, made = Journey.objects.select_for_update(no_key=True).get_or_create(
        workspace=workspace, key=key, defaults={"name": key, "revision": 0, "created_at": now}
    )
    stored = _stored_content(journey)
    before = None if stored is None else _facts(journey, stored)
    known = stored or _RevisionContent(steps=[], exit_on=[])
    content, fields = _requested_content(changes, known)
    content = content._replace(steps=steps_as_stored(content.steps, known.steps))
    changed = _apply(journey, fields)
    revised = _CONTENT if stored is None else content.differing_from(stored)
    check_journey(
        journey, steps=content.steps, exit_on=content.exit_on, changed=None if stored is None else changed | revised
    )
    if revised:
        journey.revision += 1
        changed.add("revision")
        _make_revision(journey, content)
    elif stored is not None and content.key_order != stored.key_order:
        JourneyRevision.objects.filter(journey=journey, number=journey.revision).update(key_order=content.key_order)
    if changed:
        journey.updated_at = now
        journey.save(update_fields=[*changed, "updated_at"])
        record(*saved(journey, before=before, after=_facts(journey, content)))
    else:
        journey.keep_order_of(_with(journey, fields))
    return SavedJourney(
        journey,
        "created" if made else "changed" if changed else "unchanged",
        warnings_of(journey, steps=content.steps, exit_on=content.exit_on),
    )


def _with(journey: Journey, fields: Mapping[str, Any]) -> Journey:
    """One like it, with those of these that people write as JSON."""
    one = copy(journey)
    vars(one).update({name: fields[name] for name in Journey.WRITTEN if name in fields})
    return one


def _facts(journey: Journey, content: "_RevisionContent") -> Facts:
    """What the audit tells of it."""
    return facts_of(journey) | {"steps": steps_without_credentials(content.steps), "exit_on": content.exit_on}


def check_journey(
    journey: Journey, *, steps: object, exit_on: object = None, changed: Collection[str] | None = None
) -> None:
    """Raises InvalidJourney unless the journey may be saved with these steps and exit rules (see `refusals_of`)."""
    if found := list(refusals_of(journey, steps=steps, exit_on=exit_on, changed=changed)):
        raise one_of(found)


def refusals_of(
    journey: Journey, *, steps: object, exit_on: object = None, changed: Collection[str] | None = None
) -> Iterator[InvalidJourney]:
    """Why the journey may not be saved with these steps and exit rules: every mistake in them.

    `changed` names the fields that differ from what was saved; None: all of them. Unchanged steps need not keep to
    rules that came later, but what they name must be there when the journey is switched on: meanwhile it could be
    deleted. A journey that is switched off may keep whatever it has: what has become invalid must not keep anybody from
    switching it off.
    """
    kept = _kept(changed)
    known = KnownInWorkspace(journey.workspace_id) if journey.workspace_id else None
    opens = journey.active and "active" in (changed or ())
    names = names_with(names_within(steps), journey.payload_schema)
    checks: tuple[tuple[str, Callable[[], object]], ...] = (
        ("", lambda: _check_fields(journey)),
        ("", lambda: _check_trigger(journey)),
        ("event_where", lambda: _check_event_where(journey, stored="event_where" in kept)),
        ("entry_conditions", lambda: _check_entry_conditions(journey, stored="entry_conditions" in kept)),
        ("steps", lambda: _check_steps(journey, steps, stored="steps" in kept, names=names, known=known)),
        ("steps", lambda: require_known(steps, known) if known and opens and "steps" in kept else None),
        ("exit_on", lambda: parse_exit_rules(exit_on, stored="exit_on" in kept, names=names)),
        ("guards", lambda: parse_guards(journey.guards)),
        ("payload_schema", lambda: _check_payload_schema(journey)),
        ("hold_out", lambda: parse_hold_out(journey.hold_out)),
        ("topic", lambda: _check_topic(journey, known) if known and "topic" not in kept else None),
        ("steps", lambda: _require_topics(journey, steps, known) if known and "steps" not in kept else None),
        ("goals", lambda: _check_goals(journey, steps, stored="goals" in kept)),
    )
    yield from _refused(journey, checks, kept=kept)


def _refused(
    journey: Journey, checks: Iterable[tuple[str, Callable[[], object]]], *, kept: Container[str]
) -> Iterator[InvalidJourney]:
    for field, check in checks:
        try:
            check()
        except InvalidJourney as found:
            if journey.active or found.field not in kept:
                yield from cast("list[InvalidJourney]", found.all_found())
        except Refusal as refusal:
            if journey.active or field not in kept:
                yield from (InvalidJourney(field, found.message, of=found) for found in refusal.all_found())


def _check_entry_conditions(journey: Journey, *, stored: bool) -> None:
    check_entry_conditions(journey.entry_conditions, trigger_type=journey.trigger_type, stored=stored)


def _kept(changed: Collection[str] | None) -> frozenset[str]:
    """The conditions, steps and exit rules that are as they were saved, and so is what they are checked against."""
    if changed is None:
        return frozenset()
    kept = (_KEPT if "trigger_type" in changed else _KEPT | _CONDITIONS) - set(changed)
    return kept - {"steps"} if "payload_schema" in changed else kept  # they read payloads


class _RevisionContent(NamedTuple):
    """What a revision stores."""

    steps: object
    exit_on: object

    @property
    def key_order(self) -> KeyOrder:
        return key_order_of([self.steps, self.exit_on])

    def differing_from(self, other: "_RevisionContent") -> frozenset[str]:
        """The names of the fields that differ."""
        return frozenset(name for name in _CONTENT if not same_json(getattr(self, name), getattr(other, name)))


def _stored_content(journey: Journey) -> _RevisionContent | None:
    """The content of the current revision; None if the journey has none yet."""
    current = JourneyRevision.objects.filter(journey=journey, number=journey.revision)
    stored = current.first()
    return None if stored is None else _RevisionContent(**stored.written)


def _requested_content(
    changes: Mapping[str, Any], stored: _RevisionContent
) -> tuple[_RevisionContent, dict[str, object]]:
    """The content after the changes, as stored unless they say otherwise; and the changes to the journey itself."""
    fields: dict[str, object] = dict(changes)
    steps, exit_on = fields.pop("steps", stored.steps), fields.pop("exit_on", stored.exit_on)
    return _RevisionContent(steps=steps, exit_on=[] if exit_on is None else exit_on), fields


def _make_revision(journey: Journey, content: _RevisionContent) -> None:
    JourneyRevision.objects.create(
        workspace_id=journey.workspace_id,
        journey=journey,
        number=journey.revision,
        steps=content.steps,
        exit_on=content.exit_on,
        exit_events=list(parse_exit_rules(content.exit_on, stored=True).event_names),
        key_order=content.key_order,
        made_by=current_actor().in_words,
    )


def _apply(journey: Journey, changes: Mapping[str, object]) -> set[str]:
    """Sets the fields, and returns the names of those that changed."""
    fields = dict(changes)
    if fields.get("trigger_type") == Journey.TriggerType.API:
        fields.setdefault("event_name", "")
        fields.setdefault("event_where", None)
        fields.setdefault("event_from_bridge", True)
    changed = {name for name, value in fields.items() if not same_json(value, getattr(journey, name))}
    if journey.archived_at is not None and fields.get("active"):
        raise InvalidJourney("active", "active cannot be true: the journey is archived. Restore it first.")
    if "active" in changed and journey.aborted_at is not None:
        if journey.held_at is not None:
            raise InvalidJourney("active", YET_ABORTING)
        fields["aborted_at"] = None
        changed.add("aborted_at")
    for name in changed:
        setattr(journey, name, fields[name])
    return changed


def _check_fields(journey: Journey) -> None:
    if found := [*column_mistakes(journey, except_for={"workspace"}, spellings=SPELLINGS)]:
        raise one_of(InvalidJourney(column, message) for column, message in found)


def _check_trigger(journey: Journey) -> None:
    if journey.trigger_type == Journey.TriggerType.EVENT and not journey.event_name.strip():
        raise InvalidJourney("event_name", "eventName is required where the trigger is event.")
    if journey.trigger_type == Journey.TriggerType.API and journey.event_name:
        raise InvalidJourney("event_name", "eventName must be null where the trigger is api.")
    if journey.trigger_type == Journey.TriggerType.API and not journey.event_from_bridge:
        raise InvalidJourney("event_from_bridge", "fromBridge must be null or true where the trigger is api.")


def _check_event_where(journey: Journey, *, stored: bool) -> None:
    if journey.event_where is not None and journey.trigger_type == Journey.TriggerType.API:
        raise InvalidJourney("event_where", "where must be null where the trigger is api.")
    check_event_where(journey, stored=stored)


def _check_steps(
    journey: Journey, steps: object, *, stored: bool, names: Names, known: KnownInWorkspace | None
) -> None:
    names_read = None if journey.payload_schema is None else names
    parse_steps(steps, stored=stored, names=names_read, require_callable=require_callable, known=known)


def _check_topic(journey: Journey, known: KnownInWorkspace) -> None:
    if journey.topic is not None and journey.topic not in known.topics:
        raise InvalidJourney("topic", f"topic {no_topic(journey.topic)}")


def _require_topics(journey: Journey, steps: object, known: KnownInWorkspace) -> None:
    """Refuses steps that write to people without a word on what about, where the contact policy wants one."""
    silent = silent_steps(journey.topic, readable_steps(steps))
    if silent and known.requires_topic:
        raise one_of(InvalidJourney("steps", f"steps[{place}] {NO_TOPIC}") for place in silent)


def _check_payload_schema(journey: Journey) -> None:
    if journey.payload_schema is not None and journey.trigger_type == Journey.TriggerType.EVENT:
        raise InvalidJourney("payload_schema", "payloadSchema must be null where the trigger is event.")
    check_payload_schema(journey.payload_schema)


def _check_goals(journey: Journey, steps: object, *, stored: bool) -> None:
    if parse_goals(journey.goals, stored=stored):
        require_countable(readable_steps(steps).values())


def require_callable(target: Target) -> None:
    """Raises RefusedRequest for a target that webhooks never go to: the rules are settings, which steps do not know."""
    settings.WEBHOOK_TARGETS.check(target)
    refuse_address(host=target.host, port=target.port, allowed=settings.WEBHOOK_ALLOWED_NETWORKS)
