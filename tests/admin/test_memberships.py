"""Members of a workspace see it and nothing else, and do there what their role allows."""

from collections.abc import Collection, Iterator

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db.models import F, Model, Value
from django.db.models.functions import Concat
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, reverse
from django.utils.crypto import get_random_string
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from hypothesis.strategies import integers, sampled_from

from customers.models import Customer, Segment
from engage.admin.parts.columns import page_url
from engage.admin.rights.roles import rights_of_role
from engage.models import ApiKey, AuditEntry, Membership, Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey, Trigger
from tests.admin.records import MODELS, cells, list_of
from tests.admin.staff import member, staff_with
from tests.support.cases import each
from tests.support.clients import Answer
from tests.support.examples import examples
from tests.support.factories import WorkspaceFactory
from tests.support.one_of_everything import populate

ROLES = Membership.Role.values


@pytest.fixture
def both(acme: Workspace, rival: Workspace) -> None:
    for workspace in (acme, rival):
        populate(workspace, rows=2)
        name = workspace.key.upper()
        Customer.objects.filter(workspace=workspace).update(attributes={"seen": f"{name}-person"})
        Segment.objects.filter(workspace=workspace).update(name=Concat(Value(f"{name}-"), "name"))
        Journey.objects.filter(workspace=workspace).update(name=Concat(Value(f"{name}-"), "name"))
        ApiKey.objects.filter(workspace=workspace).update(name=Concat(Value(f"{name}-"), "name"))
        Trigger.objects.filter(workspace=workspace).update(payload={"seen": f"{name}-payload"})
        EnrollmentJob.objects.filter(workspace=workspace).update(reason=f"{name}-reason")
        left = {"state": "exited", "exit_reason": f"{name}-person left", "ended_at": F("entered_at")}
        Enrollment.objects.filter(workspace=workspace).update(**left)


def addresses(records: dict[type[Model], Model]) -> Iterator[str]:
    """Every address of the admin; those that name a record name this one of its kind."""
    for pattern in admin.site.get_urls():
        if isinstance(pattern, URLPattern) and pattern.name:
            try:
                yield reverse(f"admin:{pattern.name}")
            except NoReverseMatch:
                continue
    for model, record in records.items():
        for own in admin.site.get_model_admin(model).get_urls():
            if own.name:
                yield address(own, record)


def address(pattern: URLPattern, record: Model) -> str:
    names = list(pattern.pattern.converters)
    named = {name: 1 if place else record.pk for place, name in enumerate(names)}
    return reverse(f"admin:{pattern.name}", kwargs=named)


def of(workspace: Workspace) -> dict[type[Model], Model]:
    records: dict[type[Model], Model] = {}
    for model in MODELS:
        whose = {"pk": workspace.pk} if model is Workspace else {"workspace": workspace}
        if (record := model._default_manager.filter(**whose).first()) is not None:
            records[model] = record
    return records


def ids_of(workspace: Workspace) -> set[str]:
    found = {workspace.pk}
    for model in MODELS:
        if model is not Workspace:
            found |= {
                pk
                for pk in model._default_manager.filter(workspace=workspace).values_list("pk", flat=True)
                if isinstance(pk, str)
            }
    return found


def told_at(browser: Client, url: str) -> str:
    """The page, without what was asked for."""
    browser.cookies.pop("messages", None)  # of the page before
    answer = browser.get(url)
    path, _, asked = url.partition("?")
    page = Answer.of(answer).content.decode().replace(url, "").replace(path, "")
    return page.replace(asked.partition("=")[2], "") if asked else page


def leaks_in(pages: dict[str, str], hidden: Collection[str]) -> dict[str, list[str]]:
    return {url: found for url, page in pages.items() if (found := [word for word in hidden if word in page])}


@pytest.mark.slow
@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("role", ROLES)
def test_no_address_shows_a_member_anything_of_another_workspace(role: str, acme: Workspace, rival: Workspace) -> None:
    """Nor a viewer anything of people."""
    browser, foreign = member("ada", **{acme.key: role}), of(rival)
    hidden = ids_of(rival) | {"RIVAL-", rival.name}
    people = Customer.objects.filter(workspace=acme)
    of_people = {"ACME-person", "ACME-payload", *(str(one.external_id) for one in people)}
    urls = [*addresses(of(acme)), *addresses(foreign)]
    for model, record in foreign.items():
        urls += [f"{list_of(model)}?{query}" for query in (f"q={record.pk}", f"workspace__id__exact={rival.pk}")]
        urls += [f"/admin/search/?s={record.pk}"]
    urls += [f"{list_of(model)}?journey__id__exact={foreign[Journey].pk}" for model in (Trigger, EnrollmentJob)]
    urls += ["/admin/search/?s=RIVAL-", f"{list_of(Journey)}?q=RIVAL-"]
    pages = {url: told_at(browser, url) for url in dict.fromkeys(urls)}
    leaks = leaks_in(pages, hidden)
    assert not leaks, leaks
    seen = leaks_in(pages, of_people)
    if role == "viewer":
        assert not seen, seen
    elif role == "support":
        assert {word for words in seen.values() for word in words} == of_people


def see_only(browser: Client, workspace: Workspace) -> int:
    """Presses the button in the list; the status."""
    return browser.post(reverse("admin:engage_workspace_see_this_one", args=[workspace.id])).status_code


def rights(browser: Client) -> dict[str, bool]:
    """Which of these buttons the member is shown."""
    pages = {"add a journey": Journey, "add a key": ApiKey, "add a segment": Segment}
    return {what: browser.get(f"{list_of(model)}add/").status_code == 200 for what, model in pages.items()}


NOTHING = dict.fromkeys(("add a journey", "add a key", "add a segment"), False)
WRITES = {"add a journey": True, "add a key": False, "add a segment": True}


@each(
    "role, may",
    [("viewer", NOTHING), ("support", NOTHING), ("author", WRITES), ("admin", dict.fromkeys(WRITES, True))],
)
def test_a_member_may_do_what_the_role_allows(acme: Workspace, role: str, may: dict[str, bool]) -> None:
    assert rights(member("ada", **{acme.key: role})) == may


def test_a_member_s_own_permissions_count_no_more(acme: Workspace) -> None:
    browser = staff_with("add_segment", "view_workspace")
    assert rights(browser)["add a segment"]
    Membership.objects.create(user=User.objects.get(), workspace=acme, role="viewer")
    assert rights(browser) == NOTHING


def test_rights_of_one_workspace_are_not_used_in_another(acme: Workspace, rival: Workspace) -> None:
    browser = member("ada", **{acme.key: "admin", rival.key: "viewer"})
    assert rights(browser) == NOTHING
    shown = browser.get(list_of(Workspace)).content.decode()
    assert page_url(acme) in shown
    assert page_url(rival) in shown
    see_only(browser, acme)
    assert rights(browser) == dict.fromkeys(WRITES, True)
    shown = browser.get(list_of(Workspace)).content.decode()
    assert page_url(acme) in shown
    assert page_url(rival) not in shown
    assert acme.name in browser.get("/admin/").content.decode()
    browser.post(reverse("admin:engage_workspace_see_all"))
    assert rights(browser) == NOTHING


def test_nobody_chooses_a_workspace_of_others(acme: Workspace, rival: Workspace) -> None:
    browser = member("ada", **{acme.key: "viewer"})
    assert see_only(browser, rival) == 403
    assert rights(browser) == NOTHING


def test_a_member_makes_nothing_in_another_workspace(acme: Workspace, rival: Workspace) -> None:
    browser = member("ada", **{acme.key: "admin"})
    said = {"key": "all", "name": "All", "conditions": "null"}
    refused = browser.post(f"{list_of(Segment)}add/", {**said, "workspace": rival.id})
    assert "That choice is not one of the available choices." in refused.content.decode()
    browser.post(f"{list_of(Segment)}add/", {**said, "workspace": acme.id})
    assert list(Segment.objects.values_list("workspace", flat=True)) == [acme.id]


def test_a_membership_that_ends_ends_at_once(acme: Workspace, rival: Workspace) -> None:
    browser = member("ada", **{acme.key: "admin", rival.key: "admin"})
    see_only(browser, acme)
    Membership.objects.filter(workspace=acme).delete()
    assert page_url(acme) not in browser.get(list_of(Workspace)).content.decode()
    Membership.objects.all().delete()
    assert browser.get(list_of(Workspace)).status_code == 403


def test_an_account_that_is_deleted_leaves_its_workspaces_told(
    staff: Client, acme: Workspace, rival: Workspace
) -> None:
    """By one, or by several that were chosen: each workspace's audit says who is gone, by name."""
    for name in ("ada", "bob"):
        member(name, acme="author", rival="viewer")
    users = {user.username: user.pk for user in User.objects.filter(username__in=("ada", "bob"))}
    staff.post(f"/admin/auth/user/{users['ada']}/delete/", {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": [users["bob"]], "post": "yes"}
    staff.post("/admin/auth/user/", chosen)
    assert not User.objects.filter(username__in=users).exists()
    told = AuditEntry.objects.filter(action="deleted", object_kind="membership").values_list(
        "workspace__key", "object_name", "changes__role__0"
    )
    assert sorted(told) == [("acme", f"{name} as author", "author") for name in ("ada", "bob")] + [
        ("rival", f"{name} as viewer", "viewer") for name in ("ada", "bob")
    ]


def test_only_superusers_say_who_is_a_member(staff: Client, acme: Workspace) -> None:
    browser = member("ada", **{acme.key: "admin"})
    assert browser.get(list_of(Membership)).status_code == 403
    said = {"user": User.objects.create_user("bob").pk, "workspace": acme.id, "role": "author"}
    for other in (browser, staff_with("add_membership", "view_membership", "view_user", "view_workspace")):
        assert other.post(f"{list_of(Membership)}add/", said).status_code == 403
    staff.post(f"{list_of(Membership)}add/", said)
    assert Membership.objects.get(user__username="bob").role == "author"
    assert "Author" in cells(staff.get(list_of(Membership)).content.decode(), "role")


@pytest.mark.django_db
def test_a_colleague_who_is_given_a_role_can_log_in(staff: Client, acme: Workspace) -> None:
    password = get_random_string(20)
    staff.post(
        "/admin/auth/user/add/",
        {"username": "new", "password1": password, "password2": password, "usable_password": "true"},
    )
    assert User.objects.get(username="new").is_staff
    former = User.objects.create_user("former", password=password)
    staff.post("/admin/engage/membership/add/", {"user": former.pk, "workspace": acme.id, "role": "support"})
    changed = AuditEntry.objects.get(action="changed", object_kind="user", object_id=str(former.pk))
    assert changed.changes == {"is_staff": [False, True]}
    client = Client()
    answer = client.post("/admin/login/?next=/admin/", {"username": "former", "password": password}, follow=True)
    assert answer.redirect_chain == [("/admin/", 302)]
    assert answer.status_code == 200


@pytest.mark.django_db
def test_roles_give_rights_that_exist() -> None:
    known = {f"{app}.{name}" for app, name in Permission.objects.values_list("content_type__app_label", "codename")}
    known.add("journeys.hold_journey")  # of members alone
    for role in ROLES:
        assert rights_of_role(role) <= known
    assert rights_of_role("viewer") < rights_of_role("support") < rights_of_role("admin")
    assert rights_of_role("viewer") < rights_of_role("author") < rights_of_role("admin")


@each("end", ["membership", "workspace"])
def test_whose_last_membership_is_gone_sees_nothing_whatever_permissions_the_account_has(
    end: str, acme: Workspace, rival: Workspace
) -> None:
    browser = staff_with("view_workspace", "view_journey")
    user = User.objects.get(username__startswith="support")
    assert page_url(rival) in browser.get(list_of(Workspace)).content.decode()
    joined = Membership.objects.create(user=user, workspace=acme, role="admin")
    assert page_url(rival) not in browser.get(list_of(Workspace)).content.decode()
    (joined if end == "membership" else acme).delete()
    for model in (Workspace, Journey):
        assert browser.get(list_of(model)).status_code == 403
    assert "no workspace" in browser.get("/admin/").content.decode()


class Memberships(RuleBasedStateMachine):
    """Memberships change while a member acts; they see at each moment what they then belong to."""

    def __init__(self) -> None:
        super().__init__()
        self.workspaces = WorkspaceFactory.create_batch(3)
        self.user = User.objects.create_user(f"u{get_random_string(12)}", is_staff=True)
        self.roles: dict[str, str] = {}
        self.chosen: str | None = None
        self.browser = Client()
        self.browser.force_login(self.user)

    @rule(place=integers(0, 2), role=sampled_from(ROLES))
    def join(self, place: int, role: str) -> None:
        workspace = self.workspaces[place]
        Membership.objects.update_or_create(user=self.user, workspace=workspace, defaults={"role": role})
        self.roles[workspace.id] = role

    @rule(place=integers(0, 2))
    def leave(self, place: int) -> None:
        workspace = self.workspaces[place]
        Membership.objects.filter(user=self.user, workspace=workspace).delete()
        self.roles.pop(workspace.id, None)

    @rule(place=integers(0, 2))
    def see_one(self, place: int) -> None:
        workspace = self.workspaces[place]
        see_only(self.browser, workspace)
        if workspace.id in self.roles:
            self.chosen = workspace.id

    @rule(place=integers(0, 2))
    def add_a_segment(self, place: int) -> None:
        workspace, key = self.workspaces[place], get_random_string(12).lower()
        said = {"workspace": workspace.id, "key": f"k{key}", "name": "All", "conditions": "null"}
        self.browser.post(f"{list_of(Segment)}add/", said)
        allowed = workspace.id in self.seen and all(self.roles[one] in {"author", "admin"} for one in self.seen)
        assert Segment.objects.filter(key=f"k{key}").exists() == allowed

    @invariant()
    def sees_what_they_belong_to(self) -> None:
        page = self.browser.get(list_of(Workspace)).content.decode()
        assert {one.id for one in self.workspaces if page_url(one) in page} == self.seen

    @property
    def seen(self) -> set[str]:
        return {self.chosen} if self.chosen in self.roles else set(self.roles)


@pytest.mark.slow
@pytest.mark.django_db
def test_memberships_change_while_members_act() -> None:
    run_state_machine_as_test(Memberships, settings=examples(8, stateful_step_count=8))
