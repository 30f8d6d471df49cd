"""Customers and events in files: imported as calls would write them, and exported exactly."""

import csv
import io
import random
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from customers.files.columns import InvalidHeader, columns_of
from customers.files.importing import customers_of, import_file
from customers.files.reading import Source
from customers.models import Customer, Event, Import, SegmentMembership
from engage.models import Workspace
from journeys.models import EnrollmentJob
from tests.support.bridge_calls import click
from tests.support.calls import customers_path
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.examples import examples
from tests.support.factories import ApiKeyFactory, CustomerFactory, JourneyFactory, SegmentFactory, WorkspaceFactory
from tests.support.processes import ROOT, environment
from tests.support.simultaneous import elsewhere
from tests.support.tables import taken_back
from tests.support.waiting import wait_until


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def imported(workspace: Workspace, path: Path, *more: str) -> str:
    out = io.StringIO()
    call_command("import_customers", str(path), "--workspace", workspace.key, *more, stdout=out)
    return out.getvalue().strip()


def exported(workspace: Workspace, path: Path, *more: str) -> str:
    out = io.StringIO()
    call_command("export_customers", str(path), "--workspace", workspace.key, *more, stdout=out)
    return out.getvalue().strip()


def errors_of(path: Path) -> list[list[str]]:
    return list(csv.reader(path.with_name(f"{path.name}.errors.csv").read_text().splitlines()))


def everybody(workspace: Workspace, *more: str) -> list[tuple[Any, ...]]:
    fields = ("external_id", "email", "phone", "user_id", "attributes", "claimed_identifiers", "claimed_attributes")
    found = Customer.objects.filter(workspace=workspace).values_list(*fields, *more)
    return sorted(found, key=str)


def test_a_row_is_a_customer_and_the_header_says_what_cells_are(acme: Workspace, tmp_path: Path) -> None:
    CustomerFactory.create(
        workspace=acme,
        external_id="ada",
        email="old@example.com",
        phone="1",
        attributes={"plan": "free", "city": "Ulm"},
    )
    file = written(
        tmp_path / "people.csv",
        "\ufeffexternal_id,E-Mail,phone,Notes,score:number,vip:boolean,since:date,tags:json,plan,city,\r\n"
        'ada,Ada@Example.com,\\N,x,12.5,yes,2026-11-20,"[""a"", {""b"": 1}]",,\\N,\r\n'
        ",,,,,,,,,,\r\n"
        'bob,,+49 170 1234567,x,-3,false,2026-11-20T19:08:00Z,null,"one, two\r\nthree",,\r\n',
    )
    told = imported(acme, file, "--map", "E-Mail=email", "Notes=")
    assert told.endswith(": 1 created, 1 found, 1 blank.")
    tags = {"score": 12.5, "vip": True, "since": "2026-11-20", "tags": ["a", {"b": 1}], "plan": "free"}
    bob = {"score": -3, "vip": False, "since": "2026-11-20T19:08:00Z", "plan": "one, two\r\nthree"}
    assert everybody(acme) == [
        ("ada", "ada@example.com", None, None, tags, [], []),
        ("bob", None, "+491701234567", None, bob, [], []),
    ]
    assert not [*tmp_path.glob("*.errors.csv")]


@each(
    "header, renamed, told",
    [
        ("plan,score:number", {}, "A column must be one of customerId, external_id"),
        ("email,E-Mail", {"E-Mail": "email"}, "Two columns are 'email'."),
        ("email,externalId,external_id", {}, "Two columns are 'external_id'."),
        ("email,score:numbr", {}, "'score:numbr': 'numbr' is none of text, number"),
        ("email,$x", {}, "The attribute name '$x' starts with $"),
        ("email", {"Mail": "email"}, "--map: the file has no column 'Mail'."),
    ],
)
def test_a_header_that_says_nothing_clear_is_refused(header: str, renamed: Mapping[str, str], told: str) -> None:
    with pytest.raises(InvalidHeader, match=f"^{re.escape(told)}"):
        columns_of(header.split(","), renamed=renamed)


def test_a_row_that_cannot_be_applied_is_told_by_its_number_and_stops_no_other(acme: Workspace, tmp_path: Path) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada", email="ada@example.com")
    file = written(
        tmp_path / "people.csv",
        "external_id,email,score:number,vip:boolean,since:date,tags:json\n"
        "a,no address,,,,\n"
        "b,,twelve,,,\n"
        "c,,,maybe,,\n"
        "d,,,,2026-02-30,\n"
        "e,,,,,{\n"
        "f,ada@example.com,,,,\n"
        ",,1,,,\n"
        "g,,,,,,7\n"
        "\n"
        "h\n"
        "ada,\\N,1,,,\n"
        "\\N,i@example.com,,,,\n",
    )
    with pytest.raises(CommandError, match="9 rows failed"):
        imported(acme, file)
    told = errors_of(file)
    assert [row[0] for row in told[1:]] == ["2", "3", "4", "5", "6", "7", "8", "9", "11"]
    assert told[0] == ["row", "error", "message"]
    assert told[2] == ["3", "invalid_request", "score must be a number, like 12 or 0.5."]
    assert told[6][1:2] == ["identifier_conflict"]
    assert told[7][1:2] == ["missing_required_parameter"]
    known = [(one[0], one[1]) for one in everybody(acme)]
    assert known == [("ada", None), (None, "i@example.com")]


@pytest.mark.parametrize(
    ("how", "told", "known"),
    [
        ("fail", None, [("ada", "a@example.com")]),
        ("skip-identifier", ": 1 created", [("ada", "a@example.com"), ("eve", None)]),
        ("skip-row", ": 1 skipped", [("ada", "a@example.com")]),
    ],
)
def test_conflicts_fail_or_are_skipped(
    acme: Workspace, tmp_path: Path, how: str, told: str | None, known: list[Any]
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada", email="a@example.com")
    file = written(tmp_path / "people.csv", "external_id,email\neve,a@example.com\n")
    if told is None:
        with pytest.raises(CommandError, match="1 row failed"):
            imported(acme, file, "--on-conflict", how)
    else:
        assert told in imported(acme, file, "--on-conflict", how)
    assert [(one[0], one[1]) for one in everybody(acme)] == known


NAMES = {
    "external_id": ["a", "b", "c", ""],
    "email": ["a@example.com", "b@example.com", ""],
    "userId": ["u-1", ""],
}
ROWS = st.lists(
    st.fixed_dictionaries(
        {name: st.sampled_from([*values, ""]) for name, values in NAMES.items()}
        | {"x": st.sampled_from(["", "1", "2", r"\N"])}
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@pytest.mark.django_db
@examples(25)
@given(parts=st.lists(ROWS, min_size=1, max_size=3))
def test_a_file_does_what_the_same_customers_do_in_calls(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[dict[str, str]]]
) -> None:
    """Two workspaces: one is sent the rows one after the other, the other one imports them."""
    with taken_back():
        called, filled = WorkspaceFactory.create(), WorkspaceFactory.create()
        server = ServerClient(ApiKeyFactory.create(workspace=called))
        for number, rows in enumerate(parts):
            if number == 1:  # then some are aliases
                for workspace in (called, filled):
                    merge = {"customer": {"external_id": "a"}, "into": {"external_id": "b"}}
                    ServerClient(ApiKeyFactory.create(workspace=workspace)).post(
                        customers_path(workspace, "merge"), merge
                    )
            for row in rows:
                body: dict[str, Any] = {name: row[name] for name in NAMES if row[name]}
                if row["x"]:
                    body["attributes"] = {"x": None if row["x"] == r"\N" else row["x"]}
                server.put(customers_path(called), body)
            text = io.StringIO(newline="")
            out = csv.DictWriter(text, [*NAMES, "x"])
            out.writeheader()
            out.writerows(rows)
            file = written(tmp_path_factory.mktemp("files") / f"{number}.csv", text.getvalue())
            import_file(
                workspace_id=filled.id, source=Source(path=file, last_counts=True), write=customers_of(filled.id),
                errors=file.with_suffix(".errors"), again=True,
            )  # fmt: skip
        assert everybody(filled) == everybody(called)


def test_a_second_run_changes_nothing_and_another_one_goes_on(acme: Workspace, tmp_path: Path) -> None:
    file = written(tmp_path / "people.csv", "external_id,plan\nada,pro\nbob,free\n,oops\n")
    with pytest.raises(CommandError, match="1 row failed"):
        imported(acme, file)
    Customer.objects.filter(external_id="ada").update(attributes={"plan": "max"})
    with pytest.raises(CommandError, match="1 row failed"):  # which alone is tried again
        imported(acme, file)
    assert Customer.objects.get(external_id="ada").attributes == {"plan": "max"}
    with pytest.raises(CommandError, match="1 row failed"):
        imported(acme, file, "--again")
    assert Customer.objects.get(external_id="ada").attributes == {"plan": "pro"}
    assert [row[0] for row in errors_of(file)] == ["row", "4"]
    # As if it had been killed after the first row.
    Import.objects.update(rows=1, counts={"created": 1}, error_bytes=0, finished_at=None)
    Customer.objects.update(attributes={})
    with pytest.raises(CommandError, match="1 row failed"):
        imported(acme, file)
    assert {one[0]: one[4] for one in everybody(acme)} == {"ada": {}, "bob": {"plan": "free"}}
    assert Import.objects.get().counts == {"created": 1, "found": 1, "failed": 1, "skipped": 0, "blank": 0}


def test_rows_that_failed_are_tried_again_and_no_others(acme: Workspace, tmp_path: Path) -> None:
    eve = CustomerFactory.create(workspace=acme, external_id="eve", email="b@example.com")
    file = written(tmp_path / "people.csv", "external_id,email\nada,a@example.com\nbob,b@example.com\n")
    with pytest.raises(CommandError, match="1 row failed"):
        imported(acme, file)
    Customer.objects.filter(external_id="ada").update(email="new@example.com")
    eve.delete()
    assert ": 2 created." in imported(acme, file)
    assert Customer.objects.get(external_id="ada").email == "new@example.com"
    assert "has been imported (2 created)" in imported(acme, file)
    assert not [*tmp_path.glob("*.errors.csv")]


REPORT = (
    "external_id,email,phone\n"
    "1.2345E+17,a@example.com,\n"
    "ada,b@example.com,\n"
    "ada,c@example.com,\n"
    "ada,,1\n"
    "4e10,d@example.com,\n"
    "eve,e@example.com,4,91701E+11\n"
    "bob,f@example.com,4.91701e+11\n"
    "Total,6\n"
)


@pytest.mark.django_db
@each("last", [False, True])
def test_rows_that_are_no_people_fail(acme: Workspace, last: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = written(tmp_path_factory.mktemp("files") / "report.csv", REPORT)
    with pytest.raises(CommandError, match="4 rows failed" if last else "5 rows failed"):
        imported(acme, file, *(["--duplicates", "last"] if last else []))
    told = {row[0]: row[2] for row in errors_of(file)[1:]}
    assert [*told] == ["2", *([] if last else ["4"]), "7", "8", "9"]
    assert all(
        told[number].startswith(f"{name} is in scientific")
        for number, name in {"2": "external_id", "8": "phone"}.items()
    )
    assert told["9"] == "The row has 2 cells, the header 3."
    assert told.get("4", "") == ("" if last else "The same external_id came before with another email.")
    ada = ("ada", "c@example.com" if last else "b@example.com", "1")
    assert [one[:3] for one in everybody(acme)] == [("4e10", "d@example.com", None), ada]


@pytest.mark.django_db
def test_items_of_a_batch_are_done_in_turn_and_warned_of(acme: Workspace, server: ServerClient) -> None:
    items = [{"external_id": "1.2345E+17"}, {"external_id": "ada", "email": "b@example.com"}]
    items += [{"external_id": "ada", "email": "c@example.com"}, {"external_id": "ada", "phone": "1"}]
    results = server.post(customers_path(acme, "batch"), {"customers": items}).json()["data"]["results"]
    warned = [[text.split()[0] for text in one.get("warnings", [])] for one in results]
    assert warned == [["external_id"], [], ["The"], ["phone"]]
    assert [one[:3] for one in everybody(acme)] == [("1.2345E+17", None, None), ("ada", "c@example.com", "1")]


def test_phones_are_of_the_country_that_is_said(acme: Workspace, tmp_path: Path) -> None:
    old = CustomerFactory.create(workspace=acme, external_id="old", phone="0170 1234567")
    file = written(tmp_path / "p.csv", "phone,x\n0170 1234567,1\n0171-1234567,2\n0171 1234567,3\n4711,4\n")
    told = imported(acme, file, "--country", "DE")
    assert ": 2 created, 2 found.\nKept as written, not read as international" in told
    assert told.endswith("1 phone number, row 5.")
    assert {one[2]: one[4] for one in everybody(acme)} == {
        "+491701234567": {"x": "1"}, "+491711234567": {"x": "3"}, "4711": {"x": "4"}
    }  # fmt: skip
    assert Customer.objects.get(phone="+491701234567") == old
    with pytest.raises(CommandError, match="two capital letters"):
        imported(acme, file, "--country", "de")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["customers", "segment", "events"])
def test_a_dry_run_tells_what_a_run_then_does_and_writes_nothing(
    acme: Workspace, ada: Customer, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("customers.files.importing._ROWS_AT_ONCE", 5)
    SegmentFactory.create(workspace=acme, key="vip")
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="seen", steps=[])
    people = [f"{ada.external_id},seen", *(f"p-{n},seen" for n in range(12)), "p-1,seen", ",seen", ",", "x"]
    file = written(tmp_path / "people.csv", "\n".join(["external_id,eventName", *people]))
    more = {"customers": [], "segment": ["--segment", "vip"], "events": ["--events", "--start-journeys"]}[kind]
    before = {
        table: list(table.objects.values()) for table in (Customer, Event, SegmentMembership, Import, EnrollmentJob)
    }
    out = io.StringIO()
    with pytest.raises(CommandError, match=r"rows failed\.$"):
        call_command("import_customers", str(file), "--workspace", acme.key, *more, "--dry-run", stdout=out)
    assert {table: list(table.objects.values()) for table in before} == before
    assert not [*tmp_path.glob("*.errors.csv")]
    with pytest.raises(CommandError, match="has their numbers"):
        call_command("import_customers", str(file), "--workspace", acme.key, *more, stdout=out)
    dry, *rows, real = out.getvalue().splitlines()
    assert dry.removeprefix("Dry run: ").removesuffix(" Nothing was written.") == real.partition(": ")[2]
    if kind != "events":
        assert real.endswith(": 12 created, 2 found, 2 failed, 1 blank.")
        assert [row.split(":")[0].strip() for row in rows] == ["created"] * 10 + ["found"] * 2 + ["failed"] * 2 + [
            "blank"
        ]
        assert rows[:1] + rows[-2:] == [
            "  created: row 3",
            "  failed: row 18: The row has 1 cells, the header 2.",
            "  blank: row 17",
        ]


AROUND = [
    ("external_id;city\nada;Köln\n", "utf-8"), ("\ufeffexternal_id\tcity\r\nada\tKöln\r\n", "utf-8"),
    ("sep=|\r\nexternal_id|city\r\nada|Köln\r\n", "utf-8"),
    ('\r\n;\r\n"external_id";"city"\r\nada;Köln\r\n;\r\n', "utf-8"),
    ("\ufeffsep=;\nexternal_id;city,country\nada;Köln\n", "utf-8"), ("external_id\tcity\nada\tKöln\n", "utf-16"),
    ("external_id,city\nada,Köln\n", "cp1252"),
]  # fmt: skip


@pytest.mark.django_db
@each("text, encoding", AROUND)
def test_what_spreadsheets_write_around_a_table(
    acme: Workspace, text: str, encoding: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("files") / "people.csv"
    file.write_bytes(text.encode(encoding))
    if encoding == "cp1252":
        with pytest.raises(CommandError, match="it is not UTF-8; --encoding says what else"):
            imported(acme, file)
    assert ": 1 created" in imported(acme, file, *(["--encoding", "cp1252"] if encoding == "cp1252" else []))
    assert [(one[0], [*one[4].values()]) for one in everybody(acme)] == [("ada", ["Köln"])]


def test_no_file_but_an_error_file_is_written_over(acme: Workspace, tmp_path: Path) -> None:
    file = written(tmp_path / "people.csv", "external_id\nada\n,oops\n")
    other = written(tmp_path / "notes.txt", "What to do.\n")
    for taken in (file, other, tmp_path, Path("/dev/null")):
        with pytest.raises(CommandError, match="name another error file"):
            imported(acme, file, "--errors", str(taken))
    assert (file.read_text(), other.read_text()) == ("external_id\nada\n,oops\n", "What to do.\n")
    assert not Customer.objects.exists()


@pytest.mark.django_db
@each("command", ["import_customers", "export_customers"])
@each("name", ["", "/"])
def test_what_names_no_file_is_told(acme: Workspace, command: str, name: str) -> None:
    with pytest.raises(CommandError, match="names no file"):
        call_command(command, name, "--workspace", acme.key)


def test_an_empty_segment_is_none_that_is_there(acme: Workspace, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no segment ''"):
        imported(acme, written(tmp_path / "people.csv", "external_id\nada\n"), "--segment", "")
    assert not Customer.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_failed_export_leaves_nothing_of_people_behind(acme: Workspace, ada: Customer, tmp_path: Path) -> None:
    (tmp_path / "all.csv").mkdir()
    with pytest.raises(CommandError, match="cannot be written"):
        exported(acme, tmp_path / "all.csv")
    assert [one.name for one in tmp_path.iterdir()] == ["all.csv"]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_who_goes_on_after_a_kill_writes_each_row_once(acme: Workspace, tmp_path: Path) -> None:
    lines = [f"p-{n},{n}" if n % 1_000 else f",{n}" for n in range(1, 40_001)]
    file = written(tmp_path / "people.csv", "\n".join(["external_id,n", *lines]))
    command = [sys.executable, "manage.py", "import_customers", str(file), "--workspace", acme.key]
    with subprocess.Popen(command, cwd=ROOT, env=environment(), stderr=subprocess.DEVNULL) as killed:
        wait_until(lambda: Import.objects.filter(rows__gt=0).exists(), what="the first rows")
        killed.kill()
    before = Import.objects.get()
    assert (before.rows < 40_000, before.finished_at) == (True, None)
    with pytest.raises(CommandError, match="40 rows failed"):
        imported(acme, file)
    done = Import.objects.get().counts
    assert (done["failed"], done["created"] + done["found"]) == (40, 39_960)
    assert {one[0]: one[4] for one in everybody(acme)} == {f"p-{n}": {"n": str(n)} for n in range(40_001) if n % 1_000}
    assert [int(row[0]) for row in errors_of(file)[1:]] == [n + 1 for n in range(1_000, 40_001, 1_000)]


@pytest.mark.django_db(transaction=True)
def test_an_autovacuum_holds_up_no_import(acme: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("customers.files.importing._MANY", 1)
    file = written(tmp_path / "people.csv", "external_id\nada\n")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE customers_customer IN SHARE UPDATE EXCLUSIVE MODE")
        assert "1 created" in elsewhere(lambda: imported(acme, file))


def test_rows_are_members_of_a_segment_as_well(acme: Workspace, tmp_path: Path) -> None:
    segment = SegmentFactory.create(workspace=acme)
    CustomerFactory.create(workspace=acme, external_id="ada")
    file = written(tmp_path / "vip.csv", "external_id\nada\nbob\n")
    for _ in range(2):
        imported(acme, file, "--segment", segment.key, "--again")
    members = SegmentMembership.objects.filter(segment=segment).values_list("customer__external_id", flat=True)
    assert sorted(map(str, members)) == ["ada", "bob"]
    with pytest.raises(CommandError, match="has no segment 'none'"):
        imported(acme, file, "--segment", "none")


@pytest.mark.parametrize("starts", [False, True])
def test_rows_are_events_which_start_nothing_unless_asked(acme: Workspace, tmp_path: Path, starts: bool) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="bought", steps=[])
    file = written(
        tmp_path / "events.csv",
        "external_id,eventName,occurredAt,total:number,coupon\n"
        "ada,bought,2026-11-20T19:08:00Z,12.5,\n"
        "eve,bought,,1,\n"
        "ada,,,1,\n"
        "ada,bought,yesterday,1,\n",
    )
    with pytest.raises(CommandError, match="3 rows failed"):
        imported(acme, file, "--events", *(["--start-journeys"] if starts else []))
    event = Event.objects.get()
    assert (event.name, event.properties, event.occurred_at.isoformat()) == (
        "bought", {"total": 12.5}, "2026-11-20T19:08:00+00:00"
    )  # fmt: skip
    assert EnrollmentJob.objects.count() == int(starts)
    with pytest.raises(CommandError, match="3 rows failed"):
        imported(acme, file, "--events", *(["--start-journeys"] if starts else []))
    assert Event.objects.count() == 1


# Exports --------------------------------------------------------------------------------------------------------------


VALUES: Sequence[Any] = [
    "pro", "", r"\N", " x ", "a\r\nb", 'say "hi", now', "=1+1", "é😀", "12", "true", 0, -1.5, 1e300, 2**60, True, False,
    [], {"a": [1, None]}, ["x"],
]  # fmt: skip


ATTRIBUTES = ("plan", "a:b", " c", "email", '"q')


@pytest.mark.django_db(transaction=True)
def test_an_export_is_exact(acme: Workspace, sdk: SdkClient, tmp_path: Path) -> None:
    chance = random.Random(1)
    for number in range(40):
        CustomerFactory.create(
            workspace=acme, external_id=f"u-{number}" if number % 3 else None, email=f"u{number}@example.com",
            attributes={name: chance.choice(VALUES) for name in ATTRIBUTES if chance.random() < 0.8}
            | {"n": number, "vip": True, "t": "text"},
        )  # fmt: skip
    click(sdk, user_id="stranger", actionType="track_event", actionData={"eventName": "seen"})
    before = everybody(acme, "updated_at")
    file = tmp_path / "all.csv"
    assert exported(acme, file) == "40 customers; 1 left out, of whom only in-app messages have said anything."
    assert file.stat().st_mode & 0o777 == 0o600
    assert ": 40 found." in imported(acme, file)
    assert everybody(acme, "updated_at") == before
    other = WorkspaceFactory.create(key="other")
    assert ": 40 created." in imported(other, file)
    assert everybody(other) == [one for one in everybody(acme) if not one[5]]


@pytest.mark.django_db(transaction=True)
def test_formulas_are_defused_for_spreadsheets(acme: Workspace, tmp_path: Path) -> None:
    CustomerFactory.create(workspace=acme, external_id="=1+1", phone="+491701234567", attributes={"n": -1, "@x": "-a"})
    exported(acme, tmp_path / "all.csv", "--for-spreadsheets")
    rows = list(csv.reader((tmp_path / "all.csv").read_text("utf-8-sig").splitlines()))
    assert rows == [
        ["external_id", "email", "phone", "userId", "'@x", "n:number"],
        ["'=1+1", "", "'+491701234567", "", "'-a", "-1"],
    ]
