"""`seed_workspace` with a crowd, and as a program that others start."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer, Segment
from engage.http.authentication import api_key_of
from engage.models import ApiKey, App, Workspace
from journeys.models import Journey
from tests.journeys.seeding.descriptions import DESCRIPTION, Seed, customer, described
from tests.support.factories import CustomerFactory
from tests.support.processes import ROOT, environment
from tests.support.simultaneous import PATIENCE_SECONDS, all_at_once, elsewhere, made_to_wait
from tests.support.terminals import HOSTILE, SHOWN, commands_in


@pytest.mark.django_db
def test_many_customers_take_as_many_queries_as_one(seed: Seed) -> None:
    def queries_of(customers: int) -> tuple[int, int]:
        names = [f"person-{number}" for number in range(customers)]
        description = described(
            customers=[{"external_id": name, "email": f"{name}@x.io", "attributes": {"n": 1}} for name in names],
            segments=[{"key": "all", "members": names}],
        )
        with CaptureQueriesContext(connection) as made:
            seed(description)
        with CaptureQueriesContext(connection) as repeated:
            seed(description)
        return len(made), len(repeated)

    seed(described(segments=[{"key": "all"}]))
    assert queries_of(1) == queries_of(300)


@pytest.mark.django_db
def test_a_crowd_is_made_once_and_grows(seed: Seed) -> None:
    printed = seed(DESCRIPTION, "--customers", "2000")
    assert printed["customers"].keys() == {"ada", "grace@example.com"}
    made = set(Customer.objects.filter(external_id__startswith="user-").values_list("external_id", "id"))
    assert {external_id for external_id, _ in made} == {f"user-{number}" for number in range(2000)}
    assert len({customer_id for _, customer_id in made}) == 2000

    seed(DESCRIPTION, "--customers", "2003")
    grown = set(Customer.objects.filter(external_id__startswith="user-").values_list("external_id", "id"))
    assert made < grown
    assert {external_id for external_id, _ in grown - made} == {"user-2000", "user-2001", "user-2002"}


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
    customers = {one.external_id or str(one): one.id for one in Customer.objects.all()}
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


@pytest.mark.django_db
def test_what_is_told_in_words_commands_no_terminal(tmp_path: Path) -> None:
    file, printed = tmp_path / "seed.json", io.StringIO()
    described_so = described(
        customers=[{"external_id": HOSTILE}], apps=[{"name": HOSTILE}], apiKeys=[{"name": HOSTILE}]
    )
    file.write_text(json.dumps(described_so))
    call_command("seed_workspace", str(file), stdout=printed)
    assert commands_in(printed.getvalue()) == set()
    for kind in ("Customer", "App", "API key"):
        assert f"\n{kind} {SHOWN}: " in printed.getvalue()
    file.write_text(json.dumps(described(customers=[{"external_id": "a", "attributes": {"$" + HOSTILE: 1}}])))
    with pytest.raises(CommandError) as refused:
        call_command("seed_workspace", str(file))
    assert commands_in(str(refused.value)) == set()


def run_program(*arguments: str, standard_input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "manage.py", "seed_workspace", *arguments],
        cwd=ROOT,
        env=environment(),
        input=standard_input,
        capture_output=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_program_prints_exactly_one_json_object_on_standard_output() -> None:
    ran = run_program("-", "--json", "--customers", "5", standard_input=json.dumps(DESCRIPTION).encode())
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert json.loads(ran.stdout)["workspaceId"] == Workspace.objects.get().id
    assert ran.stdout.count(b"\n") == 1
    assert Customer.objects.count() == 7


@pytest.mark.slow
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
def test_a_customer_made_by_others_meanwhile_is_the_described_one(seed: Seed) -> None:
    workspace = Workspace.objects.get(id=seed(described())["workspaceId"])
    with transaction.atomic():
        made = CustomerFactory.create(workspace=workspace, external_id="user-1")
        seeding = made_to_wait(lambda: seed(described(customers=[{"external_id": "user-1", "attributes": {"n": 1}}])))
    seeding.result(PATIENCE_SECONDS)
    customer = Customer.objects.get()
    assert (customer.id, customer.attributes["n"]) == (made.id, 1)


@pytest.mark.django_db(transaction=True)
def test_one_of_the_crowd_who_is_made_by_others_meanwhile_undoes_the_seeding(seed: Seed) -> None:
    description, option = described(apps=[{"name": "web"}], customers=[]), ["--customers", "3"]
    workspace = Workspace.objects.get(id=seed(described())["workspaceId"])
    with transaction.atomic():
        CustomerFactory.create(workspace=workspace, external_id="user-1")
        seeding = made_to_wait(lambda: seed(description, *option))
    with pytest.raises(CommandError, match="Another program wrote the same things at the same moment"):
        seeding.result(PATIENCE_SECONDS)
    assert Customer.objects.count() == 1
    assert not App.objects.exists()
    assert seed(description, *option)["apps"].keys() == {"web"}


@pytest.mark.django_db(transaction=True)
def test_two_seedings_of_a_workspace_come_one_after_the_other(seed: Seed) -> None:
    seed(described())
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get()
        seeding = made_to_wait(lambda: seed(described()))
    assert seeding.result(PATIENCE_SECONDS)["workspaceId"] == Workspace.objects.get().id


@pytest.mark.django_db(transaction=True)
def test_what_somebody_else_writes_of_a_customer_meanwhile_is_kept(seed: Seed) -> None:
    seed(described(customers=[{"external_id": "ada"}]))
    with transaction.atomic():
        Customer.objects.update(attributes={"seats": 3})
        description = described(customers=[{"external_id": "ada", "attributes": {"plan": "pro"}}])
        seeding = made_to_wait(lambda: seed(description))
    seeding.result(PATIENCE_SECONDS)
    assert customer(external_id="ada")["attributes"] == {"seats": 3, "plan": "pro"}


@pytest.mark.django_db(transaction=True)
def test_a_segment_is_locked_before_its_customers(seed: Seed) -> None:
    """As where its members are changed: in another order the two could wait for each other."""
    description = described(customers=[{"external_id": "ada"}], segments=[{"key": "vip", "members": ["ada"]}])
    seed(description)
    with transaction.atomic():
        Segment.objects.select_for_update(no_key=True).get()
        seeding = made_to_wait(lambda: seed(description))
        Customer.objects.select_for_update(no_key=True, nowait=True).get()
    assert seeding.result(PATIENCE_SECONDS)["segments"].keys() == {"vip"}


@pytest.mark.django_db(transaction=True)
def test_a_member_who_is_erased_meanwhile_is_missed_with_a_clear_word(seed: Seed) -> None:
    seed(described(customers=[{"external_id": "ada"}], segments=[{"key": "vip"}]))
    with transaction.atomic():
        Customer.objects.all().delete()
        seeding = made_to_wait(lambda: seed(described(segments=[{"key": "vip", "members": ["ada"]}])))
    with pytest.raises(CommandError, match=r"segments\[0\]\.members\[0\] is no customer of the workspace"):
        seeding.result(PATIENCE_SECONDS)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("members", [[[], []], [[], ["ada"]]], ids=["taken out of both", "out of one"])
def test_a_member_is_locked_before_their_memberships(seed: Seed, members: list[list[str]]) -> None:
    """As by an erasure, which then deletes the memberships: in another order the two could wait for each other."""

    def segments(first: list[str], second: list[str]) -> list[dict[str, Any]]:
        return [{"key": "first", "members": first}, {"key": "second", "members": second}]

    seed(described(customers=[{"external_id": "ada"}, {"external_id": "bob"}], segments=segments(["ada"], ["ada"])))
    with transaction.atomic():
        Customer.objects.select_for_update().get(external_id="ada")
        seeding = made_to_wait(lambda: seed(described(segments=segments(*members))))
        Customer.objects.filter(external_id="ada").delete()
    if any(members):
        with pytest.raises(CommandError, match="is no customer of the workspace"):
            seeding.result(PATIENCE_SECONDS)
    else:
        assert seeding.result(PATIENCE_SECONDS)["segments"].keys() == {"first", "second"}


@pytest.mark.django_db(transaction=True)
def test_keys_and_apps_that_are_not_named_are_left_to_others(seed: Seed) -> None:
    seed(described(apiKeys=[{"name": "server"}], apps=[{"name": "web"}]))
    with transaction.atomic():
        ApiKey.objects.select_for_update(no_key=True).get()
        App.objects.select_for_update(no_key=True).get()
        others = described(apiKeys=[{"name": "other"}], apps=[{"name": "other"}])
        assert elsewhere(lambda: seed(others))["apiKeys"].keys() == {"other"}


@pytest.mark.django_db
def test_an_empty_name_of_a_file_is_not_the_demo() -> None:
    """As a script passes it that forgot to set a variable."""
    with pytest.raises(CommandError, match="'' cannot be read: Is a directory"):
        call_command("seed_workspace", "")
    assert not Workspace.objects.exists()
