"""Whose account it is that the provider vouches for, and what its groups let it do."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import transaction

from engage.admin.login.openid import PREFIX
from engage.admin.login.openid.provider import Claims, InvalidIdToken
from engage.audit.acting import current_actor
from engage.audit.facts import changes_between, facts_of
from engage.audit.recording import Change, change, record, saved
from engage.errors import Refusal
from engage.models import ActorKind, AuditEntry, Membership, Workspace

SUPERUSER = "superuser"
_LONGEST_NAME = 150
_SUBJECT = re.compile(r"[!-~]{1,255}")


class LoginDenied(Refusal):
    """The provider vouches for somebody who has no business here. `account` is its name here, whether or not it is."""

    status = 403

    def __init__(self, message: str, *, account: str) -> None:
        super().__init__(message)
        self.account = account


class NoRole(LoginDenied):
    """None of the groups has a role."""

    code = "no_role"


class AccountClosed(LoginDenied):
    """A superuser has closed the account here."""

    code = "account_closed"


def account_of(claims: Claims) -> User:
    """The account, with the roles of its groups and no others; it is made if there is none. Raises LoginDenied.

    Who has no role is refused, and an account that they had keeps none.
    """
    name = _name_of(claims)
    superuser, roles = _rights(_groups(claims))
    with transaction.atomic():
        made = False
        if superuser or roles:
            _, made = User.objects.get_or_create(username=name, defaults={"password": make_password(None)})
        user = User.objects.select_for_update().filter(username=name).first()
        if user and not user.is_active:
            raise AccountClosed("Your account is closed here. An administrator can open it again.", account=name)
        if user:
            flags = {"is_staff": bool(superuser or roles), "is_superuser": superuser}
            _bring_up_to_date(user, {**flags, **_known_as(claims)}, roles, made=made)
    if user and user.is_staff:
        return user
    raise NoRole("None of your groups has a role here. An administrator can give it one.", account=name)


def _bring_up_to_date(user: User, values: Mapping[str, str | bool], roles: Mapping[str, str], *, made: bool) -> None:
    before = None if made else facts_of(user)
    for field, value in values.items():
        setattr(user, field, value)
    if before != facts_of(user):
        user.save(update_fields=list(values))
    entries = [*saved(user, before=before, after=facts_of(user)), *_set_roles(user, roles)]
    record(*entries, by=replace(current_actor(), kind=ActorKind.STAFF, id=str(user.pk), name=user.username))


def _set_roles(user: User, roles: Mapping[str, str]) -> list[Change]:
    """Lets the account have these roles, by the ids of their workspaces, and no others."""
    held = {one.workspace_id: one for one in Membership.objects.filter(user=user)}
    gone = [one for workspace_id, one in held.items() if workspace_id not in roles]
    new = [
        Membership(user=user, workspace_id=workspace_id, role=role)
        for workspace_id, role in roles.items()
        if workspace_id not in held or held[workspace_id].role != role
    ]
    entries = [change(AuditEntry.Action.DELETED, one, changes=changes_between(facts_of(one), {})) for one in gone]
    Membership.objects.filter(pk__in=[one.pk for one in gone]).delete()
    Membership.objects.bulk_create(
        new, update_conflicts=True, unique_fields=["user", "workspace"], update_fields=["role"]
    )
    for one in new:
        before = held.get(one.workspace_id)
        entries += saved(one, before=facts_of(before) if before else None, after=facts_of(one))
    return entries


def _rights(groups: Iterable[str]) -> tuple[bool, dict[str, str]]:
    """Whether they make a superuser, and the roles by the ids of the workspaces: of several the last of the choices."""
    given = [settings.OIDC_ROLES[group] for group in groups if group in settings.OIDC_ROLES]
    pairs = {pair for roles in given if roles != SUPERUSER for pair in roles.items()}
    ids = dict(Workspace.objects.filter(key__in={key for key, _ in pairs}).values_list("key", "pk"))
    by_strength = sorted(pairs, key=lambda pair: Membership.Role.values.index(pair[1]))
    return SUPERUSER in given, {ids[key]: role for key, role in by_strength if key in ids}


def _groups(claims: Claims) -> list[str]:
    """A claim of one group may be a text."""
    told = claims.get(settings.OIDC_GROUPS_CLAIM)
    groups = told if isinstance(told, list) else [told]
    return [group for group in groups if isinstance(group, str)]


def _name_of(claims: Claims) -> str:
    """Of the issuer and the subject: another issuer's subjects are other people. Raises InvalidIdToken."""
    subject = claims["sub"]
    if not isinstance(subject, str) or not _SUBJECT.fullmatch(subject):
        raise InvalidIdToken
    issuer = hashlib.sha256(settings.OIDC_ISSUER.encode()).hexdigest()[:8]
    name = f"{PREFIX}{issuer}:{subject}"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{PREFIX}{issuer}::{hashlib.sha256(subject.encode()).hexdigest()}"


def _known_as(claims: Claims) -> dict[str, str]:
    """For the eyes of people: nothing is found or decided by it."""
    told = {name: str(claims.get(name) or "").replace("\0", "") for name in ("email", "given_name", "family_name")}
    whole = str(claims.get("name") or "").replace("\0", "")
    apart = told["given_name"] or told["family_name"]
    return {
        "email": told["email"][:254],
        "first_name": (told["given_name"] if apart else whole)[:_LONGEST_NAME],
        "last_name": told["family_name"][:_LONGEST_NAME],
    }
