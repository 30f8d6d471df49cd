"""A browser that has logged in before gets in while many addresses keep guessing; its cookie is no key."""

from datetime import UTC, datetime, timedelta
from http.cookies import Morsel

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from engage.admin.login.passwords import LONGEST_WAIT
from tests.admin.logins import BUSY, tried, while_somebody_logs_in

NOW = datetime(2030, 1, 2, 3, 4, 0, tzinfo=UTC)
OFFICE, HOME = "198.51.100.1", "198.51.100.2"


@pytest.fixture(autouse=True)
def _nothing_was_tried(settings: Settings, queue: object) -> None:
    settings.ADMIN_LOGIN_LIMIT = "3/h"


@pytest.fixture
def known(transactional_db: None) -> Client:
    """Ada's browser, from which she has logged out."""
    User.objects.create_superuser("ada", password="countess")
    User.objects.create_superuser("bob", password="builder")
    browser = Client()
    with time_machine.travel(NOW, tick=False):
        assert tried(browser, "ada", "countess", address=OFFICE) == ""
        browser.post("/admin/logout/")
    return browser


def cookie(browser: Client) -> "Morsel[str]":
    return browser.cookies["device"]


def test_the_cookie_is_for_the_login_page_alone_and_names_nobody(known: Client) -> None:
    morsel = cookie(known)
    assert (morsel["httponly"], morsel["samesite"], morsel["path"]) == (True, "Lax", "/admin/login/")
    assert (morsel["max-age"], morsel["secure"]) == (30 * 86_400, "")
    assert "ada" not in morsel.value


def test_in_production_it_is_sent_over_tls_alone(known: Client, settings: Settings) -> None:
    settings.SESSION_COOKIE_SECURE = True
    assert tried(known, "ada", "countess", address=OFFICE) == ""
    assert cookie(known)["secure"] is True


def test_who_fails_or_only_looks_gets_none(known: Client) -> None:
    stranger = Client()
    stranger.get("/admin/login/")
    tried(stranger, "ada", "guess", address=HOME)
    assert "device" not in stranger.cookies


@pytest.mark.slow
def test_it_passes_while_thirty_addresses_guess_and_its_own_has_used_up_its_attempts(known: Client) -> None:
    with time_machine.travel(NOW, tick=False):
        for number in range(30):
            for _ in range(4):
                tried(Client(), "ada", "guess", address=f"203.0.113.{number}")
        for _ in range(4):
            tried(Client(), "ada", "guess", address=HOME)
        assert tried(Client(), "ada", "countess", address=HOME)
        assert tried(known, "ada", "countess", address=HOME) == ""


@pytest.mark.slow
def test_a_new_browser_passes_where_its_account_has_logged_in_before(known: Client, settings: Settings) -> None:
    with time_machine.travel(NOW, tick=False):
        for number in range(30):
            tried(Client(), "ada", "guess", address=f"203.0.113.{number}")
        for _ in range(4):
            tried(Client(), "nobody", "guess", address=OFFICE)
        assert "More than 3 attempts" in tried(Client(), "bob", "builder", address=OFFICE)  # who was never there
        assert tried(Client(), "ada", "countess", address=OFFICE) == ""
        for _ in range(9):
            tried(Client(), "ada", "guess", address=OFFICE)
        assert "Try again in" in tried(Client(), "ada", "countess", address=OFFICE)  # as a stranger, after ten tries
    with time_machine.travel(NOW + timedelta(days=1), tick=False), while_somebody_logs_in(settings, "eve"):
        assert tried(Client(), "ada", "countess", address=OFFICE) == ""
        assert BUSY in tried(Client(), "ada", "countess", address="203.0.113.77")


def test_staff_log_in_by_ipv6_and_are_known_by_their_network(known: Client, settings: Settings) -> None:
    """Of which a browser changes its address at will."""
    settings.ADMIN_LOGIN_LIMIT = "1/h"
    with time_machine.travel(NOW, tick=False):
        for address in ("2001:db8:1:2::9", "2001:db8:1:2::a", "2001:db8:1:2:ffff::b"):
            assert tried(Client(), "ada", "countess", address=address) == ""
        elsewhere = "2001:db8:1:3::9"
        assert tried(Client(), "ada", "guess", address=elsewhere) != ""
        assert "attempts to log in" in tried(Client(), "ada", "countess", address=elsewhere)


def test_it_is_checked_beside_a_stranger_s_password(known: Client, settings: Settings) -> None:
    with while_somebody_logs_in(settings, "eve"):
        assert BUSY in tried(Client(), "ada", "countess", address=HOME)
        assert tried(known, "ada", "countess", address=HOME) == ""


def test_it_needs_the_password_and_is_a_stranger_after_ten_tries(known: Client) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        said = [tried(known, "ada", "guess", address=f"203.0.113.{number}") for number in range(10)]
        assert all("Please enter" in page for page in said)
        assert "Please enter" in tried(known, "ada", "guess", address=HOME)  # as any address once
        assert "Try again in" in tried(known, "ada", "countess", address=HOME)
        clock.shift(LONGEST_WAIT)
        assert tried(known, "ada", "countess", address=HOME) == ""


@pytest.mark.parametrize("spoil", ["account", "signature", "age"])
def test_it_vouches_for_its_account_alone_unspoilt_and_for_thirty_days(known: Client, spoil: str) -> None:
    if spoil == "signature":
        known.cookies["device"] = cookie(known).value.replace(":", "0:", 1)
    with time_machine.travel(NOW + timedelta(days=31 if spoil == "age" else 29), tick=False):
        who, password = ("bob", "builder") if spoil == "account" else ("ada", "countess")
        for _ in range(4):
            tried(Client(), "nobody", "guess", address=HOME)
        assert "More than 3 attempts" in tried(known, who, password, address=HOME)


def test_it_vouches_for_almost_thirty_days(known: Client) -> None:
    with time_machine.travel(NOW + timedelta(days=29), tick=False):
        for _ in range(4):
            tried(Client(), "nobody", "guess", address=HOME)
        assert tried(known, "ada", "countess", address=HOME) == ""
