"""The `apiKeys` and `apps` of a seed file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from customers.conditions.instants import parse_instant
from engage.audit.facts import changes_between, facts_of
from engage.audit.recording import change, record, saved
from engage.credentials.identity_keys import MAX_KEYS, InvalidIdentityKey, verifying_key
from engage.json.documents import Part
from engage.models import ApiKey, App, AuditEntry, IdentityKey, Workspace
from engage.notations.networks import tidy_network
from engage.notations.origins import HOST_IN_ASCII, is_origin, tidy_origin
from engage.scopes import Scope
from journeys.definitions.reading import refuse_duplicates, store, text_for
from journeys.models import Journey

_LONGEST_ORIGIN = 255
_CHECKS = {"messagePolicy": "message_policy", "identity": "identity", "anonymous": "anonymous", "inApp": "in_app"}
_CHOICES = {
    "message_policy": App.MessagePolicy.values,
    "identity": App.Identity.values,
    "anonymous": App.Anonymous.values,
    "in_app": App.InApp.values,
}
_LIMITS = {
    "rateLimit": "rate_limit",
    "customersRateLimit": "customers_rate_limit",
    "eventsRateLimit": "events_rate_limit",
}
_OF_USE = ("last_used_at", "last_used_from")
_RIGHTS = {"scopes": "scopes", "journeys": "journeys", "networks": "networks", "expiresAt": "expires_at"}


@dataclass(frozen=True, kw_only=True)
class SeedApiKey:
    """`settings` are those to set, by the model's field; None stands for the default. The others are kept.

    `journeys` are keys of the workspace's journeys, with their places; None if they are kept or in the settings.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    journeys: Sequence[Part] | None = None


@dataclass(frozen=True, kw_only=True)
class SeedApp:
    """`allowed_origins` None keeps the stored ones; a new app allows every origin. `checks` are by the model's field.

    `keys` are all that the app is to have, unsaved and without their app; None keeps the stored ones.
    """

    name: str
    allowed_origins: list[str] | None
    checks: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[IdentityKey] | None = None


def read_api_keys(part: Part) -> list[SeedApiKey]:
    """`[{"name": "server", "rateLimit": "100/m", "scopes": ["trigger"], "journeys": null, …}]`. Raises InvalidSeed."""
    keys = [item.fields(required=["name"], optional=[*_LIMITS, *_RIGHTS]) for item in part.items()]
    refuse_duplicates(fields["name"] for fields in keys)
    return [_api_key(fields) for fields in keys]


def _api_key(fields: Mapping[str, Part]) -> SeedApiKey:
    settings: dict[str, Any] = {
        _LIMITS[name]: _limit(part, _LIMITS[name]) for name, part in fields.items() if name in _LIMITS
    }
    rights = {name: part for name, part in fields.items() if name in _RIGHTS}
    settings |= {_RIGHTS[name]: None for name, part in rights.items() if part.is_null}
    given = {name: part for name, part in rights.items() if not part.is_null}
    if "scopes" in given:
        settings["scopes"] = [item.choice(Scope.values) for item in _some(given["scopes"])]
    if "networks" in given:
        settings["networks"] = [_network(item) for item in _some(given["networks"])]
    if "expiresAt" in given:
        settings["expires_at"] = _instant(given["expiresAt"])
    return SeedApiKey(
        name=text_for(fields["name"], ApiKey, "name"),
        settings=settings,
        journeys=_some(given["journeys"]) if "journeys" in given else None,
    )


def _limit(part: Part, column: str) -> str | None:
    """A rate; null is the default for those that triggers do not have."""
    return None if part.is_null and column != "rate_limit" else text_for(part, ApiKey, column)


def _some(part: Part) -> list[Part]:
    """The items, each a text and there once. An empty list could be meant as all or as none."""
    items = part.items()
    if not items:
        part.refuse("must not be empty; null stands for all.")
    refuse_duplicates(items)
    return items


def _network(part: Part) -> str:
    try:
        return tidy_network(part.text())
    except ValueError as error:
        part.refuse(f"must be a network such as 203.0.113.0/24: {error}.")


def _instant(part: Part) -> datetime:
    instant = parse_instant(part.text())
    try:
        in_utc = instant and instant.astimezone(UTC)
    except OverflowError:
        in_utc = None
    if in_utc is None:
        part.refuse("must be a time in ISO 8601.")
    return in_utc


def read_apps(part: Part) -> list[SeedApp]:
    """`[{"name": "web", "allowedOrigins": [], "messagePolicy": "open", …}]`. Raises InvalidSeed."""
    optional = ["allowedOrigins", *_CHECKS, "identityKeys"]
    apps = [item.fields(required=["name"], optional=optional) for item in part.items()]
    refuse_duplicates(fields["name"] for fields in apps)
    return [
        SeedApp(
            name=text_for(fields["name"], App, "name"),
            allowed_origins=_origins(fields["allowedOrigins"]) if "allowedOrigins" in fields else None,
            checks={
                _CHECKS[name]: part.choice(_CHOICES[_CHECKS[name]]) for name, part in fields.items() if name in _CHECKS
            },
            keys=_identity_keys(fields["identityKeys"]) if "identityKeys" in fields else None,
        )
        for fields in apps
    ]


def _identity_keys(part: Part) -> list[IdentityKey]:
    """`[{"kid": "k1", "alg": "HS256", "secret": "…", "expiresAt": null}]`; `secret` may also be a public key in PEM."""
    items = part.items(at_most=MAX_KEYS)
    keys = [item.fields(required=["kid", "alg", "secret"], optional=["expiresAt"]) for item in items]
    refuse_duplicates(fields["kid"] for fields in keys)
    return [_identity_key(fields) for fields in keys]


def _identity_key(fields: Mapping[str, Part]) -> IdentityKey:
    alg, secret, end = fields["alg"].choice(IdentityKey.Algorithm.values), fields["secret"], fields.get("expiresAt")
    try:
        verifying_key(alg, secret.text())
    except InvalidIdentityKey as invalid:
        secret.refuse(str(invalid))
    expires_at = None if end is None or end.is_null else _instant(end)
    return IdentityKey(
        kid=text_for(fields["kid"], IdentityKey, "kid"), alg=alg, secret=secret.text(), expires_at=expires_at
    )


def _origins(part: Part) -> list[str]:
    return [_origin(item) for item in part.items()]


def _origin(part: Part) -> str:
    origin = tidy_origin(part.text(at_most=_LONGEST_ORIGIN))
    if not is_origin(origin):
        part.refuse(f"must be an origin such as https://shop.example, without a path. {HOST_IN_ASCII}")
    return origin


def written_api_key(key: ApiKey, key_of: Mapping[str, str]) -> dict[str, Any]:
    """The key as an item, without its secret; `key_of` has the keys of journeys by their ids."""
    columns = {name: getattr(key, column) for name, column in {**_LIMITS, **_RIGHTS}.items()}
    journeys = None if key.journeys is None else sorted(key_of[one] for one in key.journeys if one in key_of)
    ends = None if key.expires_at is None else key.expires_at.astimezone(UTC).isoformat()
    return {"name": key.name, **columns, "journeys": journeys, "expiresAt": ends}


def written_app(app: App) -> dict[str, Any]:
    """The app as an item, without its identity keys, which are secrets: these stay as they are."""
    columns = {name: getattr(app, column) for name, column in _CHECKS.items()}
    return {"name": app.name, "allowedOrigins": list(app.allowed_origins), **columns}


def seed_api_keys(*, workspace: Workspace, keys: Sequence[SeedApiKey], renew: bool) -> dict[str, str | None]:
    """Creates missing keys and changes the others; `renew` issues new secrets for all of them.

    Returns each key's secret by its name; None unless the secret was created now. Raises InvalidSeed.
    """
    if not keys:
        return {}
    journeys = _journey_ids(workspace, keys)
    named = ApiKey.objects.filter(workspace=workspace, name__in=[key.name for key in keys])
    stored = {row.name: row for row in named.select_for_update(no_key=True)}
    before = {name: facts_of(row) for name, row in stored.items()}
    secrets: dict[str, str | None] = {}
    for key in keys:
        row = stored.get(key.name) or ApiKey(workspace=workspace, name=key.name)
        secrets[key.name] = _renew(row) if renew or key.name not in stored else None
        for column, value in key.settings.items():
            setattr(row, column, value)
        if key.journeys is not None:
            row.journeys = [journeys[part.text()] for part in key.journeys]
        stored[key.name] = row
    fields = ["prefix", "digest", *_LIMITS.values(), *_RIGHTS.values(), "revoked_at", *_OF_USE]
    store([*stored.values()], fields=fields, before=before, named="name")
    return secrets


def _journey_ids(workspace: Workspace, keys: Sequence[SeedApiKey]) -> dict[str, str]:
    """The ids of the journeys that the keys are for, by their keys. Raises InvalidSeed."""
    named = {part.text(): part for key in keys for part in key.journeys or ()}
    own = Journey.objects.filter(workspace=workspace, key__in=named) if named else Journey.objects.none()
    ids = dict(own.values_list("key", "id"))
    for key, part in named.items():
        if key not in ids:
            part.refuse("is no journey of the workspace.")
    return ids


def _renew(row: ApiKey) -> str:
    row.expires_at = row.revoked_at = row.last_used_at = row.last_used_from = None
    return row.take_new_secret()


def seed_apps(*, workspace: Workspace, apps: Sequence[SeedApp]) -> dict[str, str]:
    """Creates missing apps and sets the origins of the others. Returns each app's id by its name."""
    if not apps:
        return {}
    named = App.objects.filter(workspace=workspace, name__in=[app.name for app in apps])
    stored = {row.name: row for row in named.select_for_update(no_key=True)}
    before = {name: facts_of(row) for name, row in stored.items()}
    for app in apps:
        row = stored.setdefault(app.name, App(workspace=workspace, name=app.name))
        row.allowed_origins = row.allowed_origins if app.allowed_origins is None else app.allowed_origins
        for column, value in app.checks.items():
            setattr(row, column, value)
    store([*stored.values()], fields=["allowed_origins", *_CHECKS.values()], before=before, named="name")
    for app in apps:
        if app.keys is not None:
            _seed_identity_keys(stored[app.name], app.keys)
    return {app.name: stored[app.name].id for app in apps}


def _seed_identity_keys(app: App, keys: Sequence[IdentityKey]) -> None:
    stored = {row.kid: row for row in IdentityKey.objects.filter(app=app)}
    before = {kid: facts_of(row) for kid, row in stored.items()}
    gone = [row for kid, row in stored.items() if kid not in {key.kid for key in keys}]
    entries = [change(AuditEntry.Action.DELETED, row, changes=changes_between(before[row.kid], {})) for row in gone]
    IdentityKey.objects.filter(pk__in=[row.pk for row in gone]).delete()
    for key in keys:
        said = {name: getattr(key, name) for name in ("alg", "secret", "expires_at")}
        row, _ = IdentityKey.objects.update_or_create(
            app=app, kid=key.kid, defaults={"workspace_id": app.workspace_id, **said}
        )
        entries += saved(row, before=before.get(key.kid), after=facts_of(row))
    record(*entries)
