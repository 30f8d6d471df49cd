"""Who looks after staff: superusers alone, because whoever could would have every permission."""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client

from tests.admin.records import cells
from tests.support.cases import each

USERS, GROUPS = "/admin/auth/user/", "/admin/auth/group/"


@pytest.fixture
def clerk(db: None) -> User:
    """May do with accounts and groups whatever permissions can allow."""
    user = User.objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="auth"))
    return user


@pytest.fixture
def clerks(clerk: User) -> Client:
    client = Client()
    client.force_login(clerk)
    return client


def password(text: str) -> dict[str, str]:
    return {"password1": text, "password2": text, "usable_password": "true", "set-password": "x"}


def made_a_superuser(user: User) -> dict[str, str]:
    said = {"username": user.username, "is_active": "on", "is_staff": "on", "is_superuser": "on"}
    return said | {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}


def test_nobody_takes_permissions_or_gives_them(clerk: User, clerks: Client) -> None:
    root = User.objects.create_superuser("root")
    group = Group.objects.create(name="readers")
    before = User.objects.order_by("id").values()
    kept = list(before)
    tries: list[tuple[str, Mapping[str, Any]]] = [
        (f"{USERS}{clerk.id}/change/", made_a_superuser(clerk)),
        (f"{USERS}{root.id}/password/", password("a long new secret")),
        (f"{USERS}{clerk.id}/password/", password("a long new secret")),
        (f"{USERS}{root.id}/delete/", {"post": "yes"}),
        (f"{USERS}add/", {"username": "friend", **password("a long new secret")}),
        (f"{GROUPS}{group.id}/change/", {"name": "rulers"}),
        (f"{GROUPS}add/", {"name": "rulers"}),
    ]
    assert {clerks.post(url, fields).status_code for url, fields in tries} == {403}
    deletion = {"action": "delete_selected", "_selected_action": [root.id], "post": "yes"}
    clerks.post(USERS, deletion)
    assert list(before.all()) == kept
    assert [*Group.objects.values_list("name", flat=True)] == ["readers"]


def test_they_may_look(clerks: Client) -> None:
    assert cells(clerks.get(USERS).content.decode(), "username") == ["clerk"]


def test_a_superuser_may(staff: Client, clerk: User) -> None:
    assert staff.post(f"{USERS}{clerk.id}/change/", made_a_superuser(clerk)).status_code == 302
    assert User.objects.get(id=clerk.id).is_superuser
    assert staff.post(f"{USERS}{clerk.id}/password/", password("a long new secret")).status_code == 302
    assert User.objects.get(id=clerk.id).check_password("a long new secret")


def offered(staff: Client, path: str) -> list[str]:
    """The permissions that the page offers, as it names them."""
    page = staff.get(path).content.decode()
    (box,) = re.findall(r'<select name="(?:user_)?permissions".*?</select>', page, re.DOTALL)
    return [unescape(name) for name in re.findall(r"<option[^>]*>(.*?)</option>", box)]


def test_permissions_are_offered_by_a_short_name_unless_they_allow_nothing_here(staff: Client, clerk: User) -> None:
    for path in (f"{GROUPS}add/", f"{USERS}{clerk.id}/change/"):
        names = offered(staff, path)
        assert len(names) == len(set(names))
        assert {"Can add journey", "Can view customer", "Can change webhook delivery", "Can delete user"} <= set(names)
        assert not [name for name in names if name.endswith(("log entry", "session", "content type"))]


@each("weak", ["8234719265", "short", "password123"])
def test_a_password_is_none_that_is_easily_guessed(weak: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(weak)
