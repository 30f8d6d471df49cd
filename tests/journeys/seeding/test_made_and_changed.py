"""`seed_workspace` makes what a file describes, and changes what differs."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import CommandError
from django.db.models import F
from django.utils import timezone

from customers.models import Customer, Segment
from engage.http.authentication import Unauthorized, api_key_of, app_of
from engage.models import ApiKey, App, Workspace
from engage.resources.resource import Resource
from journeys.engine.steering.aborting import abort
from journeys.journey.keeping import archive_journey, restore_journey
from journeys.journey.opening import activate, close
from journeys.management.commands.seed_workspace import Command
from journeys.models import Journey
from tests.journeys.seeding.descriptions import DESCRIPTION, Seed, customer, described, everything, members_of
from tests.support.bridge_calls import ACTION, call
from tests.support.clients import SdkClient


@pytest.mark.django_db
def test_everything_described_is_made_and_its_ids_are_printed(seed: Seed) -> None:
    printed = seed()
    workspace = Workspace.objects.get()
    assert (workspace.key, workspace.name) == ("acme", "Acme")
    assert printed == {
        "workspaceId": workspace.id,
        "apiKeys": {"server": printed["apiKeys"]["server"]},
        "apps": {"web": App.objects.get().id},
        "customers": {
            "ada": Customer.objects.get(external_id="ada").id,
            "grace@example.com": Customer.objects.get(email="grace@example.com").id,
        },
        **{kind.section: {} for kind in Resource.all()},
        "segments": {key: Segment.objects.get(key=key).id for key in ("vip", "pro")},
        "journeys": {key: Journey.objects.get(key=key).id for key in ("welcome", "won-back")},
        "stayClosed": {},
        "warnings": [],
    }
    assert customer(external_id="ada") == {
        "external_id": "ada",
        "email": "ada@example.com",
        "phone": "+14155552671",
        "attributes": {"plan": "pro", "seats": 3},
    }
    assert members_of("vip") == {"ada", "grace@example.com"}
    assert (Segment.objects.get(key="pro").name, Segment.objects.get(key="pro").conditions) == (
        "pro",
        {"field": "customer.plan", "op": "eq", "value": "pro"},
    )
    welcome, won_back = Journey.objects.order_by("key")
    assert (welcome.name, welcome.trigger_type, welcome.event_name) == ("Welcome", "api", "")
    assert welcome.revisions.get().steps == DESCRIPTION["journeys"][0]["steps"]
    assert (won_back.name, won_back.trigger_type, won_back.event_name) == ("won-back", "event", "renewed")
    assert won_back.event_where == DESCRIPTION["journeys"][1]["where"]
    assert not won_back.event_from_bridge
    assert (won_back.revisions.get().exit_on, won_back.revisions.get().exit_events) == ([{"event": "left"}], ["left"])


@pytest.mark.django_db
def test_nothing_is_younger_than_its_last_change(seed: Seed) -> None:
    seed()
    for model in (Customer, Segment, Journey):
        assert not model._default_manager.filter(updated_at__lt=F("created_at")).exists()


@pytest.mark.django_db
def test_the_printed_key_and_app_id_open_the_service(seed: Seed) -> None:
    printed = seed()
    key = api_key_of(f"Bearer {printed['apiKeys']['server']}", now=timezone.now())
    assert (key.workspace_id, key.rate_limit) == (printed["workspaceId"], "100/m")
    assert app_of(printed["apps"]["web"]).allowed_origins == ["https://shop.example"]


@pytest.mark.django_db
def test_the_example_in_the_commands_help_is_a_description(seed: Seed) -> None:
    example = Command.help.partition("\n\n")[2].partition("\n\n")[0]
    assert list(seed(json.loads(example))["journeys"]) == ["welcome", "thanks"]


@pytest.mark.django_db
def test_only_the_workspace_is_required(seed: Seed) -> None:
    assert seed(described()) == {
        "workspaceId": Workspace.objects.get(key="acme", name="acme").id,
        "apiKeys": {},
        "apps": {},
        "customers": {},
        **{kind.section: {} for kind in Resource.all()},
        "stayClosed": {},
        "warnings": [],
    }


@pytest.mark.django_db
def test_the_same_again_changes_nothing_and_shows_no_key(seed: Seed) -> None:
    first, before = seed(), everything()
    assert seed() == {**first, "apiKeys": {"server": None}}
    assert everything() == before


@pytest.mark.django_db
@pytest.mark.parametrize("number", [1e16, 2.5e17, 1e300, -0.0])
def test_a_number_that_postgresql_spells_in_another_way_changes_nothing(seed: Seed, number: float) -> None:
    step = {"id": "note", "type": "update_profile", "attributes": {"n": number}}
    description = described(
        customers=[{"external_id": "ada", "attributes": {"n": number}}], journeys=[{"key": "j", "steps": [step]}]
    )
    seed(description)
    before = everything()
    seed(description)
    assert everything() == before


@pytest.mark.django_db
def test_what_differs_is_changed_and_keeps_its_id(seed: Seed) -> None:
    first = seed()
    steps = [{"id": "wait", "type": "delay", "for": "PT1H"}]
    again = seed(
        {
            "workspace": {"key": "acme", "name": "Acme Inc."},
            "apiKeys": [{"name": "server", "rateLimit": "5/s"}],
            "apps": [{"name": "web", "allowedOrigins": []}],
            "customers": [{"external_id": "ada", "email": "lovelace@example.com", "attributes": {"plan": "free"}}],
            "segments": [{"key": "vip", "name": "Best", "members": ["ada"]}, {"key": "pro", "conditions": None}],
            "journeys": [
                {"key": "welcome", "active": False, "maxEntriesPerCustomer": 3, "steps": steps},
                {"key": "won-back", "where": None, "fromBridge": None, "exitOn": []},
            ],
        }
    )
    for part in ("apps", "customers", "segments", "journeys"):
        assert again[part].items() <= first[part].items()
    assert Workspace.objects.get().name == "Acme Inc."
    assert ApiKey.objects.get().rate_limit == "5/s"
    assert App.objects.get().allowed_origins == []
    assert customer(external_id="ada") == {
        "external_id": "ada",
        "email": "lovelace@example.com",
        "phone": "+14155552671",
        "attributes": {"plan": "free", "seats": 3},
    }
    assert members_of("vip") == {"ada"}
    assert Segment.objects.get(key="vip").name == "Best"
    assert Segment.objects.filter(key="pro", conditions__isnull=True).exists()
    journey = Journey.objects.get(key="welcome")
    assert (journey.name, journey.active, journey.max_entries_per_customer) == ("Welcome", False, 3)
    assert (journey.revision, journey.revisions.get(number=2).steps) == (2, steps)
    won_back = Journey.objects.get(key="won-back")
    assert won_back.event_from_bridge
    assert (won_back.event_where, won_back.revisions.get(number=2).exit_on) == (None, [])


@pytest.mark.django_db
def test_the_limits_of_a_key_are_set_one_by_one_and_null_is_the_default(seed: Seed) -> None:
    def limits() -> tuple[str, str | None, str | None]:
        key = ApiKey.objects.get(name="server")
        return key.rate_limit, key.customers_rate_limit, key.events_rate_limit

    seed()
    assert limits() == ("100/m", None, None)
    seed(described(apiKeys=[{"name": "server", "customersRateLimit": "7/s", "eventsRateLimit": "9/h"}]))
    assert limits() == ("100/m", "7/s", "9/h")
    seed(described(apiKeys=[{"name": "server", "rateLimit": "5/s", "customersRateLimit": None}]))
    assert limits() == ("5/s", None, "9/h")


@pytest.mark.django_db
def test_what_a_key_may_do_is_set_one_by_one_and_null_is_everything(seed: Seed) -> None:
    def rights() -> list[Any]:
        return list(ApiKey.objects.values_list("scopes", "journeys", "networks", "expires_at").get())

    welcome = seed()["journeys"]["welcome"]
    assert rights() == [None] * 4
    end, until = "2031-01-01T00:00:00Z", datetime(2031, 1, 1, tzinfo=UTC)
    seed(described(apiKeys=[{"name": "server", "scopes": ["trigger"], "journeys": ["welcome"], "expiresAt": end}]))
    assert rights() == [["trigger"], [welcome], None, until]
    seed(described(apiKeys=[{"name": "server", "networks": ["10.0.0.0/8", "::1"], "scopes": None}]))
    assert rights() == [None, [welcome], ["10.0.0.0/8", "::1/128"], until]
    seed(described(apiKeys=[{"name": "server", "journeys": None, "networks": None, "expiresAt": None}]))
    assert rights() == [None] * 4


@pytest.mark.django_db
def test_what_is_not_named_stays(seed: Seed) -> None:
    seed()
    ApiKey.objects.update(rate_limit="7/s", customers_rate_limit="8/s", events_rate_limit="9/s")
    before = everything()
    seed(
        described(
            apiKeys=[{"name": "server"}],
            apps=[{"name": "web"}],
            customers=[{"external_id": "ada"}],
            segments=[{"key": "vip"}, {"key": "pro"}],
            journeys=[{"key": "welcome"}, {"key": "won-back"}],
        )
    )
    seed(described())
    assert everything() == before


@pytest.mark.django_db
def test_null_empties_an_identifier_and_takes_an_attribute_away(seed: Seed) -> None:
    seed()
    seed(described(customers=[{"external_id": "ada", "phone": None, "attributes": {"seats": None}}]))
    assert customer(external_id="ada") == {
        "external_id": "ada",
        "email": "ada@example.com",
        "attributes": {"plan": "pro"},
    }


@pytest.mark.django_db
def test_identifiers_may_change_hands_within_a_file(seed: Seed) -> None:
    ids = seed(described(customers=[{"external_id": "a", "email": "1@x.io"}, {"external_id": "b", "email": "2@x.io"}]))
    again = seed(
        described(customers=[{"external_id": "a", "email": "2@x.io"}, {"external_id": "b", "email": "1@x.io"}])
    )
    assert again["customers"] == ids["customers"]
    assert customer(external_id="a")["email"] == "2@x.io"
    assert customer(external_id="b")["email"] == "1@x.io"


@pytest.mark.django_db
def test_a_customer_of_long_ago_may_be_a_member(seed: Seed) -> None:
    seed(described(), "--customers", "3")
    seed(described(segments=[{"key": "vip", "members": ["user-1"]}]))
    assert members_of("vip") == {"user-1"}


@pytest.mark.django_db
def test_a_member_may_go_over_to_another_segment_within_a_file(seed: Seed) -> None:
    for one, other in ((["user-0"], []), ([], ["user-0"])):
        segments = [{"key": "one", "members": one}, {"key": "other", "members": other}]
        seed(described(segments=segments), "--customers", "1")
        assert (members_of("one"), members_of("other")) == (set(one), set(other))


@pytest.mark.django_db
def test_nobody_of_another_workspace_becomes_a_member(seed: Seed) -> None:
    seed({"workspace": {"key": "rival"}, "customers": [{"external_id": "theirs"}]})
    with pytest.raises(CommandError, match=r"segments\[0\]\.members\[0\] is no customer of the workspace"):
        seed(described(segments=[{"key": "vip", "members": ["theirs"]}]))


@pytest.mark.django_db
def test_a_segment_that_changes_is_dated(seed: Seed) -> None:
    seed()
    before = Segment.objects.get(key="vip").updated_at
    seed(described(segments=[{"key": "vip", "name": "Best"}]))
    assert Segment.objects.get(key="vip").updated_at > before


@pytest.mark.django_db
def test_a_template_in_conditions_is_refused_and_one_that_was_stored_before_is_told(seed: Seed) -> None:
    seed()
    template = {"field": "customer.plan", "op": "eq", "value": "{{ customer.plan }}"}
    with pytest.raises(CommandError, match=r"segments\[0\]\.conditions\.value is a template"):
        seed(described(segments=[{"key": "pro", "conditions": template}]))
    Segment.objects.filter(key="pro").update(conditions=template)
    printed = seed(described(segments=[{"key": "pro", "name": "Pro", "conditions": template}]))
    assert [warning["place"] for warning in printed["warnings"]] == ["segments[0].conditions.value"]
    assert Segment.objects.get(key="pro").name == "Pro"


@pytest.mark.django_db
def test_a_step_that_nobody_can_reach_is_told_and_saved(seed: Seed) -> None:
    steps = [{"id": "out", "type": "exit", "reason": "Over."}, {"id": "lost", "type": "delay", "for": "P1D"}]
    printed = seed(described(journeys=[{"key": "won-back"}, {"key": "welcome", "steps": steps}]))
    assert printed["warnings"] == [
        {
            "place": "journeys[1].steps[1]",
            "message": "The step 'lost' cannot be reached: no way leads to it from the first step.",
        }
    ]
    assert Journey.objects.get(key="welcome").revisions.get().steps == steps


@pytest.mark.django_db
def test_an_empty_list_of_members_takes_everybody_out(seed: Seed) -> None:
    seed()
    seed(described(segments=[{"key": "vip", "members": []}]))
    assert members_of("vip") == set()


@pytest.mark.django_db
def test_new_keys_replaces_the_keys_of_the_file_and_no_others(seed: Seed) -> None:
    old = seed(described(apiKeys=[{"name": "server"}, {"name": "other"}]))["apiKeys"]
    ApiKey.objects.filter(name="server").update(revoked_at=timezone.now())
    fresh = seed(described(apiKeys=[{"name": "server"}]), "--new-keys")["apiKeys"]
    assert api_key_of(f"Bearer {fresh['server']}", now=timezone.now()).name == "server"
    assert api_key_of(f"Bearer {old['other']}", now=timezone.now()).name == "other"
    with pytest.raises(Unauthorized):
        api_key_of(f"Bearer {old['server']}", now=timezone.now())
    assert ApiKey.objects.count() == 2


@pytest.mark.django_db
def test_two_workspaces_hold_the_same_names_apart(seed: Seed) -> None:
    theirs = seed({**DESCRIPTION, "workspace": {"key": "rival", "name": "Rival"}})
    before = everything()
    ours = seed()
    for part in ("apiKeys", "apps", "customers", "segments", "journeys"):
        assert ours[part].keys() == theirs[part].keys()
        assert not set(ours[part].values()) & set(theirs[part].values())
    assert ours["apiKeys"]["server"]  # a new secret
    seed({**DESCRIPTION, "segments": [{"key": "vip", "members": []}]})
    for table, rows in everything().items():
        assert [row for row in before[table] if row not in rows] == []


@pytest.mark.django_db
def test_a_file_confirms_and_drops_claims_as_a_server_does(seed: Seed, sdk: SdkClient) -> None:
    assert call(sdk, ACTION, {"email": "ada@example.com", "userId": "stranger", "phone": "+4915112345678"}).succeeded
    seed({"workspace": {"key": "acme"}, "customers": [{"email": "ada@example.com"}]})
    ada = Customer.objects.get()
    said = (ada.email, ada.phone, ada.user_id, ada.claimed_identifiers)
    assert said == ("ada@example.com", None, "stranger", ["user_id"])


@pytest.mark.django_db
def test_a_file_takes_identifiers_from_who_only_claims_them(seed: Seed, sdk: SdkClient) -> None:
    assert call(sdk, ACTION, {"email": "ada@example.com", "userId": "stranger"}).succeeded
    seed({"workspace": {"key": "acme"}, "customers": [{"external_id": "x-1", "email": "ada@example.com"}]})
    assert Customer.objects.get(email="ada@example.com").external_id == "x-1"
    stranger = Customer.objects.get(user_id="stranger")
    assert (stranger.email, stranger.claimed_identifiers) == (None, ["user_id"])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("close_it", "why"),
    [
        (lambda journey, who: close(journey, now=timezone.now(), **who), "closed by staff root at"),
        (lambda journey, who: abort(journey, **who), "aborted by staff root at"),
        (lambda journey, who: archive_journey(journey, actor=who["actor"], now=timezone.now()), "closed by staff root"),
    ],
)
def test_a_journey_that_staff_or_a_key_has_closed_is_opened_by_no_file(
    seed: Seed, close_it: Callable[[Journey, dict[str, str]], object], why: str
) -> None:
    seed()
    journey, reason, actor = Journey.objects.get(key="welcome"), "Enough.", "staff root"
    close_it(journey, {"reason": reason, "actor": actor})
    closed = {"key": "welcome", "active": False}
    for description in (DESCRIPTION, described(journeys=[closed]), DESCRIPTION):
        told = seed(description)["stayClosed"]
        assert list(told) == (["welcome"] if description is DESCRIPTION else [])
        assert all(said.startswith(why) for said in told.values())
        assert not Journey.objects.get(key="welcome").active
    if restore_journey(workspace_id=journey.workspace_id, journey_id=journey.id, now=timezone.now()):
        assert seed()["stayClosed"]
    activate(journey, now=timezone.now(), reason=reason, actor=actor)
    for description in (DESCRIPTION, described(journeys=[closed]), DESCRIPTION):
        assert seed(description)["stayClosed"] == {}
        assert Journey.objects.get(key="welcome").active is (description is DESCRIPTION)
