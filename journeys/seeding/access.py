"""The `apiKeys` and `apps` of a seed file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engage.json.documents import Part
from engage.models import ApiKey, App, Workspace
from engage.origins import HOST_IN_ASCII, is_origin, tidy_origin
from journeys.seeding.reading import refuse_twins, text_for

_LONGEST_ORIGIN = 255
_LIMITS = {
    "rateLimit": "rate_limit",
    "customersRateLimit": "customers_rate_limit",
    "eventsRateLimit": "events_rate_limit",
}


@dataclass(frozen=True, kw_only=True)
class SeedApiKey:
    """`limits` are those to set, by the model's field; None stands for the default. The others are kept."""

    name: str
    limits: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SeedApp:
    """`allowed_origins` None keeps the stored ones; a new app allows every origin."""

    name: str
    allowed_origins: list[str] | None


def read_api_keys(part: Part) -> list[SeedApiKey]:
    """`[{"name": "server", "rateLimit": "100/m"}]`. Raises InvalidSeed."""
    keys = [item.fields(required=["name"], optional=_LIMITS) for item in part.items()]
    refuse_twins(fields["name"] for fields in keys)
    return [
        SeedApiKey(
            name=text_for(fields["name"], ApiKey, "name"),
            limits={_LIMITS[name]: _limit(part, _LIMITS[name]) for name, part in fields.items() if name in _LIMITS},
        )
        for fields in keys
    ]


def _limit(part: Part, column: str) -> str | None:
    """A rate; null is the default for those that triggers do not have."""
    return None if part.is_null and column != "rate_limit" else text_for(part, ApiKey, column)


def read_apps(part: Part) -> list[SeedApp]:
    """`[{"name": "web", "allowedOrigins": []}]`. Raises InvalidSeed."""
    apps = [item.fields(required=["name"], optional=["allowedOrigins"]) for item in part.items()]
    refuse_twins(fields["name"] for fields in apps)
    return [
        SeedApp(
            name=text_for(fields["name"], App, "name"),
            allowed_origins=_origins(fields["allowedOrigins"]) if "allowedOrigins" in fields else None,
        )
        for fields in apps
    ]


def _origins(part: Part) -> list[str]:
    return [_origin(item) for item in part.items()]


def _origin(part: Part) -> str:
    origin = tidy_origin(part.text(at_most=_LONGEST_ORIGIN))
    if not is_origin(origin):
        part.refuse(f"must be an origin such as https://shop.example, without a path. {HOST_IN_ASCII}")
    return origin


def seed_api_keys(*, workspace: Workspace, keys: Sequence[SeedApiKey], renew: bool) -> dict[str, str | None]:
    """Creates missing keys and sets the limits of the others; `renew` issues new secrets for all of them.

    Returns each key's secret by its name; None unless the secret was created now.
    """
    if not keys:
        return {}
    named = ApiKey.objects.filter(workspace=workspace, name__in=[key.name for key in keys])
    stored = {row.name: row for row in named.select_for_update(no_key=True)}
    secrets: dict[str, str | None] = {}
    for key in keys:
        row = stored.get(key.name) or ApiKey(workspace=workspace, name=key.name)
        for column, limit in key.limits.items():
            setattr(row, column, limit)
        secrets[key.name] = _renew(row) if renew or key.name not in stored else None
        stored[key.name] = row
    ApiKey.objects.bulk_create(
        [stored[key.name] for key in keys],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["prefix", "digest", *_LIMITS.values(), "expires_at", "revoked_at", "last_used_at"],
    )
    return secrets


def _renew(row: ApiKey) -> str:
    row.expires_at = row.revoked_at = row.last_used_at = None
    return row.take_new_secret()


def seed_apps(*, workspace: Workspace, apps: Sequence[SeedApp]) -> dict[str, str]:
    """Creates missing apps and sets the origins of the others. Returns each app's id by its name."""
    if not apps:
        return {}
    named = App.objects.filter(workspace=workspace, name__in=[app.name for app in apps])
    stored = {row.name: row for row in named.select_for_update(no_key=True)}
    for app in apps:
        row = stored.setdefault(app.name, App(workspace=workspace, name=app.name))
        row.allowed_origins = row.allowed_origins if app.allowed_origins is None else app.allowed_origins
    App.objects.bulk_create(
        [stored[app.name] for app in apps],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["allowed_origins"],
    )
    return {app.name: stored[app.name].id for app in apps}
