"""Seeds a workspace from a description: creates what is missing and updates what differs, all or nothing.

1. Errors that are visible in the description alone are refused before the database is touched.
2. Rows are identified by `key` or `name`, and customers by their external id, else their first identifier, so the same
   description again creates nothing twice. What it does not name is left alone.
3. Everything runs in one transaction, and a lock on the workspace keeps two seedings of it apart. It is FOR NO KEY
   UPDATE, so that other work goes on: a stronger lock would block the creation of customers meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, OperationalError, transaction
from psycopg.errors import DeadlockDetected, UniqueViolation

from engage.audit.facts import facts_of
from engage.audit.recording import record, saved
from engage.database.sql import Statement
from engage.errors import Refusal
from engage.json.documents import Part
from engage.models import Workspace
from engage.resources.fields import Described
from engage.resources.resource import DefinitionWarning, Resource
from journeys.definitions.reading import InvalidSeed, require_new_key, text_for
from journeys.journey.resource import JOURNEYS
from journeys.seeding.access import SeedApiKey, SeedApp, read_api_keys, read_apps, seed_api_keys, seed_apps
from journeys.seeding.crowd import seed_crowd
from journeys.seeding.customers import SeedCustomer, read_customers, seed_customers
from journeys.seeding.journeys import read_journeys, seed_journeys
from journeys.seeding.resources import SeededSection, read_section, seed_section
from journeys.segment.resource import SEGMENTS
from journeys.segment.seeding import SeedSegment, lock_segments, read_segments, seed_segments


class SeedingDisturbed(Refusal):
    """Another program wrote the same things at the same moment; nothing was seeded."""

    status = 409
    error = "Seeding disturbed"


@dataclass(frozen=True, kw_only=True)
class Seed:
    """A parsed description. A `name`, `feed` or `alerts` of None keeps what is stored; a new workspace is called as its
    key."""

    key: str
    name: str | None
    feed: bool | None
    alerts: tuple[str, str] | None
    default_country: str | None
    api_keys: Sequence[SeedApiKey]
    apps: Sequence[SeedApp]
    customers: Sequence[SeedCustomer]
    segments: Sequence[SeedSegment]
    journeys: Sequence[Described]
    resources: Mapping[str, Sequence[Described]]


@dataclass(frozen=True, kw_only=True)
class SeededWorkspace:
    """The ids of what was described, by name or key; for API keys the new secrets, None if the secret was kept.

    `defined` has those of the definitions, segments among them, by their section. `stay_closed` says of the journeys
    that were not opened, by key, who has closed them. `warnings` are about definitions, with places in the description.
    """

    workspace: Workspace
    api_keys: Mapping[str, str | None]
    apps: Mapping[str, str]
    customers: Mapping[str, str]
    segments: Mapping[str, str]
    defined: Mapping[str, Mapping[str, str]]
    stay_closed: Mapping[str, str]
    crowd_made: int
    warnings: Sequence[DefinitionWarning]


def _read_alerts(part: Part) -> tuple[str, str]:
    """Who is told when something is wrong, as the workspace stores it; what is left out is nobody."""
    fields = part.fields(optional=["emails", "connection"])
    emails = (
        [text_for(one, Workspace, "alert_emails") for one in fields["emails"].items()] if "emails" in fields else []
    )
    by = text_for(fields["connection"], Workspace, "alert_connection") if "connection" in fields else ""
    return ", ".join(emails), by


def _read_country(part: Part) -> str:
    return "" if part.is_null else text_for(part, Workspace, "default_country")


def read_seed(document: Mapping[str, object]) -> Seed:
    """The description in a parsed JSON document. Raises InvalidSeed, whose message begins with the place."""
    if "steps" in document:
        Part(document["steps"], "steps", InvalidSeed).refuse(
            'is not known here. A journey stands in journeys: {"workspace": {"key": "acme"}, "journeys": [{…}]}.'
        )
    whole = Part(document, "", InvalidSeed).fields(
        required=["workspace"],
        optional=[
            "apiKeys",
            "apps",
            "customers",
            *(kind.section for kind in Resource.all()),
        ],
    )
    workspace = whole["workspace"].fields(required=["key"], optional=["name", "feed", "alerts", "defaultCountry"])

    def part(name: str) -> Part:
        return whole.get(name) or Part([], name, InvalidSeed)

    return Seed(
        key=text_for(workspace["key"], Workspace, "key"),
        name=text_for(workspace["name"], Workspace, "name") if "name" in workspace else None,
        feed=workspace["feed"].flag() if "feed" in workspace else None,
        alerts=_read_alerts(workspace["alerts"]) if "alerts" in workspace else None,
        default_country=_read_country(workspace["defaultCountry"]) if "defaultCountry" in workspace else None,
        api_keys=read_api_keys(part("apiKeys")),
        apps=read_apps(part("apps")),
        customers=read_customers(part("customers")),
        segments=read_segments(part("segments")),
        journeys=read_journeys(part("journeys")),
        resources={
            kind.section: read_section(kind, whole[kind.section]) for kind in _resources() if kind.section in whole
        },
    )


def _resources(*, named_by_journeys: bool | None = None) -> Iterator[Resource[Any]]:
    """The kinds that are seeded by what they say of themselves: all, or those before or behind journeys."""
    for kind in Resource.all():
        if kind not in (JOURNEYS, SEGMENTS) and named_by_journeys in (None, kind.named_by_journeys):
            yield kind


def seed_workspace(
    *, seed: Seed, crowd_size: int, renew_keys: bool, now: datetime, confirmed: bool = False
) -> SeededWorkspace:
    """Applies the description, and creates the customers `user-0` to `user-<crowd_size - 1>`.

    Connections that journeys could not send by any more are changed only if that is `confirmed`.

    Raises InvalidSeed or SeedingDisturbed; then nothing is written.
    """
    try:
        with transaction.atomic():
            _take_time()
            return _seed(seed, crowd_size=crowd_size, renew_keys=renew_keys, now=now, confirmed=confirmed)
    except (IntegrityError, OperationalError) as error:
        if not isinstance(error.__cause__, UniqueViolation | DeadlockDetected):
            raise
        raise SeedingDisturbed(
            "Another program wrote the same things at the same moment. Nothing was changed; run it again."
        ) from None


def _take_time() -> None:
    """A file may be long, so this transaction may wait for locks, and ask for nothing, for as long as it takes."""
    Statement("SET LOCAL lock_timeout = 0").execute()
    Statement("SET LOCAL idle_in_transaction_session_timeout = 0").execute()


def _seed(seed: Seed, *, crowd_size: int, renew_keys: bool, now: datetime, confirmed: bool) -> SeededWorkspace:
    workspace = _locked_workspace(seed)

    def seed_one(kind: Resource[Any]) -> SeededSection:
        return seed_section(kind, workspace=workspace, described=seed.resources.get(kind.section, []), now=now)

    stored_segments = lock_segments(workspace=workspace, segments=seed.segments)  # before customers, as everywhere
    customers = seed_customers(workspace=workspace, customers=seed.customers, now=now)
    crowd_made = seed_crowd(workspace=workspace, size=crowd_size)
    segments = seed_segments(
        workspace=workspace, segments=seed.segments, stored=stored_segments, customers=customers, now=now
    )
    named = [seed_one(kind) for kind in _resources(named_by_journeys=True)]
    seeded = seed_journeys(workspace=workspace, journeys=seed.journeys, now=now)
    for section in named:
        if not confirmed:
            section.require_unbroken()
        section.take_away()
    naming = [seed_one(kind) for kind in _resources(named_by_journeys=False)]
    ids = {SEGMENTS.section: segments.ids, JOURNEYS.section: seeded.ids}
    ids |= {one.kind.section: one.ids for one in (*named, *naming)}
    return SeededWorkspace(
        workspace=workspace,
        customers=customers,
        segments=segments.ids,
        defined={kind.section: ids[kind.section] for kind in Resource.all()},
        stay_closed=seeded.stay_closed,
        warnings=[
            *segments.warnings,
            *(warning for one in (*named, *naming) for warning in one.warnings()),
            *seeded.warnings,
        ],
        apps=seed_apps(workspace=workspace, apps=seed.apps),
        api_keys=seed_api_keys(workspace=workspace, keys=seed.api_keys, renew=renew_keys),
        crowd_made=crowd_made,
    )


def _locked_workspace(seed: Seed) -> Workspace:
    """The workspace, created or updated, and locked until the transaction ends."""
    locked = Workspace.objects.select_for_update(no_key=True)
    workspace, made = locked.get_or_create(key=seed.key, defaults={"name": seed.key})
    if made:
        require_new_key(seed.key, "workspace.key")
    before = None if made else facts_of(workspace)
    workspace.name = workspace.name if seed.name is None else seed.name
    workspace.feed = workspace.feed if seed.feed is None else seed.feed
    if seed.alerts is not None:
        workspace.alert_emails, workspace.alert_connection = seed.alerts
    if seed.default_country is not None:
        workspace.default_country = seed.default_country
    if before != facts_of(workspace):
        workspace.save(update_fields=["name", "feed", "alert_emails", "alert_connection", "default_country"])
    record(*saved(workspace, before=before, after=facts_of(workspace)))
    return workspace
