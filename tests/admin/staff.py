"""Staff of a test's own making."""

from collections.abc import Iterable

from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils.crypto import get_random_string

from engage.admin.rights.key_rights import KEY_RIGHTS
from engage.models import Membership, Workspace

# What is written is filled in from what is known of people and sent elsewhere, or proves to be them.
READS_PEOPLE = {"connection", "subscription", "message", "identitykey"}


def staff_with(*permissions: str) -> Client:
    """Staff who may do no more than this."""
    name = " ".join(("support", *permissions))
    user = User.objects.create_user(name if len(name) <= 150 else get_random_string(20), is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def member(name: str, **roles: str) -> Client:
    """Staff with these roles in the workspaces of these keys."""
    user = User.objects.create_user(name, is_staff=True)
    for key, role in roles.items():
        Membership.objects.create(user=user, workspace=Workspace.objects.get(key=key), role=role)
    browser = Client()
    browser.force_login(user)
    return browser


def codenames(rights: Iterable[str]) -> list[str]:
    """The rights without their apps."""
    return [right.partition(".")[2] for right in rights]


def needed_to_add(model: str) -> list[str]:
    """The permissions that adding a record of the model takes."""
    of_key = codenames(KEY_RIGHTS) if model == "apikey" else ()
    refers_to = {"workspace": [], "identitykey": ["view_app"]}.get(model, ["view_workspace"])
    of_people = ["view_customer"] if model in READS_PEOPLE else []
    return [f"add_{model}", *of_key, *refers_to, *of_people]
