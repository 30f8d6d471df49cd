"""How far a member of staff reaches: which workspaces they see, and what they may do there.

1. A superuser sees all and may all.
2. Staff who are members of workspaces see these and nothing else. They may do what their role there allows, whatever
   permissions their account has. Where their roles differ, they may do what all of them allow, until they choose to see
   one workspace only: so no right of one workspace is ever used in another.
3. Whoever was a member once, and is none any more, sees nothing.
4. Other staff see every workspace, and may do what their permissions say.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

from django.contrib.auth import get_user
from django.contrib.auth.backends import ModelBackend
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from engage.admin.rights.roles import rights_of_role
from engage.models import MemberAccount, Membership, Workspace

_CHOSEN = "workspace"  # the session's, and the account's for the request


_Record = TypeVar("_Record", bound=Model)


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The ids of the workspaces that are seen, or None for all, and the permissions there, or None for the account's.

    A member `belongs_to` more workspaces than are seen after choosing one.
    """

    workspaces: frozenset[str] | None = None
    rights: frozenset[str] | None = None
    belongs_to: frozenset[str] = frozenset()


def reach_of(user: Any) -> Reach:
    """The account's reach; read once for each request."""
    known: Reach | None = getattr(user, "reach", None)
    if known is None:
        known = user.reach = _read(user)
    return known


def _read(user: Any) -> Reach:
    if not user.is_active or user.is_superuser:
        return Reach()
    found = Membership.objects.filter(user=user).values_list("workspace_id", "role", "workspace__support_may_hold")
    roles = {workspace_id: rights_of_role(role, support_may_hold=may_hold) for workspace_id, role, may_hold in found}
    if not roles:
        was_member = MemberAccount.objects.filter(user=user).exists()
        return Reach(workspaces=frozenset(), rights=frozenset()) if was_member else Reach()
    chosen = getattr(user, _CHOSEN, None)
    seen = {chosen: roles[chosen]} if chosen in roles else roles
    rights = reduce(frozenset.intersection, seen.values())
    return Reach(workspaces=frozenset(seen), rights=rights, belongs_to=frozenset(roles))


def reachable(records: QuerySet[_Record], *, request: HttpRequest) -> QuerySet[_Record]:
    """Those of the records, or of the workspaces, that this member of staff sees."""
    workspaces = reach_of(request.user).workspaces
    if workspaces is None:
        return records
    field = "pk" if records.model is Workspace else "workspace"
    if len(workspaces) == 1:  # an index that begins with the workspace then serves its order
        return records.filter(**{field: next(iter(workspaces))})
    return records.filter(**{f"{field}__in": workspaces})


def reaches(workspace_id: str, *, request: HttpRequest) -> bool:
    """Whether this member of staff sees that workspace."""
    workspaces = reach_of(request.user).workspaces
    return workspaces is None or workspace_id in workspaces


def choose_workspace(request: HttpRequest, workspace_id: str | None) -> None:
    """Lets a member see this workspace only, or with None all that they belong to, until they log out."""
    request.session[_CHOSEN] = workspace_id


def seen_in_words(request: HttpRequest) -> str:
    """For the head of each page: what a member sees; "" for who sees all (UNFOLD["SITE_SUBHEADER"])."""
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return ""
    reach = reach_of(request.user)
    if reach.workspaces is None:
        return ""
    if not reach.workspaces:
        return "no workspace"
    if len(reach.workspaces) > 1:
        return f"{len(reach.workspaces)} workspaces"
    return str(Workspace.objects.filter(pk__in=reach.workspaces).values_list("name", flat=True).first() or "")


class StaffBackend(ModelBackend):
    """Accounts as Django has them; the permissions of members are those of their roles."""

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        if user_obj.is_active and not user_obj.is_anonymous and obj is None:
            rights = reach_of(user_obj).rights
            if rights is not None:
                return set(rights)
        return super().get_all_permissions(user_obj, obj)


class ChosenWorkspaceMiddleware:
    """Tells the account which workspace its session has chosen, once somebody asks for the account."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        def account() -> Any:
            user: Any = get_user(request)
            user.workspace = request.session.get(_CHOSEN)
            return user

        request.user = SimpleLazyObject(account)  # type: ignore[assignment]
        return self._get_response(request)
