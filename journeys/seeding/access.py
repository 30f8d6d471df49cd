"""The `apiKeys` and `apps` of a seed file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from customers.conditions.instants import parse_instant
from engage.identity_keys import MAX_KEYS, InvalidIdentityKey, verifying_key
from engage.json.documents import Part
from engage.models import ApiKey, App, IdentityKey, Workspace
from engage.origins import HOST_IN_ASCII, is_origin, tidy_origin
from journeys.seeding.reading import refuse_twins, text_for

_LONGEST_ORIGIN = 255
_CHECKS = {"messagePolicy": "message_policy", "identity": "identity", "anonymous": "anonymous"}
_CHOICES = {
    "message_policy": App.MessagePolicy.values,
    "identity": App.Identity.values,
    "anonymous": App.Anonymous.values,
}
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
class SeedIdentityKey:
    kid: str
    alg: str
    secret: str
    expires_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class SeedApp:
    """`allowed_origins` None keeps the stored ones; a new app allows every origin. `checks` are by the model's field.

    `keys` are all that the app is to have, None keeps the stored ones.
    """

    name: str
    allowed_origins: list[str] | None
    checks: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[SeedIdentityKey] | None = None


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
    """`[{"name": "web", "allowedOrigins": [], "messagePolicy": "open", …}]`. Raises InvalidSeed."""
    optional = ["allowedOrigins", *_CHECKS, "identityKeys"]
    apps = [item.fields(required=["name"], optional=optional) for item in part.items()]
    refuse_twins(fields["name"] for fields in apps)
    return [
        SeedApp(
            name=text_for(fields["name"], App, "name"),
            allowed_origins=_origins(fields["allowedOrigins"]) if "allowedOrigins" in fields else None,
            checks={_CHECKS[name]: _check(part, _CHECKS[name]) for name, part in fields.items() if name in _CHECKS},
            keys=_identity_keys(fields["identityKeys"]) if "identityKeys" in fields else None,
        )
        for fields in apps
    ]


def _check(part: Part, column: str) -> str:
    text = part.text()
    choices = _CHOICES[column]
    if text not in choices:
        part.refuse(f"is {text[:40]!r}, which is none of {', '.join(choices)}.")
    return text


def _identity_keys(part: Part) -> list[SeedIdentityKey]:
    """`[{"kid": "k1", "alg": "HS256", "secret": "…", "expiresAt": null}]`; `secret` may also be a public key in PEM."""
    items = part.items(at_most=MAX_KEYS)
    keys = [item.fields(required=["kid", "alg", "secret"], optional=["expiresAt"]) for item in items]
    refuse_twins(fields["kid"] for fields in keys)
    return [_identity_key(fields) for fields in keys]


def _identity_key(fields: Mapping[str, Part]) -> SeedIdentityKey:
    alg, secret, end = fields["alg"].text(), fields["secret"], fields.get("expiresAt")
    if alg not in IdentityKey.Algorithm.values:
        fields["alg"].refuse(f"is {alg[:40]!r}, which is none of {', '.join(IdentityKey.Algorithm.values)}.")
    try:
        verifying_key(alg, secret.text())
    except InvalidIdentityKey as invalid:
        secret.refuse(str(invalid))
    expires_at = None
    if end is not None and not end.is_null and (expires_at := parse_instant(end.text())) is None:
        end.refuse("must be a time in ISO 8601.")
    return SeedIdentityKey(
        kid=text_for(fields["kid"], IdentityKey, "kid"), alg=alg, secret=secret.text(), expires_at=expires_at
    )


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
        for column, value in app.checks.items():
            setattr(row, column, value)
    App.objects.bulk_create(
        [stored[app.name] for app in apps],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["allowed_origins", *_CHECKS.values()],
    )
    for app in apps:
        if app.keys is not None:
            _seed_identity_keys(stored[app.name], app.keys)
    return {app.name: stored[app.name].id for app in apps}


def _seed_identity_keys(app: App, keys: Sequence[SeedIdentityKey]) -> None:
    IdentityKey.objects.filter(app=app).exclude(kid__in=[key.kid for key in keys]).delete()
    for key in keys:
        IdentityKey.objects.update_or_create(
            app=app,
            kid=key.kid,
            defaults={
                "workspace_id": app.workspace_id,
                "alg": key.alg,
                "secret": key.secret,
                "expires_at": key.expires_at,
            },
        )
