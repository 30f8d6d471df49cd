"""A journey is edited as a draft: kept on the server with who wrote it, checked, published knowingly."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from customers.models import Customer
from engage.models import AuditEntry, Workspace
from journeys.engine.steering.going_on import go_on
from journeys.journey.authoring import save_journey
from journeys.models import Enrollment, Journey, JourneyDraft, JourneyRevision, SteeringAct
from journeys.seeding.export import exported
from tests.admin.journey_form import ADD, said
from tests.admin.staff import staff_with
from tests.journeys.walking.stories import enter
from tests.support.calls import data, let_workers_walk, refused
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory

DAY = {"id": "day", "type": "delay", "for": "P1D"}
TWO = {"id": "day", "type": "delay", "for": "P2D"}
TELL = {"id": "tell", "type": "webhook", "url": "https://mail.example/send", "headers": {"X-Key": "very-secret"}}


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    return JourneyFactory.create(workspace=acme, steps=[DAY])


def at(journey: Journey, page: str = "") -> str:
    return f"/admin/journeys/journey/{journey.id}/steps/{page}"


def version() -> int:
    """That of the draft; 0 if there is none."""
    draft = JourneyDraft.objects.first()
    return draft.version if draft else 0


def keep(staff: Client, journey: Journey, *steps: Any, page: Any = None, status: int = 200, **more: Any) -> Any:
    """From what the page holds; unless it is given, one that is opened just now."""
    text = more.get("text") or json.dumps({"steps": steps, "exitOn": []})
    page = page or given(staff, journey)
    answer = staff.post(at(journey, "keep/"), {"text": text, **{name: page[name] for name in ("version", "beganFrom")}})
    assert answer.status_code == status, answer.content
    return answer.json()


def waiting_in(server: ServerClient, journey: Journey, customer: Customer) -> Enrollment:
    enrollment = enter(server, journey, customer)
    let_workers_walk()
    return enrollment


def given(staff: Client, journey: Journey) -> Any:
    """What the page holds for its editor."""
    return staff.get(at(journey)).context["studio"]


def test_what_is_edited_is_kept_checked_and_not_saved(staff: Client, journey: Journey) -> None:
    assert given(staff, journey)["text"] == '{"steps":[{"id":"day","type":"delay","for":"P1D"}],"exitOn":[]}'
    audited = AuditEntry.objects.count()
    told = keep(staff, journey, {**DAY, "for": "soon"}, {"id": "lost", "type": "exit", "reason": "Over."})
    assert [one["place"] for one in told["mistakes"]] == ["steps[0].for"]
    assert told["words"]["lost"] == {"does": "Exit: Over.", "ways": [""]}
    assert (told["version"], told["draft"][:9]) == (version(), "Draft of ")
    assert JourneyRevision.objects.count() == 1
    assert '"for":"soon"' in given(staff, journey)["text"]
    lost = keep(staff, journey, {**DAY, "next": None}, {**DAY, "id": "lost"})
    assert [one["place"] for one in lost["warnings"]] == ["steps[1]"]
    wrong = {"id": "wrong", "type": "wait_for_event", "event": 5, "onEvent": "far", "timeout": "P1D", "onTimeout": None}
    steps = [{**DAY, "next": "wrong"}, {**DAY, "id": "lost"}, wrong, {**DAY, "id": "next"}, {**DAY, "id": "far"}]
    beside = keep(staff, journey, *steps)
    assert [one["place"] for one in beside["mistakes"]] == ["steps[2].event"]
    assert [one["place"] for one in beside["warnings"]] == ["steps[1]"], "though another step cannot be read"
    assert AuditEntry.objects.count() == audited
    assert keep(staff, journey, DAY)["version"] == 0
    assert not JourneyDraft.objects.exists(), "as the journey is"


def test_of_very_many_mistakes_the_first_are_told_and_the_others_counted(staff: Client, journey: Journey) -> None:
    told = keep(staff, journey, {**DAY, **{f"naem{n}": n for n in range(300)}})
    assert (len(told["mistakes"]), told["more"]) == (100, 200)


def test_who_may_enter_is_of_the_same_draft(staff: Client, journey: Journey) -> None:
    pro = {"field": "customer.plan", "op": "eq", "value": "pro"}
    for conditions, mistakes in ((pro, []), ({"field": "plan"}, ["entryConditions.op", "entryConditions.field"])):
        text = json.dumps({"steps": [DAY], "exitOn": [], "entryConditions": conditions})
        assert {one["place"] for one in keep(staff, journey, text=text)["mistakes"]} <= set(mistakes)
    assert json.loads(given(staff, journey)["text"])["entryConditions"] == {"field": "plan"}
    keep(staff, journey, text=json.dumps({"steps": [DAY], "entryConditions": pro, "exitOn": []}))
    assert "Who may enter changes." in staff.get(at(journey, "publish/")).content.decode()
    staff.post(at(journey, "publish/"), {"version": version()})
    journey.refresh_from_db()
    assert (journey.entry_conditions, journey.revision) == (pro, 1)


def test_what_is_no_definition_is_refused(staff: Client, journey: Journey) -> None:
    for text in ("", "[", "[]", '{"steps": [], "more": 1}', '{"steps": 1, "steps": 2}', '{"steps": NaN}'):
        assert keep(staff, journey, text=text or " ", status=400)["message"], text
    assert keep(staff, journey, text='{"steps": {"a": 1}, "exitOn": 3}')["mistakes"]
    assert JourneyDraft.objects.get().steps == {"a": 1}


@pytest.mark.slow
def test_two_at_once_are_told_of_each_other(staff: Client, journey: Journey) -> None:
    page = given(staff, journey)
    kept = keep(staff, journey, TWO, page=page)
    other = keep(staff, journey, TWO, TELL, page=page, status=409)
    assert (other["message"][:9], other["version"]) == ("Meanwhile", kept["version"])
    assert keep(staff, journey, TWO, TELL, page=other)["version"] == version() != kept["version"]
    discarding = {"version": kept["version"]}
    assert "has changed the draft" in staff.post(at(journey, "discard/"), discarding, follow=True).content.decode()
    page = given(staff, journey)
    staff.post(at(journey, "discard/"), {"version": version()})
    assert not JourneyDraft.objects.exists()
    assert keep(staff, journey, TWO, page=page, status=409)["message"].startswith("Meanwhile the draft was")


def test_a_draft_that_was_begun_anew_is_not_the_one_that_somebody_knows(staff: Client, journey: Journey) -> None:
    known = keep(staff, journey, TWO)
    staff.post(at(journey, "discard/"), {"version": version()})
    keep(staff, journey, TELL)
    keep(staff, journey, TWO, page=known, status=409)
    for page in ("publish/", "discard/"):
        told = staff.post(at(journey, page), {"version": known["version"]}, follow=True).content.decode()
        assert "has changed the draft" in told
    assert JourneyDraft.objects.get().steps == [TELL]
    assert JourneyRevision.objects.count() == 1


def test_publishing_tells_the_difference_and_makes_a_revision(staff: Client, journey: Journey) -> None:
    keep(staff, journey, TWO, TELL)
    page = staff.get(at(journey, "publish/")).content.decode()
    assert "The step &#x27;tell&#x27; is new (webhook)." in page
    assert "The step &#x27;day&#x27; changes: for." in page
    assert "Nobody is inside at the moment." in page
    assert "very-secret" not in page
    audited = AuditEntry.objects.count()
    staff.post(at(journey, "publish/"), {"version": version()})
    assert not JourneyDraft.objects.exists()
    assert JourneyRevision.objects.get(number=2).steps == [TWO, TELL]
    assert AuditEntry.objects.count() == audited + 1


def test_those_inside_move_along_if_the_publisher_says_so(
    staff: Client, server: ServerClient, journey: Journey, ada: Customer
) -> None:
    """How many may is said before; the journey's page tells that it goes on, the enrollment's that it did."""
    for customer in (ada, CustomerFactory.create(workspace=journey.workspace)):
        enrollment = waiting_in(server, journey, customer)
    keep(staff, journey, TELL)
    assert "Move along" not in staff.get(at(journey, "publish/")).content.decode()
    keep(staff, journey, TWO, TELL)
    page = staff.get(at(journey, "publish/")).content.decode()
    assert "Move along: 2 customers inside go on with revision 2" in page
    staff.post(at(journey, "publish/"), {"version": version(), "move": "yes"})
    own = staff.get(f"/admin/journeys/journey/{journey.id}/change/").content.decode()
    assert "those inside to revision 2, asked for by staff root: 0 so far" in own.replace("</strong>", "")
    assert AuditEntry.objects.filter(action="steered", object_id=journey.id).count() == 1
    go_on(seconds=5)
    assert "those inside to revision" not in staff.get(f"/admin/journeys/journey/{journey.id}/change/").content.decode()
    told = staff.get(f"/admin/journeys/enrollment/{enrollment.id}/change/").content.decode()
    assert "Went on in revision 2; before, it was in revision 1." in told


def test_a_journey_made_by_hand_is_closed_until_its_publisher_opens_it(
    staff: Client, acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    form = staff.get(ADD).context["adminform"].form
    assert form["active"].value() is False
    staff.post(ADD, said(workspace=acme.id, key="welcome", active=""))
    journey = Journey.objects.get()
    trigger_it = f"/api/v1/journeys/{acme.id}/welcome/trigger", {"external_id": "ada"}
    refused(server.post(*trigger_it), status=404, error="Journey not found")
    for steps, opens, expected in ((DAY, {}, "closed"), (TWO, {"open": "yes"}, "active")):
        keep(staff, journey, steps)
        page = staff.get(at(journey, "publish/")).content.decode()
        assert "Publish and open it" in page
        assert "nobody enters until you open it" in page
        told = staff.post(at(journey, "publish/"), {"version": version(), **opens}, follow=True).content.decode()
        assert ("The journey is closed: nobody enters." in told) is not bool(opens)
        journey.refresh_from_db()
        assert journey.state == expected
    assert SteeringAct.objects.values_list("kind", "actor", "reason").get() == ("activate", "staff root", "Published.")
    data(server.post(*trigger_it))
    keep(staff, journey, DAY)
    assert "open it" not in staff.get(at(journey, "publish/")).content.decode()


def test_a_journey_that_may_not_be_opened_is_not_published_as_open(staff: Client, journey: Journey) -> None:
    Journey.objects.filter(id=journey.id).update(active=False, archived_at=timezone.now())
    keep(staff, journey, TWO)
    assert "Publish and open it" not in staff.get(at(journey, "publish/")).content.decode()
    told = staff.post(at(journey, "publish/"), {"version": version(), "open": "yes"}, follow=True).content.decode()
    assert "the journey is archived" in told
    assert (JourneyRevision.objects.count(), JourneyDraft.objects.count()) == (1, 1)


def test_a_wrong_draft_is_not_published(staff: Client, journey: Journey) -> None:
    keep(staff, journey, {**DAY, "for": "soon"})
    assert "It cannot be published yet" in staff.get(at(journey, "publish/")).content.decode()
    staff.post(at(journey, "publish/"), {"version": version()})
    assert (JourneyRevision.objects.count(), JourneyDraft.objects.count()) == (1, 1)


def test_a_draft_whose_journey_moved_on_is_published_only_knowingly(staff: Client, journey: Journey) -> None:
    keep(staff, journey, TWO)
    save_journey(workspace=journey.workspace, key=journey.key, now=timezone.now(), steps=[TELL])
    assert "has revision 2 by now." in given(staff, journey)["objection"]
    staff.post(at(journey, "publish/"), {"version": version()})
    assert JourneyRevision.objects.count() == 2
    staff.post(at(journey, "publish/"), {"version": version(), "knowingly": "yes"})
    assert JourneyRevision.objects.get(number=3).steps == [TWO]


def test_what_was_opened_before_the_journey_moved_on_is_published_only_knowingly(
    staff: Client, journey: Journey
) -> None:
    """Also where it is first kept after that, and where nothing but the entry conditions changed."""
    pro = {"field": "customer.plan", "op": "eq", "value": "pro"}
    for changes in ({"steps": [TELL]}, {"entry_conditions": pro}):
        page = given(staff, journey)
        save_journey(workspace=journey.workspace, key=journey.key, now=timezone.now(), **changes)
        told = keep(staff, journey, TWO, page=page)
        assert "The journey has changed since the draft was begun" in told["objection"]
        staff.post(at(journey, "publish/"), {"version": version()})
        assert JourneyDraft.objects.exists()
        known = keep(staff, journey, TWO, {**DAY, "id": "more"}, page=told)
        assert known["objection"] == told["objection"]
        staff.post(at(journey, "discard/"), {"version": version()})
    assert not keep(staff, journey, TWO)["objection"]
    save_journey(workspace=journey.workspace, key=journey.key, now=timezone.now(), name="Another")
    assert not given(staff, journey)["objection"], "a name is none of what is published"


def test_whoever_writes_over_a_newer_draft_does_so_from_what_they_began_from(staff: Client, journey: Journey) -> None:
    page = given(staff, journey)
    save_journey(workspace=journey.workspace, key=journey.key, now=timezone.now(), steps=[TELL])
    assert not keep(staff, journey, TELL, DAY)["objection"]
    over = {**page, "version": keep(staff, journey, TWO, page=page, status=409)["version"]}
    assert "has revision 2 by now" in keep(staff, journey, TWO, page=over)["objection"]


def test_a_draft_of_the_version_before_goes_by_the_revision(staff: Client, journey: Journey) -> None:
    keep(staff, journey, TWO)
    JourneyDraft.objects.update(began_from=None)
    assert not given(staff, journey)["objection"]
    save_journey(workspace=journey.workspace, key=journey.key, now=timezone.now(), steps=[TELL])
    assert not JourneyDraft.objects.filter(began_from__isnull=False).exists()
    assert given(staff, journey)["objection"]
    assert keep(staff, journey, TWO, DAY)["objection"]


def test_a_draft_of_what_a_repository_manages_is_published_only_knowingly(staff: Client, journey: Journey) -> None:
    Journey.objects.update(managed_by="git:shop")
    keep(staff, journey, TWO)
    assert "managed by git:shop" in staff.get(at(journey, "publish/")).content.decode()
    staff.post(at(journey, "publish/"), {"version": version()})
    assert JourneyRevision.objects.count() == 1
    staff.post(at(journey, "publish/"), {"version": version(), "knowingly": "yes"})
    journey.refresh_from_db()
    assert (journey.revision, journey.managed_by) == (2, "git:shop")


def test_secrets_are_masked_encrypted_and_kept(staff: Client, journey: Journey) -> None:
    keep(staff, journey, TELL)
    assert "very-secret" not in given(staff, journey)["text"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT steps::text FROM journeys_journeydraft")
        assert "very-secret" not in cursor.fetchone()[0]
    keep(staff, journey, {**TELL, "headers": {"X-Key": "***"}}, DAY)
    assert JourneyDraft.objects.get().steps[0] == TELL
    elsewhere = keep(staff, journey, {**TELL, "headers": {"X-Key": "***"}, "url": "https://evil.example"})
    assert "needs its value" in elsewhere["mistakes"][0]["message"]
    assert JourneyDraft.objects.get().steps[0]["headers"] == {"X-Key": "***"}


def test_who_may_only_look_sees_it_and_changes_nothing(staff: Client, journey: Journey) -> None:
    keep(staff, journey, TELL)
    viewer = staff_with("view_journey")
    assert not given(viewer, journey)["mayEdit"]
    for page in ("keep/", "publish/", "discard/"):
        assert viewer.post(at(journey, page), {"version": version(), "text": "{}"}).status_code == 403
    assert staff_with("change_journey", "view_journey").post(at(journey, "keep/"), {}).status_code == 403
    assert JourneyDraft.objects.get().steps == [TELL]


def test_a_text_is_shown_for_a_customer(staff: Client, journey: Journey, rival: Workspace) -> None:
    CustomerFactory.create(workspace=journey.workspace, external_id="ada", attributes={"name": "Ada"})
    CustomerFactory.create(workspace=rival, external_id="eve")
    for text, customer, status, told in (
        ("Hi {{ customer.name }}", "ada", 200, {"text": "Hi Ada"}),
        ("Hi {{ customer.name", "ada", 400, None),
        ("Hi", "eve", 400, {"message": "The journey's workspace has no such customer."}),
    ):
        answer = staff.post(at(journey, "preview/"), {"text": text, "customer": customer})
        assert (answer.status_code, told or answer.json()) == (status, answer.json())
    sees_no_customers = staff_with("view_journey").post(at(journey, "preview/"), {"text": "Hi", "customer": "ada"})
    assert sees_no_customers.status_code == 403


def test_a_draft_is_not_exported_and_goes_with_its_journey(staff: Client, journey: Journey) -> None:
    keep(staff, journey, TWO)
    assert exported(journey.workspace)["journeys"][0]["steps"] == [DAY]
    Journey.objects.get().delete()
    assert not JourneyDraft.objects.exists()
