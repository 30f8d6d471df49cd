"""Staff hold, resume, close and abort journeys, take calls back, and hold hosts: asked with numbers, kept with why."""

from html import unescape

import pytest
from django.test import Client

from engage.admin.parts.columns import page_url
from engage.models import AuditEntry, Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey, SteeredHost, SteeringAct, Trigger
from tests.admin.forms import edit, form_of
from tests.admin.staff import member, staff_with
from tests.journeys.walking.stories import enter
from tests.support.audit import told
from tests.support.calls import data, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import DAY, CustomerFactory, JourneyFactory

STEERS = ("view_journey", "change_journey", "view_trigger")


@pytest.fixture
def journey(acme: Workspace, server: ServerClient) -> Journey:
    """Ada is inside, and Grace waits for her decision."""
    made: Journey = JourneyFactory.create(workspace=acme, name="Welcome", steps=[DAY])
    enter(server, made, CustomerFactory.create(workspace=acme, external_id="ada"))
    let_workers_walk()
    CustomerFactory.create(workspace=acme, external_id="grace")
    data(trigger(server, made, {"external_id": "grace"}))
    return made


def steer(journey: Journey, act: str) -> str:
    return f"/admin/journeys/journey/{journey.pk}/steer/{act}/"


def shown(staff: Client, path: str) -> str:
    return staff.get(path).content.decode()


def done(staff: Client, path: str, **said: str) -> str:
    return staff.post(path, said, follow=True).content.decode()


def test_a_journey_is_held_in_three_clicks_and_the_pages_say_so(staff: Client, journey: Journey) -> None:
    assert steer(journey, "hold") in shown(staff, page_url(journey))
    asked = shown(staff, steer(journey, "hold"))
    assert "Hold the journey “Welcome”?" in asked
    assert '<strong class="font-semibold">1</strong> staying inside' in asked
    assert Journey.objects.get().held_at is None
    page = done(staff, steer(journey, "hold"), reason="Wrong coupon.")
    assert "Held. 1 waiting for a decision, 1 staying inside." in page
    assert "by staff root. Nobody steps, and no webhook is sent. Why: Wrong coupon." in page
    for path in ("/admin/", "/admin/journeys/journey/"):
        assert "by staff root: Wrong coupon." in shown(staff, path)
    [act] = SteeringAct.objects.all()
    assert (act.kind, act.actor, act.reason) == ("hold", "staff root", "Wrong coupon.")
    assert told() == [("root", journey.id, "Hold.")]


@pytest.mark.slow
def test_the_page_offers_what_the_state_allows_and_shows_what_was_done(staff: Client, journey: Journey) -> None:
    offered = {"active": "hold close abort", "held": "resume close abort", "aborted": "activate"}
    for state, act in (("active", "hold"), ("held", "resume"), ("active", "abort"), ("aborted", "activate")):
        page = shown(staff, page_url(journey))
        acts = ["hold", "resume", "close", "activate", "abort"]
        assert [one for one in acts if steer(journey, one) in page] == sorted(offered[state].split(), key=acts.index)
        done(staff, steer(journey, act), reason=f"Because of {act}.", per_minute="")
    page = shown(staff, page_url(journey))
    assert all(f"Because of {act}." in page for act in ("hold", "resume", "abort", "activate"))
    assert Enrollment.objects.get().exit_reason == "The journey was aborted: Because of abort."


def test_an_abort_needs_its_reason_and_a_pace_is_a_number(staff: Client, journey: Journey) -> None:
    assert "This field is required." in done(staff, steer(journey, "abort"), reason="")
    done(staff, steer(journey, "hold"))
    assert "Enter a whole number." in done(staff, steer(journey, "resume"), per_minute="fast")
    assert Journey.objects.get().state is Journey.State.HELD
    assert SteeringAct.objects.count() == 1
    assert staff.get(steer(journey, "explode")).status_code == 404
    assert "nothing to hold or to resume" not in done(staff, steer(journey, "abort"), reason="Enough.")
    assert "nothing to hold or to resume" in done(staff, steer(journey, "hold"))


def test_a_journey_whose_variable_is_gone_is_not_opened(staff: Client, acme: Workspace) -> None:
    """Neither by the button nor by the switch of the form, which say why."""
    note = {"id": "note", "type": "update_profile", "attributes": {"shop": "{{ vars.shop }}"}}
    closed: Journey = JourneyFactory.create(workspace=acme, steps=[note], active=False)
    why = "reads vars.shop, but the workspace has no variable of this name."
    assert why in unescape(done(staff, steer(closed, "activate"), reason=""))
    sent = {**form_of(staff, closed), "active": "on"}
    assert why in unescape(staff.post(page_url(closed), sent).content.decode())
    assert not Journey.objects.get().active
    edit(staff, closed, form_of(staff, closed), name="Renamed")


def test_a_call_is_taken_back_on_its_page(staff: Client, journey: Journey, server: ServerClient) -> None:
    sent = Trigger.objects.get(id=EnrollmentJob.objects.get(status="queued").trigger_id)
    path = f"/admin/journeys/trigger/{sent.pk}/cancel/"
    assert path in shown(staff, page_url(sent))
    assert '<strong class="font-semibold">1</strong> never to be decided' in shown(staff, path)
    assert "Cancelled. 1 never to be decided" in done(staff, path, reason="Not her.")
    assert EnrollmentJob.objects.get(trigger=sent).status == "cancelled"
    assert "Not her." in shown(staff, page_url(sent))
    [entered] = Trigger.objects.exclude(id=sent.pk)
    done(staff, f"/admin/journeys/trigger/{entered.pk}/cancel/", leave="on")
    assert Enrollment.objects.get().state == "exited"


def test_only_who_may_change_journeys_may_steer_them(journey: Journey, onlooker: Client) -> None:
    sent = Trigger.objects.earliest("id")
    paths = [steer(journey, "hold"), f"/admin/journeys/trigger/{sent.pk}/cancel/"]
    for page, path in zip((journey, sent), paths, strict=True):
        assert path not in shown(onlooker, page_url(page))
        assert onlooker.get(path).status_code == 403
        assert onlooker.post(path, {"reason": "Mine."}).status_code == 403
        assert staff_with(*STEERS).get(path).status_code == 200 if path == paths[0] else True
    assert staff_with("change_journey").get(paths[1]).status_code == 403
    assert not SteeringAct.objects.exists()


def test_support_may_hold_journeys_and_no_more_where_the_workspace_says_so(acme: Workspace, journey: Journey) -> None:
    support = member("sue", acme="support")
    assert support.get(steer(journey, "hold")).status_code == 403
    Workspace.objects.filter(pk=acme.pk).update(support_may_hold=True)
    assert steer(journey, "hold") in shown(support, page_url(journey))
    assert steer(journey, "abort") not in shown(support, page_url(journey))
    for act in ("close", "abort", "activate"):
        assert support.post(steer(journey, act), {"reason": "Mine."}).status_code == 403
    assert "Held." in done(support, steer(journey, "hold"), reason="It sends twice.")
    assert "Resumed." in done(support, steer(journey, "resume"))
    assert member("vic", acme="viewer").get(steer(journey, "hold")).status_code == 403


def test_a_host_is_held_released_and_given_a_rate(staff: Client, acme: Workspace, rival: Workspace) -> None:
    path = "/admin/journeys/steeredhost/add/"
    said = {"workspace": acme.pk, "host": "Mail.example", "held": "on", "per_second": "5", "reason": "They asked."}
    assert "Write it with its port" in done(staff, path, **said)
    done(staff, path, **{**said, "host": "Mail.example:443"})
    [host] = SteeredHost.objects.all()
    assert (host.host, host.workspace_id, host.held_by, host.per_second) == (
        "mail.example:443",
        acme.id,
        "staff root",
        5,
    )
    assert "mail.example:443" in shown(staff, "/admin/")
    done(staff, page_url(host), per_second="", reason="Over.")
    host.refresh_from_db()
    assert (host.held_at, host.held_by, host.per_second) == (None, "", None)
    kinds = [act.kind for act in SteeringAct.objects.order_by("at", "id")]
    assert sorted(kinds) == ["hold_host", "rate_host", "rate_host", "release_host"]
    assert {act.workspace_id for act in SteeringAct.objects.all()} == {acme.id}


def test_a_host_with_the_longest_name_that_there_is_can_be_held_and_no_longer_one(
    staff: Client, acme: Workspace
) -> None:
    path = "/admin/journeys/steeredhost/add/"
    longest = ".".join(["a" * 63] * 3 + ["a" * 61])
    assert "at most 260 characters" in done(staff, path, workspace=acme.pk, host=f"{longest}aa:65535", held="on")
    done(staff, path, workspace=acme.pk, host=f"{longest}:65535", held="on", reason="They asked.")
    assert SteeredHost.objects.get().held_at is not None
    assert {act.host for act in SteeringAct.objects.all()} == {f"{longest}:65535"}
    assert AuditEntry.objects.filter(action="steered", object_id=f"{longest}:6").exists()
