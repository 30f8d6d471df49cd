"""Authentication of callers: servers by API key, apps by app id."""

from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import structlog
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from engage.audit.acting import Actor, key_as_actor, set_actor
from engage.credentials.api_keys import KEY_PREFIX, digest, is_well_formed
from engage.database.object_ids import is_object_id
from engage.database.sql import Statement
from engage.errors import InvalidRequest, Refusal
from engage.http.client_address import KNOWN_CALLER, exact_address
from engage.http.credential_memory import CredentialMemory
from engage.http.query_strings import single_value
from engage.models import ApiKey, App
from engage.notations.networks import is_in_any
from engage.notations.origins import tidy_origin

log = structlog.get_logger(__name__)
KEY_NOT_VALID = "The API key is not valid: it is unknown, revoked or expired."
KEY_LEAKED = "An API key was sent to the bridge. It has leaked into a client: revoke it, and send only X-App-Id."
_USE_NOTED_EVERY = timedelta(minutes=1)
# Written as SQL because every call needs it: building the same query with the ORM takes three times as long as
# executing it.
_KEY = Statement("""
SELECT id, workspace_id, name, rate_limit, customers_rate_limit, events_rate_limit, scopes, journeys, networks,
       expires_at, revoked_at, last_used_at,
       (SELECT own.key FROM engage_workspace own WHERE own.id = workspace_id) AS workspace_key,
       (SELECT own.default_country FROM engage_workspace own WHERE own.id = workspace_id) AS default_country
FROM engage_apikey WHERE digest = {digest}
""")
# Skips a key that is locked: a call does not wait for whoever changes its key.
_NOTE_USE = Statement("""
UPDATE engage_apikey SET last_used_at = {now}, last_used_from = {address}::inet WHERE id = ANY(ARRAY(
    SELECT id FROM engage_apikey
    WHERE id = {key_id} AND (last_used_at IS NULL OR last_used_at <= {noted_before}) FOR NO KEY UPDATE SKIP LOCKED
))
""")
# Its identity keys come along: who fetches messages proves with them who it is, whatever other calls need.
_ENABLED_APP = Statement("""
SELECT id, workspace_id, allowed_origins, message_policy, identity, anonymous, in_app, (
    SELECT jsonb_agg(jsonb_build_array(known.kid, known.alg, known.secret, known.expires_at))
    FROM engage_identitykey known WHERE known.app_id = app.id AND known.workspace_id = app.workspace_id
) AS stored_keys, (
    SELECT own.feed OR own.subscribed FROM engage_workspace own WHERE own.id = app.workspace_id
) AS workspace_tells, (
    SELECT own.default_country FROM engage_workspace own WHERE own.id = app.workspace_id
) AS default_country
FROM engage_app app WHERE id = {app_id} AND enabled
""")
_BEARER = {"WWW-Authenticate": "Bearer"}
_Caller = TypeVar("_Caller", ApiKey, App)
_known_keys: CredentialMemory[ApiKey] = CredentialMemory()
_known_apps: CredentialMemory[App] = CredentialMemory()


class Unauthorized(Refusal):
    """The API key is missing, or it is unknown, revoked or expired; the answer does not say which of these three."""

    status = 401
    error = "Unauthorized"
    sends = _BEARER


class NetworkNotAllowed(Refusal):
    """The API key may be used from certain networks only, and the call comes from another."""

    status = 401  # from there, the key proves nobody
    error = "Network not allowed"
    sends = _BEARER

    def __init__(self, address: str) -> None:
        super().__init__(f"This API key may not be used from {address or 'an unknown address'}.")


class InvalidAppId(Refusal):
    """The app id is missing or unknown, or its app is disabled."""

    status = 401
    error = "Invalid app id"
    sends = {"WWW-Authenticate": "X-App-Id"}
    says = "The header X-App-Id, or app in the query string, must hold the id of an enabled app."


class OriginNotAllowed(Refusal):
    """The calling page's origin is not on the app's list of allowed origins."""

    status = 403
    error = "Origin not allowed"

    def __init__(self, origin: str) -> None:
        super().__init__(f"This app does not allow calls from {origin[:100]!r}; its allowed origins do not name it.")


class ApiKeyAuthentication(BaseAuthentication):
    """Authenticates `Authorization: Bearer <API_KEY>`; `request.auth` is the ApiKey. Raises Unauthorized."""

    def authenticate(self, request: Request) -> tuple[None, ApiKey]:
        key = api_key_of(request._request.META.get("HTTP_AUTHORIZATION", ""), now=(now := timezone.now()))
        set_actor(partial(_key_acts, key, request._request))
        require_network(key, request._request)
        request._request.META[KNOWN_CALLER] = key.id
        note_use(key, request._request, now=now)
        structlog.contextvars.bind_contextvars(workspace_id=key.workspace_id, api_key_id=key.id)
        return None, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def api_key_of(header: str, *, now: datetime) -> ApiKey:
    """The valid key in the header. Raises Unauthorized."""
    scheme, _, secret = header.strip().partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not secret:
        raise Unauthorized("Send your API key in the header 'Authorization: Bearer <API_KEY>'.")
    key = _key_with(secret)
    if key is None or not key.is_valid_at(now):
        raise Unauthorized(KEY_NOT_VALID)
    return key


def _key_acts(key: ApiKey, request: HttpRequest) -> Actor:
    address = exact_address(request)
    return key_as_actor(key, str(address) if address else None)


def require_network(key: ApiKey, request: HttpRequest) -> None:
    """Raises NetworkNotAllowed. Before the call is counted: whoever stole the key cannot use up its limit."""
    if key.networks is None:
        return
    address = exact_address(request)
    if address is None or not is_in_any(address, key.networks):
        raise NetworkNotAllowed("" if address is None else str(address))


def note_use(key: ApiKey, request: HttpRequest, *, now: datetime) -> None:
    """Records when and from where the key is used, about once a minute."""
    if key.last_used_at is not None and now - key.last_used_at < _USE_NOTED_EVERY:
        return
    seen = exact_address(request)
    address = str(seen) if seen else None
    _NOTE_USE.execute(key_id=key.id, now=now, address=address, noted_before=now - _USE_NOTED_EVERY)
    key.last_used_at = now  # every caller shares the remembered key, so the next update is due in a minute


def _key_with(secret: str) -> ApiKey | None:
    """The key, valid or not, or None. A text that does not have the form of a key costs no query."""
    if not is_well_formed(secret):
        return None
    hashed = digest(secret)
    return _known_keys.recall(hashed, lambda: _first(ApiKey, _KEY, digest=hashed))


def _ids_of_key(secret: str) -> dict[str, str]:
    """The ids to log for a leaked key, so that it can be revoked; empty if it is unknown."""
    key = None
    with suppress(DatabaseError, InterfaceError):  # the leak is logged even if the database is unavailable
        key = _key_with(secret)
    return {} if key is None else {"api_key_id": key.id, "workspace_id": key.workspace_id}


class AppAuthentication(BaseAuthentication):
    """Authenticates `X-App-Id: <APP_ID>`, or else `?app=<APP_ID>`; `request.auth` is the App.

    Raises InvalidAppId, or InvalidRequest if an API key was sent.
    """

    def authenticate(self, request: Request) -> tuple[None, App]:
        sent = request._request.META.get("HTTP_X_APP_ID") or single_value(request._request.GET, "app") or ""
        for text in (request._request.META.get("HTTP_AUTHORIZATION", ""), sent):
            _, prefix, rest = text.partition(KEY_PREFIX)
            if prefix:
                log.warning("api_key_in_browser", path=request.path, **_ids_of_key(prefix + rest.strip()))
                raise InvalidRequest(KEY_LEAKED)
        app = app_of(sent)
        request._request.META[KNOWN_CALLER] = app.id
        structlog.contextvars.bind_contextvars(workspace_id=app.workspace_id, app_id=app.id)
        return None, app

    def authenticate_header(self, request: Request) -> str:
        return "X-App-Id"


def app_of(app_id: str) -> App:
    """The enabled app with this id. Raises InvalidAppId."""
    app = _known_apps.recall(app_id, lambda: _first(App, _ENABLED_APP, app_id=app_id)) if is_object_id(app_id) else None
    if app is None:
        raise InvalidAppId
    return app


def _first(model: type[_Caller], statement: Statement, **values: str | bytes) -> _Caller | None:
    """The first row of the statement, with only the columns that it selects, or None.

    A column that is no field comes last, and is an attribute of that name.
    """
    row = next(iter(statement.records(**values)), None)
    if row is None:
        return None
    found = model.from_db(None, list(row), list(row.values()))
    vars(found).update(row)
    return found


def require_allowed_origin(app: App, origin: str | None) -> None:
    """Raises OriginNotAllowed. Apps outside browsers send no origin, and pass.

    Checked on the call itself, because a preflight request does not carry the app's id.
    """
    if origin is None or not app.allowed_origins:
        return
    if tidy_origin(origin) not in {tidy_origin(allowed) for allowed in app.allowed_origins}:
        raise OriginNotAllowed(origin)
