"""Staff log in with a provider, and may do what their groups there say."""

import base64
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import jwt
import pytest
import requests
import time_machine
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from oidc_provider_mock import run_server_in_thread
from pytest_django import Settings
from structlog.testing import capture_logs

from engage.admin.login.openid import provider
from engage.admin.login.openid.provider import InvalidIdToken, Provider, claims_of
from engage.admin.login.passwords import LoginLimitExceeded
from engage.audit import refusals
from engage.models import AuditEntry, Membership, Workspace
from tests.admin import openid_urls  # before a provider is set
from tests.support.audit import told
from tests.support.cases import each

BEGIN, CALLBACK, LISTS = "/admin/openid/", "/admin/openid/callback/", "/admin/journeys/journey/"
pytestmark = [
    pytest.mark.urls(openid_urls.__name__),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib"),  # in the provider's own thread
    pytest.mark.filterwarnings("ignore::authlib.deprecate.AuthlibDeprecationWarning"),
]


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture(autouse=True)
def _a_provider_is_set(issuer: str, settings: Settings, db: None) -> None:
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = issuer, "engage", "hush"
    settings.OIDC_ROLES = {
        "ops": "superuser",
        "shop": {"acme": "author"},
        "shop-help": {"acme": "support", "rival": "viewer"},
        "gone": {"nowhere": "admin"},
    }
    settings.SECOND_FACTOR = ["all"]
    settings.ADMIN_LOGIN_LIMIT = "1000/s"


def known(issuer: str, sub: str, *groups: str, **claims: Any) -> str:
    """Somebody whom the provider knows."""
    requests.put(f"{issuer}/users/{sub}", json={"groups": groups, **claims}).raise_for_status()
    return sub


def begun(browser: Client, **query: str) -> str:
    """Where the browser is sent."""
    answer = browser.get(BEGIN, query)
    assert answer.status_code == 302, answer.content.decode()
    return answer.headers["Location"]


def approved(asks: str, sub: str) -> str:
    """Where the provider sends the browser back, once somebody has logged in there."""
    answer = requests.post(asks, data={"sub": sub}, allow_redirects=False)
    assert answer.status_code == 302, answer.text
    back = answer.headers["Location"]
    assert back.startswith(f"http://testserver{CALLBACK}")
    return back


def asking(asks: str, **other: str) -> str:
    """The same address with other values."""
    parts = urlsplit(asks)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return urlunsplit(parts._replace(query=urlencode(query | other)))


def log_in(browser: Client, sub: str, **query: str) -> Any:
    return browser.get(approved(begun(browser, **query), sub))


def account(sub: str) -> User:
    return User.objects.get(username__startswith="openid:", username__endswith=f":{sub}")


def roles(sub: str) -> dict[str, str]:
    return dict(Membership.objects.filter(user=account(sub)).values_list("workspace__key", "role"))


def test_the_login_page_shows_the_way_in_and_leads_back(issuer: str, acme: Workspace) -> None:
    browser = Client()
    page = browser.get("/admin/login/", {"next": f"{LISTS}?a=1&b=2"}).content.decode()
    assert f'href="{BEGIN}?next={LISTS}%3Fa%3D1%26b%3D2"' in page
    assert 'name="password"' in page
    answer = log_in(browser, known(issuer, "ada", "ops"), next=f"{LISTS}?q=x")
    assert answer.headers["Location"] == f"{LISTS}?q=x"


@pytest.mark.urls("config.urls")
def test_without_a_provider_there_is_no_such_way() -> None:
    assert "OpenID" not in Client().get("/admin/login/").content.decode()
    for path in (BEGIN, CALLBACK):
        assert Client().get(path).headers["Location"].startswith("/admin/login/")  # as any unknown page


def test_groups_become_roles_and_the_second_factor_is_theirs(issuer: str, acme: Workspace, rival: Workspace) -> None:
    browser = Client()
    sub = known(
        issuer, "grace", "shop", "shop-help", "unknown", given_name="Grace", family_name="Hopper", email="g@x.y"
    )
    assert log_in(browser, sub).headers["Location"] == "/admin/"
    user = account("grace")
    assert (user.is_staff, user.is_superuser, user.has_usable_password()) == (True, False, False)
    assert (user.get_full_name(), user.email) == ("Grace Hopper", "g@x.y")
    assert roles("grace") == {"acme": "author", "rival": "viewer"}  # of two roles in acme the one that allows more
    assert browser.get(LISTS).status_code == 200
    assert browser.get("/admin/auth/user/").status_code == 403


@pytest.mark.slow
def test_groups_of_the_next_login_take_the_place_of_those_before(
    issuer: str, acme: Workspace, rival: Workspace
) -> None:
    log_in(Client(), known(issuer, "joan", "ops"))
    assert account("joan").is_superuser
    held = Client()
    log_in(held, known(issuer, "joan", "shop-help"))
    Membership.objects.filter(user=account("joan"), workspace=rival).update(role="admin")
    log_in(Client(), known(issuer, "joan", "shop-help"))
    assert (account("joan").is_superuser, roles("joan")) == (False, {"acme": "support", "rival": "viewer"})
    refused = log_in(Client(), known(issuer, "joan", "unknown"))
    assert (refused.status_code, roles("joan"), account("joan").is_staff) == (403, {}, False)
    assert held.get(LISTS).status_code == 302  # their other session has ended with their roles
    memberships = [entry for entry in told("membership") if entry[0] == account("joan").username]
    assert len(memberships) == 5  # two made, one mended, two gone


def test_a_session_ends_whatever_is_done_in_it_and_the_next_has_the_groups_of_then(
    issuer: str, settings: Settings, acme: Workspace
) -> None:
    browser = Client()
    log_in(browser, known(issuer, "mary", "shop"))
    known(issuer, "mary")  # who is in no group any more
    began = datetime.now(UTC)
    for seconds in (settings.OIDC_SESSION_SECONDS / 2, settings.OIDC_SESSION_SECONDS - 60):
        with time_machine.travel(began + timedelta(seconds=seconds)):
            assert browser.get(LISTS).status_code == 200
    with time_machine.travel(began + timedelta(seconds=settings.OIDC_SESSION_SECONDS + 60)):
        ended = browser.get(f"{LISTS}?q=x")
        assert ended.headers["Location"] == f"/admin/login/?{urlencode({'next': f'{LISTS}?q=x'})}"
        assert browser.get(LISTS).status_code == 302
        assert (log_in(browser, "mary").status_code, roles("mary")) == (403, {})


@each("groups", [[], ["unknown"], ["gone"]])
def test_nobody_gets_in_without_a_role(issuer: str, groups: list[str]) -> None:
    browser = Client()
    refused = log_in(browser, known(issuer, "eve", *groups))
    assert refused.status_code == 403
    assert "None of your groups has a role here." in refused.content.decode()
    assert not User.objects.exists()
    assert browser.get("/admin/").status_code == 302
    assert "eve" in AuditEntry.objects.get(action="login_failed").object_name


def test_no_name_at_the_provider_takes_over_an_account_of_here(issuer: str) -> None:
    local = User.objects.create_superuser("admin", email="admin@engage.example", password="countess of lovelace")
    log_in(Client(), known(issuer, "admin", "ops", email="admin@engage.example", preferred_username="admin"))
    assert account("admin").pk != local.pk
    assert User.objects.count() == 2


def test_a_closed_account_stays_closed_and_a_page_closes_it(issuer: str, staff: Client, settings: Settings) -> None:
    settings.SECOND_FACTOR = []
    log_in(Client(), known(issuer, "kay", "ops"))
    user = account("kay")
    form = {"first_name": "", "last_name": "", "email": "", "date_joined_0": "2030-01-01", "date_joined_1": "00:00"}
    saved = staff.post(f"/admin/auth/user/{user.pk}/change/", {**form, "username": "kay"})
    user.refresh_from_db()
    assert (saved.status_code, user.is_active, user.username[:7]) == (302, False, "openid:")
    refused = log_in(Client(), "kay")
    assert (refused.status_code, "Your account is closed here." in refused.content.decode()) == (403, True)


def test_logins_are_in_the_audit_and_failures_without_what_was_sent(issuer: str) -> None:
    with capture_logs() as logs:
        log_in(Client(), known(issuer, "ada", "ops"))
        Client().get(CALLBACK, {"code": "typed-code", "state": "typed-state"})
    name = account("ada").username
    (entry,) = AuditEntry.objects.filter(action="logged_in")
    assert (entry.actor_name, entry.object_name) == (name, name)
    assert [line["reason"] for line in logs if line["event"] == "login_failed"] == ["not_proven"]
    written = repr(logs) + repr(list(AuditEntry.objects.values()))
    assert "typed" not in written
    assert "hush" not in written


def refused(browser: Client, back: str) -> None:
    answer = browser.get(back)
    assert (answer.status_code, "has not proven who you are" in answer.content.decode()) == (403, True)
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert "_auth_user_id" not in browser.session


def test_what_another_browser_has_asked_lets_nobody_in(issuer: str) -> None:
    known(issuer, "eve", "ops")
    victim = Client()
    begun(victim)
    refused(victim, approved(begun(Client()), "eve"))
    refused(Client(), approved(begun(Client()), "eve"))


def test_an_answer_is_taken_once(issuer: str) -> None:
    browser = Client()
    back = approved(begun(browser), known(issuer, "ada", "ops"))
    assert browser.get(back).status_code == 302
    browser.post("/admin/logout/")
    refused(browser, back)


def test_a_token_of_another_login_lets_nobody_in(issuer: str) -> None:
    browser = Client()
    refused(browser, approved(asking(begun(browser), nonce="another"), known(issuer, "eve", "ops")))


def test_a_code_of_another_client_lets_nobody_in(issuer: str) -> None:
    browser = Client()
    refused(browser, approved(asking(begun(browser), client_id="another"), known(issuer, "eve", "ops")))


def test_who_is_refused_by_the_provider_is_told(issuer: str) -> None:
    browser = Client()
    state = parse_qs(urlsplit(begun(browser)).query)["state"][0]
    refused(browser, f"{CALLBACK}?error=access_denied&state={state}")


def test_a_session_gets_another_key_and_a_link_from_elsewhere_ends_none(issuer: str) -> None:
    browser = Client()
    asks = begun(browser)
    before = browser.session.session_key
    browser.get(approved(asks, known(issuer, "ada", "ops")))
    assert browser.session.session_key != before
    assert browser.get(CALLBACK, {"error": "x", "state": "y"}).status_code == 403
    assert browser.get(LISTS).status_code == 200


@each("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "\\\\evil"])
def test_nobody_is_led_elsewhere(issuer: str, elsewhere: str) -> None:
    assert log_in(Client(), known(issuer, "ada", "ops"), next=elsewhere).headers["Location"] == "/admin/"


def test_attempts_are_limited(settings: Settings) -> None:
    settings.ADMIN_LOGIN_LIMIT = "1/h"
    answers = [Client().get(BEGIN, REMOTE_ADDR="203.0.113.99") for _ in range(3)]
    assert answers[-1].status_code == LoginLimitExceeded.status
    assert answers[-1]["Retry-After"]


def test_a_provider_that_is_away_keeps_no_password_out(settings: Settings) -> None:
    User.objects.create_superuser("ada", password="countess of lovelace")
    settings.OIDC_ISSUER = "http://localhost:9"
    assert Client().get(BEGIN).status_code == 503
    browser = Client()
    assert browser.post("/admin/login/", {"username": "ada", "password": "countess of lovelace"}).status_code == 302


def taken_by(listener: socket.socket) -> int:
    """How many connections have come to it since the last look."""
    listener.setblocking(False)
    number = 0
    with suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            number += 1
    return number


@pytest.mark.slow
def test_a_silent_provider_holds_one_thread_and_is_left_alone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(_: int) -> int:
        try:
            return Client().get(BEGIN).status_code
        finally:
            connection.close()

    monkeypatch.setattr(provider, "_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as mute:
        settings.OIDC_ISSUER = f"http://127.0.0.1:{mute.getsockname()[1]}"
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(ask, range(8))) == {503}
        assert (taken_by(mute), ask(0), taken_by(mute)) == (1, 503, 0)
        provider._away_until.clear()  # as after a while
        assert (ask(0), taken_by(mute)) == (503, 1)


def test_keys_are_kept_and_looked_for_again_where_none_fits(issuer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = requests.get(f"{issuer}/jwks").json()["keys"][0]
    fetched: list[str] = []

    def fetch(self: Provider) -> list[dict[str, Any]]:
        fetched.append("once more")
        keys = [key | {"kid": f"k{len(fetched)}"}]
        provider._kept_keys[self.OIDC_OP_JWKS_ENDPOINT] = (time.monotonic(), keys)
        return keys

    def of(kid: str) -> str:
        parts = [json.dumps(part).encode() for part in ({"alg": "RS256", "kid": kid}, {}, {})]
        return b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts).decode()

    monkeypatch.setattr(provider, "_kept_keys", {})
    monkeypatch.setattr(Provider, "_fetched_keys", fetch)
    found = [Provider().retrieve_matching_jwk(of(kid)).key_id for kid in ("k1", "k1", "k2", "k2")]
    assert (found, len(fetched)) == (["k1", "k1", "k2", "k2"], 2)


def test_answers_that_nobody_asked_for_leave_few_entries(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ADMIN_LOGIN_LIMIT = "3/h"
    monkeypatch.setattr(refusals, "OF_ONE_CAUSE", 5)
    root = User.objects.create_superuser("root", password="countess of lovelace")
    for number in range(4):
        said = [Client().get(CALLBACK, REMOTE_ADDR=f"203.0.113.{number}").status_code for _ in range(5)]
        assert said == [403] * 3 + [429] * 2
    Client().post("/admin/login/", {"username": "root", "password": "x"})
    ids = list(AuditEntry.objects.filter(action="login_failed").values_list("object_id", flat=True))
    assert (ids.count(""), ids.count(str(root.pk))) == (5, 1)


def test_an_issuer_that_calls_itself_otherwise_is_not_believed(settings: Settings, issuer: str) -> None:
    settings.OIDC_ISSUER = issuer.replace("localhost", "127.0.0.1") + "/"
    assert Client().get(BEGIN).status_code == 503


def token(issuer: str, *, client: str = "engage") -> str:
    """An ID token that the provider makes for this client, with the nonce "n"."""
    query = {"client_id": client, "redirect_uri": f"http://testserver{CALLBACK}", "response_type": "code"}
    asks = f"{issuer}/oauth2/authorize?{urlencode({**query, 'scope': 'openid', 'nonce': 'n', 'state': 's'})}"
    code = parse_qs(urlsplit(approved(asks, "ada")).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": query["redirect_uri"]}
    made = requests.post(f"{issuer}/oauth2/token", data=form, auth=(client, "x")).json()
    return str(made["id_token"])


def test_a_token_is_believed_if_it_is_signed_for_us_and_holds(issuer: str, settings: Settings) -> None:
    good = token(issuer)
    assert Provider().verify_token(good, nonce="n")["sub"] == "ada"
    with pytest.raises(jwt.InvalidAudienceError):
        Provider().verify_token(token(issuer, client="another"), nonce="n")
    with time_machine.travel(datetime.now(UTC) + timedelta(hours=2)), pytest.raises(jwt.ExpiredSignatureError):
        Provider().verify_token(good, nonce="n")


@each("algorithm", ["none", "HS256"])
def test_a_token_that_anybody_could_make_is_not_believed(issuer: str, algorithm: str) -> None:
    good = token(issuer)
    key = requests.get(f"{issuer}/jwks").json()["keys"][0]
    said = jwt.decode(good, options={"verify_signature": False})
    secret = key["n"] if algorithm == "HS256" else ""
    forged = jwt.encode(said | {"sub": "admin"}, secret, algorithm=algorithm)
    with pytest.raises(jwt.InvalidAlgorithmError):
        Provider().verify_token(forged, nonce="n")


def test_what_is_no_answer_of_a_provider_is_refused(rf: Any, issuer: str) -> None:
    with pytest.raises(InvalidIdToken):
        claims_of(rf.get(CALLBACK), code="no code", nonce="n", code_verifier="v" * 50)
