"""Staff show a code of their phone beside the password, once they have set one up or where it is required."""

import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
import time_machine
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django_otp.oath import totp
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from pytest_django import Settings

from engage.admin.login.passwords import _hashing
from engage.admin.login.second_factor.stored import phone_to_set_up
from engage.models import Membership, Phone, Workspace
from tests.support.audit import told, written
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
INDEX, LISTS = "/admin/", "/admin/journeys/journey/"
ASK, SET_UP = reverse("second_factor"), reverse("second_factor_set_up")
PASSWORD = "countess of lovelace"


@pytest.fixture(autouse=True)
def _logins_are_not_limited(settings: Settings, queue: redis.Redis) -> None:
    settings.ADMIN_LOGIN_LIMIT = "1000/s"


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_superuser("ada", password=PASSWORD)


def logged_in(name: str = "ada", password: str = PASSWORD) -> Client:
    browser = Client()
    sent = browser.post("/admin/login/?next=/admin/", {"username": name, "password": password})
    assert sent.status_code == 302, sent.content.decode()
    return browser


def code_of(user: User, *, steps: int = 0) -> str:
    device = Phone.objects.filter(user=user).latest("pk")
    return f"{totp(device.bin_key, t0=-30 * steps):06d}"


def set_up(browser: Client, user: User) -> list[str]:
    """The recovery codes that are shown when a phone is set up."""
    browser.get(SET_UP)
    page = browser.post(SET_UP, {"code": code_of(user)}).content.decode()
    (codes,) = re.findall(r'id="codes">([^<]*)<', page)
    return str(codes).split()


def where(browser: Client, url: str = LISTS) -> Any:
    """Where the address leads: to itself (200) or to another one."""
    answer = browser.get(url)
    return answer.headers.get("Location", answer.status_code)


def test_nothing_changes_for_who_has_set_none_up(ada: User) -> None:
    assert where(logged_in()) == 200


def test_a_code_is_asked_for_before_any_page(ada: User) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        codes = set_up(logged_in(), ada)
        assert len(set(codes)) == 10
        browser = logged_in()
        for url in (INDEX, LISTS, "/admin/search/?s=ada", "/admin/autocomplete/", SET_UP):
            assert where(browser, url) == ASK
        assert browser.post(LISTS + "add/", {"key": "x"}).headers["Location"] == ASK
        assert "not the code" in browser.post(ASK, {"code": "000000"}).content.decode()
        assert where(browser) == ASK
        clock.shift(60)  # a code is taken once, and a wrong one makes the next wait
        assert browser.post(ASK, {"code": code_of(ada)}).headers["Location"] == INDEX
        assert where(browser) == 200
        other = logged_in()
        assert "not the code" in other.post(ASK, {"code": code_of(ada)}).content.decode()


def test_a_phone_that_is_set_up_or_replaced_ends_all_other_sessions(ada: User) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        before, owner, waiting = logged_in(), logged_in(), logged_in()
        assert where(before) == 200
        set_up(owner, ada)
        assert where(owner) == 200
        for browser in (before, waiting):
            assert where(browser).startswith("/admin/login/")
            assert "login" in where(browser, INDEX)
        clock.shift(60)
        second = logged_in()
        assert second.post(ASK, {"code": code_of(ada)}).headers["Location"] == INDEX
        clock.shift(60)
        set_up(owner, ada)
        assert where(owner) == 200
        assert where(second).startswith("/admin/login/")


def test_a_recovery_code_lets_in_once(ada: User) -> None:
    codes = set_up(logged_in(), ada)
    browser = logged_in()
    assert browser.post(ASK, {"code": codes[3]}).headers["Location"] == INDEX
    assert where(browser) == 200
    other = logged_in()
    assert "not the code" in other.post(ASK, {"code": codes[3]}).content.decode()
    with time_machine.travel(datetime.now(UTC) + timedelta(seconds=3)):  # a wrong one makes the next wait
        written_down = " ".join((codes[4][:4], codes[4][4:].upper()))
        assert logged_in().post(ASK, {"code": written_down}).headers["Location"] == INDEX


def test_a_recovery_code_holds_after_any_number_of_codes_of_the_phone(ada: User) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        codes = set_up(logged_in(), ada)
        for _ in range(6):
            clock.shift(60)
            assert logged_in().post(ASK, {"code": code_of(ada)}).headers["Location"] == INDEX
        assert logged_in().post(ASK, {"code": "000000"}).status_code == 200
        assert logged_in().post(ASK, {"code": codes[0]}).headers["Location"] == INDEX


@pytest.mark.slow
def test_a_copy_of_the_database_has_no_code_and_no_secret(ada: User, settings: Settings) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        codes = set_up(logged_in(), ada)
        (key,) = TOTPDevice.objects.values_list("key", flat=True)
        assert key.startswith("encrypted:")
        stored = set(StaticToken.objects.values_list("token", flat=True))
        assert len(stored) == 10
        assert not stored & set(codes)
        for token in stored:
            assert "not the code" in logged_in().post(ASK, {"code": token}).content.decode()
            clock.shift(600)
        settings.ENCRYPTION_KEYS = ["another" * 5, *settings.ENCRYPTION_KEYS]
        call_command("encrypt", stdout=io.StringIO())
        settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
        assert logged_in().post(ASK, {"code": code_of(ada)}).headers["Location"] == INDEX


def test_what_was_stored_in_clear_holds_and_is_encrypted(ada: User) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        set_up(logged_in(), ada)
        TOTPDevice.objects.update(key="ab" * 20)
        StaticToken.objects.filter(pk=StaticToken.objects.latest("pk").pk).update(token="oldcode2")
        clock.shift(60)
        assert logged_in().post(ASK, {"code": code_of(ada)}).headers["Location"] == INDEX
        assert logged_in().post(ASK, {"code": "oldcode2"}).headers["Location"] == INDEX
        call_command("encrypt", stdout=io.StringIO())
        assert TOTPDevice.objects.get().key.startswith("encrypted:")
        clock.shift(60)
        assert logged_in().post(ASK, {"code": code_of(ada)}).headers["Location"] == INDEX


def test_what_is_done_with_it_is_in_the_audit(ada: User) -> None:
    browser = logged_in()
    codes = set_up(browser, ada)
    logged_in().post(ASK, {"code": "000000"})
    logged_in().post(ASK, {"code": codes[0]})
    call_command("reset_second_factor", "ada", stdout=io.StringIO())
    by = [(who, what) for who, which, what in told() if which == str(ada.pk)]
    assert [one for one in by if one[1] != "Logged in."] == [
        ("ada", "Set up a second factor."),
        ("ada", "A code of the second factor was wrong."),
        ("ada", "Used a recovery code."),
        ("reset_second_factor", "The second factor was taken away."),
    ]


def test_a_new_phone_takes_the_place_of_the_old_one_and_its_codes(ada: User) -> None:
    browser = logged_in()
    old = set_up(browser, ada)
    secret = TOTPDevice.objects.get().key
    set_up(browser, ada)
    assert TOTPDevice.objects.get().key != secret
    assert "not the code" in logged_in().post(ASK, {"code": old[0]}).content.decode()


def test_a_secret_is_shown_until_the_phone_is_set_up(ada: User) -> None:
    browser = logged_in()
    page = browser.get(SET_UP).content.decode()
    (secret,) = re.findall(r'id="secret">([^<]*)<', page)
    assert secret.replace(" ", "") in Phone.objects.get().config_url
    assert "<svg" in page
    assert "not the code" in browser.post(SET_UP, {"code": "000000"}).content.decode()
    assert where(logged_in()) == 200  # nothing is asked for yet


@pytest.mark.django_db(transaction=True)
def test_tabs_that_load_at_once_show_one_secret() -> None:
    ada = User.objects.create_superuser("ada", password=PASSWORD)
    with transaction.atomic():
        shown = phone_to_set_up(ada)
        other_tab = made_to_wait(lambda: phone_to_set_up(ada))
    assert other_tab.result(PATIENCE_SECONDS) == shown == Phone.objects.get()


def test_an_account_with_two_phones_that_were_never_set_up_gets_in(ada: User, settings: Settings) -> None:
    """As loads of the page at once once left it."""
    settings.SECOND_FACTOR = ["all"]
    first, _ = (Phone.objects.create(user=ada, confirmed=False, name="phone", key="ab" * 20) for _ in range(2))
    browser = logged_in()
    for _ in range(2):
        assert where(browser, SET_UP) == 200
    assert browser.post(SET_UP, {"code": f"{totp(first.bin_key):06d}"}).status_code == 200
    assert Phone.objects.get() == first
    assert where(browser) == 200


@pytest.mark.parametrize(("asked", "owes"), [(["all"], True), (["admin"], True), (["superuser", "viewer"], False)])
def test_it_is_required_by_role(acme: Workspace, settings: Settings, asked: list[str], owes: bool) -> None:
    user = User.objects.create_user("bob", password=PASSWORD, is_staff=True)
    Membership.objects.create(user=user, workspace=acme, role="admin")
    settings.SECOND_FACTOR = asked
    browser = logged_in("bob")
    assert where(browser, INDEX) == (SET_UP if owes else 200)
    if owes:
        set_up(browser, user)
        assert where(browser, INDEX) == 200


def test_superusers_may_owe_it_alone(ada: User, settings: Settings) -> None:
    settings.SECOND_FACTOR = ["superuser"]
    assert where(logged_in()) == SET_UP


def test_a_code_of_somebody_else_is_none(ada: User) -> None:
    bob = User.objects.create_superuser("bob", password=PASSWORD)
    set_up(logged_in(), ada)
    codes = set_up(logged_in("bob"), bob)
    assert "not the code" in logged_in().post(ASK, {"code": codes[0]}).content.decode()


def test_a_stranger_is_sent_to_the_login(db: None) -> None:
    for url in (ASK, SET_UP):
        assert where(Client(), url).startswith("/admin/login/")


def test_who_has_lost_all_sets_up_anew(ada: User, capsys: pytest.CaptureFixture[str]) -> None:
    set_up(logged_in(), ada)
    call_command("reset_second_factor", "ada")
    assert capsys.readouterr().out == "Done: it sets up a new one.\n"
    assert where(logged_in()) == 200


@pytest.mark.slow
@pytest.mark.parametrize("required", [False, True])
def test_sessions_from_before_a_reset_are_not_asked_for_a_code_that_nobody_has(
    ada: User, settings: Settings, required: bool
) -> None:
    """Neither one that was being asked for it, nor one that had shown it."""
    settings.SECOND_FACTOR = ["all"] if required else []
    verified = logged_in()
    set_up(verified, ada)
    asked = logged_in()
    assert where(asked) == ASK
    call_command("reset_second_factor", "ada", stdout=io.StringIO())
    for browser in (asked, verified):
        assert where(browser, ASK) == INDEX
        assert where(browser) == (SET_UP if required else 200)
    assert where(asked, ASK) == INDEX  # as often as it is looked at
    set_up(asked, ada)
    assert where(asked) == 200
    assert where(logged_in()) == ASK


def test_who_sends_a_code_after_a_reset_is_let_in_as_after_a_login(ada: User, settings: Settings) -> None:
    settings.SECOND_FACTOR = ["all"]
    set_up(logged_in(), ada)
    browser = logged_in()
    code = code_of(ada)
    call_command("reset_second_factor", "ada", stdout=io.StringIO())
    assert browser.post(ASK, {"code": code}).headers["Location"] == INDEX
    assert where(browser) == SET_UP


def test_the_server_s_shell_makes_an_account_that_gets_in(
    db: None, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.SECOND_FACTOR = ["all"]
    call_command("break_glass")
    password, code, link = re.findall(r"^(?:password|code|link) +(\S+)", capsys.readouterr().out, re.MULTILINE)
    settings.ADMIN_LOGIN_LIMIT = "1/h"
    with _hashing:  # others keep guessing, from this address as well
        let_in = Client()
        assert Client().get(f"{link}x").status_code == 403
        assert (let_in.get(link).headers["Location"], Client().get(link).status_code) == (INDEX, 403)
    assert where(let_in) == ASK
    browser = logged_in("break-glass", password)
    assert where(browser) == ASK
    browser.post(ASK, {"code": code})
    assert where(browser) == 200
    call_command("break_glass", "--end")
    assert where(browser).startswith("/admin/login/")
    assert password not in written()
    assert [what for who, _, what in told() if who == "break_glass"] == ["Created.", "Changed Active (off)."]
