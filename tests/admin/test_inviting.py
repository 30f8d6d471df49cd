"""Colleagues are invited by one page, with a link to set the password."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from engage.admin.parts.columns import page_url
from engage.models import AuditEntry, Membership, Workspace
from tests.admin.records import list_of
from tests.admin.staff import member

INVITE = "/admin/engage/membership/invite/"
PASSWORD = "correct horse battery"


def invited(staff: Client, workspace: Workspace, **said: Any) -> str:
    """The page that follows."""
    form = {"name": "Bob", "email": "Bob@example.com", "role": "support", "workspace": workspace.pk, **said}
    return str(staff.post(INVITE, form, follow=True).content.decode())


def link_in(page: str) -> str:
    (link,) = re.findall(r"http://testserver(/admin/set-password/[^<\s]+)<", page)
    return str(urlsplit(link).path)


def test_a_colleague_sets_a_password_by_a_link_that_holds_once(staff: Client, acme: Workspace) -> None:
    assert INVITE in staff.get(list_of(Membership)).content.decode()
    link = link_in(invited(staff, acme))
    user = User.objects.get(username="bob@example.com")
    assert (user.first_name, user.is_staff, user.has_usable_password()) == ("Bob", True, False)
    membership = Membership.objects.get(user=user)
    assert (membership.workspace, membership.role) == (acme, "support")
    for page in (list_of(Membership), page_url(membership)):
        assert "no: no password is set yet" in staff.get(page).content.decode()
    bob = Client()
    assert "bob@example.com" in bob.get(link).content.decode()
    assert "match" in bob.post(link, {"new_password1": PASSWORD, "new_password2": "x"}).content.decode()
    assert (
        "too common" in bob.post(link, dict.fromkeys(("new_password1", "new_password2"), "password")).content.decode()
    )
    assert bob.post(link, dict.fromkeys(("new_password1", "new_password2"), PASSWORD)).status_code == 302
    assert bob.get(link).status_code == 403
    assert bob.login(username="bob@example.com", password=PASSWORD)
    assert "no password" not in staff.get(list_of(Membership)).content.decode()
    entry = AuditEntry.objects.filter(object_kind="user", object_id=str(user.pk), action="changed").get()
    assert set(entry.changes or ()) == {"password"}
    assert PASSWORD not in str(entry.changes)


def test_a_link_that_is_old_or_made_up_sets_nothing(staff: Client, acme: Workspace, rival: Workspace) -> None:
    link = link_in(invited(staff, acme))
    made_up = link[:-3] + "abc"
    assert Client().get(made_up).status_code == 403
    with time_machine.travel(timezone.now() + timedelta(days=4)):
        assert Client().get(link).status_code == 403


def test_a_link_that_holds_no_more_says_so(staff: Client, acme: Workspace) -> None:
    page = Client().get(link_in(invited(staff, acme))[:-3] + "abc").content.decode()
    assert "Ask whoever sent it for another one." in page
    assert "manage.py break_glass" in Client().get("/admin/break-glass/abc").content.decode()


def test_who_could_never_log_in_is_invited_again(staff: Client, acme: Workspace, rival: Workspace) -> None:
    """By another link: the first one may be lost, or too old. In another workspace as well."""
    links = [link_in(invited(staff, workspace)) for workspace in (acme, acme, rival)]
    assert Client().post(links[1], dict.fromkeys(("new_password1", "new_password2"), PASSWORD)).status_code == 302
    assert {Client().get(link).status_code for link in links} == {403}
    assert "They are a member already." in invited(staff, acme)
    assert list(AuditEntry.objects.filter(object_kind="membership").values_list("action", flat=True)) == ["created"] * 2


def test_who_is_there_gets_the_role_alone(staff: Client, acme: Workspace, rival: Workspace) -> None:
    Client().post(link_in(invited(staff, acme)), dict.fromkeys(("new_password1", "new_password2"), PASSWORD))
    page = invited(staff, rival, role="author")
    assert "set-password" not in page
    assert set(Membership.objects.values_list("workspace", "role")) == {(acme.pk, "support"), (rival.pk, "author")}
    assert "They are a member already." in invited(staff, acme)
    assert User.objects.filter(username="bob@example.com").count() == 1


def test_only_superusers_invite(acme: Workspace) -> None:
    chief = member("eve", acme="admin")
    assert chief.get(INVITE).status_code == 403
    assert INVITE not in chief.get(list_of(Membership)).content.decode()
    assert chief.post(INVITE, {"email": "bob@example.com"}).status_code == 403
    assert not User.objects.filter(username="bob@example.com").exists()


def test_a_member_s_account_shows_no_permissions(staff: Client, acme: Workspace) -> None:
    member("eve", acme="admin")
    other = User.objects.create_user("other", is_staff=True)
    assert "user_permissions" not in staff.get(page_url(User.objects.get(username="eve"))).content.decode()
    assert "user_permissions" in staff.get(page_url(other)).content.decode()
