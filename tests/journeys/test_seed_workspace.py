"""`manage.py seed_workspace`: a workspace from a description, all of it or nothing, the same again or changed."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import Model
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer, Segment, SegmentMembership
from engage.authentication import Unauthorized, api_key_of, app_of
from engage.models import ApiKey, App, Workspace
from journeys.management.commands.seed_workspace import Command
from journeys.models import Journey, JourneyRevision
from tests.factories import CustomerFactory
from tests.processes import ROOT, environment
from tests.simultaneous import PATIENCE_SECONDS, all_at_once, made_to_wait

TABLES: list[type[Model]] = [
    Workspace,
    ApiKey,
    App,
    Customer,
    Segment,
    SegmentMembership,
    Journey,
    JourneyRevision,
]
DESCRIPTION: dict[str, Any] = {
    "workspace": {"key": "acme", "name": "Acme"},
    "apiKeys": [{"name": "server", "rateLimit": "100/m"}],
    "apps": [{"name": "web", "allowedOrigins": ["https://Shop.example/"]}],
    "customers": [
        {
            "external_id": "ada",
            "email": "Ada@Example.com",
            "phone": "+1 415 555 2671",
            "userId": None,
            "attributes": {"plan": "pro", "seats": 3},
        },
        {"email": "grace@example.com"},
    ],
    "segments": [
        {"key": "vip", "name": "VIP", "members": ["ada", "grace@example.com"]},
        {"key": "pro", "conditions": {"field": "customer.plan", "op": "eq", "value": "pro"}},
    ],
    "journeys": [
        {
            "key": "welcome",
            "name": "Welcome",
            "trigger": "api",
            "eventName": None,
            "active": True,
            "maxEntriesPerCustomer": None,
            "allowReenrollment": False,
            "entryConditions": None,
            "steps": [{"id": "wait", "type": "delay", "for": "P1D"}],
        },
        {
            "key": "won-back",
            "trigger": "event",
            "eventName": "renewed",
            "where": {"field": "event.properties.price", "op": "gt", "value": 10},
            "exitOn": [{"event": "left"}],
        },
    ],
}

Seed = Callable[..., dict[str, Any]]


@pytest.fixture
def seed(tmp_path: Path) -> Seed:
    """Runs the command with a description (an object, or raw bytes); returns what it printed."""

    def run(description: Any = DESCRIPTION, *options: str) -> dict[str, Any]:
        file = tmp_path / "seed.json"
        file.write_bytes(description if isinstance(description, bytes) else json.dumps(description).encode())
        printed = io.StringIO()
        call_command("seed_workspace", str(file), "--json", *options, stdout=printed)
        return dict(json.loads(printed.getvalue()))

    return run


def described(**parts: Any) -> dict[str, Any]:
    return {"workspace": {"key": "acme"}, **parts}


def everything() -> dict[str, list[dict[str, Any]]]:
    return {table.__name__: list(table._default_manager.order_by("pk").values()) for table in TABLES}


def members_of(key: str) -> set[str]:
    members = SegmentMembership.objects.filter(segment__key=key).select_related("customer")
    return {str(one.customer) for one in members}


def customer(**identifiers: Any) -> dict[str, Any]:
    found = Customer.objects.values("external_id", "email", "phone", "user_id", "attributes").get(**identifiers)
    return {name: value for name, value in found.items() if value is not None}


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
        "segments": {key: Segment.objects.get(key=key).id for key in ("vip", "pro")},
        "journeys": {key: Journey.objects.get(key=key).id for key in ("welcome", "won-back")},
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
    assert (won_back.revisions.get().exit_on, won_back.revisions.get().exit_events) == ([{"event": "left"}], ["left"])


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
        "segments": {},
        "journeys": {},
    }


@pytest.mark.django_db
def test_the_same_again_changes_nothing_and_shows_no_key(seed: Seed) -> None:
    first, before = seed(), everything()
    assert seed() == {**first, "apiKeys": {"server": None}}
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
                {"key": "won-back", "where": None, "exitOn": []},
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
    assert (won_back.event_where, won_back.revisions.get(number=2).exit_on) == (None, [])


@pytest.mark.django_db
def test_what_is_not_named_stays(seed: Seed) -> None:
    seed()
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
    seed({**DESCRIPTION, "segments": [{"key": "vip", "members": []}]})
    for table, rows in everything().items():
        assert [row for row in before[table] if row not in rows] == []


# Refusals ------------------------------------------------------------------------------------------------------------


def journey(**fields: Any) -> dict[str, Any]:
    return described(journeys=[{"key": "other", **fields}])


BAD: list[tuple[Any, str]] = [
    (b"", "seed.json is not JSON: Expecting value at line 1, column 1."),
    (b'{"workspace": {"key": "a"}, "workspace": {"key": "b"}}', "The key 'workspace' stands twice in one object."),
    (b"\xff", "seed.json is not UTF-8: byte 0 does not fit."),
    (b"[]", "seed.json must be a JSON object, but an array came."),
    ({}, "workspace is required."),
    ({"workspace": "acme"}, "workspace must be an object, but a string came."),
    ({"workspace": {}}, "workspace.key is required."),
    ({"workspace": {"key": "Acme"}}, "workspace.key: Use lower-case letters, digits, - and _."),
    ({"workspace": {"key": "acme", "name": ""}}, "workspace.name must not be blank."),
    (
        {"workspace": {"key": "acme", "nmae": "x"}},
        "workspace.nmae is not known; what may stand here is key, name.",
    ),
    (
        described(journey=[]),
        "journey is not known; what may stand here is workspace, apiKeys, apps, customers, segments, journeys.",
    ),
    (described(journeys={}), "journeys must be an array, but an object came."),
    (described(apiKeys=[{}]), "apiKeys[0].name is required."),
    (described(apiKeys=[{"name": "n" * 101}]), "apiKeys[0].name: Ensure this value has at most 100 characters"),
    (described(apiKeys=[{"name": "a", "rateLimit": "fast"}]), "apiKeys[0].rateLimit: Write a rate as 100/m, 5/s "),
    (described(apiKeys=[{"name": "a"}, {"name": "a"}]), "apiKeys[1].name is the same as apiKeys[0].name."),
    (described(apps=[{"name": 7}]), "apps[0].name must be a string, but a number came."),
    (described(apps=[{"name": "a", "allowedOrigins": "*"}]), "apps[0].allowedOrigins must be an array, but a string"),
    (
        described(apps=[{"name": "a", "allowedOrigins": ["https://a.example", "shop.example"]}]),
        "apps[0].allowedOrigins[1] must be an origin such as https://shop.example, without a path.",
    ),
    (described(customers=["ada"]), "customers[0] must be an object, but a string came."),
    (described(customers=[{}]), "customers[0] needs an identifier: external_id, email, phone, userId."),
    (described(customers=[{"email": None}]), "customers[0] needs an identifier: "),
    (
        described(customers=[{"external_id": "a", "email": 7}]),
        "customers[0].email must be a string, but a number came.",
    ),
    (described(customers=[{"email": "nobody"}]), "customers[0].email must be an e-mail address."),
    (described(customers=[{"external_id": " "}]), "customers[0].external_id must not be blank."),
    (described(customers=[{"userId": "u" * 256}]), "customers[0].userId: Ensure this value has at most 255 characters"),
    (described(customers=[{"externalId": "a"}]), "customers[0].externalId is not known; what may stand here is "),
    (described(customers=[{"userId": "a", "attributes": []}]), "customers[0].attributes must be an object, but an "),
    (
        described(customers=[{"userId": "a", "attributes": {"$set": 1}}]),
        "customers[0].attributes: The attribute name '$set' ",
    ),
    (
        described(customers=[{"userId": "a", "attributes": {"a": json.loads("[" * 10 + "]" * 10)}}]),
        "customers[0].attributes is nested more than 10 deep.",
    ),
    (
        described(customers=[{"userId": "a", "attributes": {"a": "x" * 300_000}}]),
        "customers[0].attributes: The profile's attributes would come to ",
    ),
    (
        described(customers=[{"userId": "a"}, {"userId": "b"}, {"userId": "a"}]),
        "customers[2].userId is what customers[0] goes by already.",
    ),
    (
        described(customers=[{"userId": "a", "email": "x@x.io"}, {"userId": "b", "email": "X@x.io"}]),
        "customers[1].email is already that of customers[0].",
    ),
    (
        described(customers=[{"external_id": "ada"}, {"email": "ada@example.com"}]),
        "customers[1].email is already that of customers[0].",
    ),
    (
        described(customers=[{"external_id": "new", "email": "ada@example.com"}]),
        "customers[0].email is already that of another customer of the workspace.",
    ),
    (described(segments=[{"key": "Very Important"}]), "segments[0].key: Use lower-case letters, digits, - and _."),
    (described(segments=[{"key": "a"}, {"key": "a"}]), "segments[1].key is the same as segments[0].key."),
    (described(segments=[{"key": "a", "conditions": []}]), "segments[0].conditions must be an object, but an array "),
    (
        described(segments=[{"key": "a", "members": ["ada", 1]}]),
        "segments[0].members[1] must be a string, but a number",
    ),
    (
        described(segments=[{"key": "a", "members": ["ada", "ada"]}]),
        "segments[0].members[1] is the same as segments[0].members[0].",
    ),
    (
        described(segments=[{"key": "a", "members": ["ada", "nobody"]}]),
        "segments[0].members[1] is no customer of the workspace.",
    ),
    (described(journeys=[{"name": "Other"}]), "journeys[0].key is required."),
    (described(journeys=[{"key": "a"}, {"key": "a"}]), "journeys[1].key is the same as journeys[0].key."),
    (journey(trigerr="api"), "journeys[0].trigerr is not known; what may stand here is key, name, trigger, "),
    (journey(key="A"), "journeys[0].key: Use lower-case letters, digits, - and _."),
    (journey(trigger="cron"), "journeys[0].trigger: Value 'cron' is not a valid choice."),
    (journey(trigger="event"), "journeys[0].eventName is required where the trigger is event."),
    (journey(eventName="renewed"), "journeys[0].eventName must be null where the trigger is api."),
    (journey(where={}), "journeys[0].where must be null where the trigger is api."),
    (journey(exitOn=[{"if": {}}]), "journeys[0].exitOn[0].if must hold all, any or not, or field and op."),
    (journey(active="yes"), "journeys[0].active must be a boolean, but a string came."),
    (journey(maxEntriesPerCustomer=0), "journeys[0].maxEntriesPerCustomer: Ensure this value is greater than or equal"),
    (
        journey(maxEntriesPerCustomer=1.5),
        "journeys[0].maxEntriesPerCustomer must be a whole number, but a number came.",
    ),
    (journey(maxEntriesPerCustomer=True), "journeys[0].maxEntriesPerCustomer must be a whole number, but a boolean"),
    (journey(entryConditions=[]), "journeys[0].entryConditions must be an object, but an array came."),
    (
        journey(entryConditions={"any": [{"field": "customer.plan", "op": "eq"}]}),
        "journeys[0].entryConditions.any[0].value is required.",
    ),
    (journey(steps=[{"id": "a", "type": "delay"}]), "journeys[0].steps[0] must hold one of for, until and at."),
    (
        journey(steps=[{"id": "a", "type": "delay", "for": "P1D"}, {"id": "b", "type": "delay", "for": "1 day"}]),
        "journeys[0].steps[1].for must be an ISO 8601 duration such as P1D, PT2H30M or PT5S.",
    ),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("description", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_a_bad_description_changes_nothing_and_names_the_place(
    seed: Seed, tmp_path: Path, description: Any, message: str
) -> None:
    seed()
    before = everything()
    if isinstance(description, dict) and "workspace" in description:
        # Something good stands before whatever is bad.
        description = {"apps": [{"name": "new"}], **description}
    with pytest.raises(CommandError) as refused:
        seed(description, "--new-keys", "--customers", "2")
    assert str(refused.value).removeprefix(f"{tmp_path}/").startswith(message)
    assert everything() == before


@pytest.mark.django_db
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"nowhere\.json cannot be read: No such file or directory\."):
        call_command("seed_workspace", str(tmp_path / "nowhere.json"))


@pytest.mark.django_db
@pytest.mark.parametrize("number", ["-1", "10000001"])
def test_a_number_of_customers_out_of_bounds_is_refused(seed: Seed, number: str) -> None:
    with pytest.raises(CommandError, match=r"--customers must be from 0 to 10,000,000\."):
        seed(described(), "--customers", number)
    assert not Workspace.objects.exists()


# Many ----------------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_many_customers_take_as_many_queries_as_one(seed: Seed) -> None:
    def queries_of(customers: int) -> tuple[int, int]:
        names = [f"person-{number}" for number in range(customers)]
        description = described(
            customers=[{"external_id": name, "email": f"{name}@x.io", "attributes": {"n": 1}} for name in names],
            segments=[{"key": "all", "members": names}],
        )
        with CaptureQueriesContext(
            connection,
        ) as made:
            seed(description)
        with CaptureQueriesContext(connection) as repeated:
            seed(description)
        return len(made), len(repeated)

    seed(described(segments=[{"key": "all"}]))
    assert queries_of(1) == queries_of(300)


@pytest.mark.django_db
def test_a_crowd_is_made_once_and_grows(seed: Seed) -> None:
    printed = seed(DESCRIPTION, "--customers", "20000")
    assert printed["customers"].keys() == {"ada", "grace@example.com"}
    made = set(Customer.objects.filter(external_id__startswith="user-").values_list("external_id", "id"))
    assert {external_id for external_id, _ in made} == {f"user-{number}" for number in range(20_000)}
    assert len({customer_id for _, customer_id in made}) == 20_000

    seed(DESCRIPTION, "--customers", "20003")
    grown = set(Customer.objects.filter(external_id__startswith="user-").values_list("external_id", "id"))
    assert made < grown
    assert {external_id for external_id, _ in grown - made} == {"user-20000", "user-20001", "user-20002"}


@pytest.mark.django_db
def test_a_crowd_of_another_workspace_is_no_obstacle(seed: Seed) -> None:
    seed(described(), "--customers", "3")
    seed({"workspace": {"key": "rival"}}, "--customers", "3")
    assert Customer.objects.filter(workspace__key="rival").count() == 3


@pytest.mark.django_db
def test_somebody_of_the_crowd_who_is_described_is_not_made_twice(seed: Seed) -> None:
    seed(described(customers=[{"external_id": "user-1", "email": "one@x.io"}]), "--customers", "3")
    assert Customer.objects.count() == 3
    assert customer(external_id="user-1")["email"] == "one@x.io"


# As a program --------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_without_a_file_the_demo_is_made_and_told_in_words() -> None:
    printed = io.StringIO()
    call_command("seed_workspace", "--customers", "2", stdout=printed)
    secret = printed.getvalue().partition("API key server: ")[2].partition("\n")[0]
    assert api_key_of(f"Bearer {secret}", now=timezone.now()).workspace.key == "demo"
    customers = {str(one): one.id for one in Customer.objects.all()}
    segments = {one.key: one.id for one in Segment.objects.all()}
    journeys = {one.key: one.id for one in Journey.objects.all()}
    assert printed.getvalue().splitlines() == [
        f"Workspace demo: {Workspace.objects.get().id}",
        f"API key server: {secret}",
        "Keep the new API keys: they are shown this once.",
        f"App web: {App.objects.get().id}",
        *(f"Customer {name}: {customers.pop(name)}" for name in ("ada", "grace", "alan")),
        *(f"Segment {key}: {segments.pop(key)}" for key in ("vip", "pro")),
        *(f"Journey {key}: {journeys.pop(key)}" for key in ("welcome", "onboarding", "won-back")),
        "2 customers from user-0 to user-1, 2 made now",
    ]
    assert (set(customers), segments, journeys) == ({"user-0", "user-1"}, {}, {})


@pytest.mark.django_db
def test_a_long_list_of_customers_is_only_counted_in_words(tmp_path: Path) -> None:
    file = tmp_path / "seed.json"
    file.write_text(json.dumps(described(customers=[{"userId": str(number)} for number in range(21)])))
    printed = io.StringIO()
    call_command("seed_workspace", str(file), stdout=printed)
    assert "21 customers of the file (--json prints their ids)\n" in printed.getvalue()


def run_program(*arguments: str, standard_input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "manage.py", "seed_workspace", *arguments],
        cwd=ROOT,
        env=environment(),
        input=standard_input,
        capture_output=True,
        check=False,
    )


@pytest.mark.django_db(transaction=True)
def test_the_program_prints_exactly_one_json_object_on_standard_output() -> None:
    ran = run_program("-", "--json", "--customers", "5", standard_input=json.dumps(DESCRIPTION).encode())
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert json.loads(ran.stdout)["workspaceId"] == Workspace.objects.get().id
    assert ran.stdout.count(b"\n") == 1
    assert Customer.objects.count() == 7


@pytest.mark.django_db(transaction=True)
def test_the_program_leaves_standard_output_empty_where_the_file_is_bad() -> None:
    ran = run_program("-", "--json", standard_input=b'{"workspace": {"key": "acme"}, "customers": [{"email": 7}]}')
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert ran.stderr == b"CommandError: customers[0].email must be a string, but a number came.\n"
    assert not Workspace.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_same_workspace_seeded_by_many_at_once_is_seeded_once() -> None:
    def one() -> dict[str, Any]:
        printed = io.StringIO()
        call_command("seed_workspace", "--json", "--customers", "50", stdout=printed)
        return dict(json.loads(printed.getvalue()))

    printed = all_at_once([one] * 4)
    keys = [seeded.pop("apiKeys")["server"] for seeded in printed]
    assert sorted(key is None for key in keys) == [False, True, True, True]
    assert all(seeded == printed[0] for seeded in printed)
    assert Customer.objects.filter(workspace__key="demo").count() == 53


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("option", [[], ["--customers", "3"]], ids=["described", "of the crowd"])
def test_a_customer_made_by_somebody_else_meanwhile_undoes_the_seeding_with_a_clear_word(
    seed: Seed, option: list[str]
) -> None:
    description = described(apps=[{"name": "web"}], customers=[] if option else [{"external_id": "user-1"}])
    workspace = Workspace.objects.get(id=seed(described())["workspaceId"])
    with transaction.atomic():
        CustomerFactory.create(workspace=workspace, external_id="user-1")
        seeding = made_to_wait(lambda: seed(description, *option))
    with pytest.raises(CommandError, match="Another program wrote the same things at the same moment"):
        seeding.result(PATIENCE_SECONDS)
    assert Customer.objects.count() == 1
    assert not App.objects.exists()
    assert seed(description, *option)["apps"].keys() == {"web"}
