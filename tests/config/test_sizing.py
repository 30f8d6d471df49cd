"""`manage.py sizing`: sums that can be followed by hand, what is said, and what is refused."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from config.sizing import figures
from config.sizing.figures import FILE, LOGGED, ROWS, WORK, Figures, FiguresUnusable, read_figures
from config.sizing.needs import Volumes, cores, needs, size, told

ROUND = Figures(
    version="1.2.3",
    machine="2 cores",
    date="2026-01-01",
    bytes={"customer": 400.0, "trigger": 300.0, "job": 500.0, "enrollment": 900.0, "step": 200.0, "webhook": 700.0,
           "event": 600.0},
    wal_bytes={"trigger": 3000.0, "decision": 0.0, "step": 1000.0, "webhook": 2000.0, "event": 500.0,
               "customer of a large call": 9.0},
    microseconds={
        "trigger": {"web": 400.0, "postgresql": 200.0},
        "decision": {"worker": 600.0, "postgresql": 300.0},
        "step": {"walk": 100.0, "postgresql": 100.0},
        "webhook": {"walk": 500.0, "webhooks": 500.0, "postgresql": 400.0},
        "event": {"web": 300.0, "postgresql": 100.0},
        "customer of a large call": {"bulk": 30.0, "postgresql": 30.0},
    },
    per_second={"1": {"triggers": 1000.0}},
)  # fmt: skip
VOLUMES = Volumes(customers=1_000_000, triggers=100_000, steps=5, webhooks=2, events=50_000, days_kept=10)


def said(*arguments: str) -> str:
    output = StringIO()
    call_command("sizing", *arguments, stdout=output)
    return output.getvalue()


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of round figures that the command reads."""
    file = tmp_path / "figures.json"
    file.write_text(json.dumps({name: getattr(ROUND, name) for name in Figures.__dataclass_fields__}))
    monkeypatch.setattr(figures, "FILE", file)
    return file


def test_disk_is_what_a_row_takes_times_the_rows_of_the_days_that_are_kept() -> None:
    assert needs(VOLUMES, ROUND).disk == {
        "customer": 400_000_000,
        "trigger": 300 * 1_000_000,
        "job": 500 * 1_000_000,
        "enrollment": 900 * 1_000_000,
        "step": 200 * 5_000_000,
        "webhook": 700 * 2_000_000,
        "event": 600 * 500_000,
    }


def test_the_log_is_of_a_day_and_completed_enrollments_stay() -> None:
    need = needs(VOLUMES, ROUND)
    assert need.wal_per_day == 100_000 * 3000 + 500_000 * 1000 + 200_000 * 2000 + 50_000 * 500
    assert need.stays_per_year == 900 * 100_000 * 365


def test_processor_time_is_of_the_processes_and_of_postgresql() -> None:
    need = needs(VOLUMES, ROUND)
    assert need.processes_seconds == pytest.approx(40 + 60 + 50 + 200 + 15)
    assert need.postgresql_seconds == pytest.approx(20 + 30 + 50 + 80 + 5)


def test_cores_are_half_busy_in_an_hour_that_has_a_fifth_of_the_day() -> None:
    assert [cores(seconds) for seconds in (0, 9_000, 9_001, 90_000)] == [1, 1, 2, 10]


def test_sets_of_processes_bear_half_of_what_one_has_borne() -> None:
    at_most = 9_000_000  # 500 a second in the busiest hour
    assert needs(replace(VOLUMES, triggers=at_most), ROUND).sets == 1
    assert needs(replace(VOLUMES, triggers=at_most + 1), ROUND).sets == 2
    assert needs(replace(VOLUMES, triggers=0), ROUND).sets == 1


def test_sizes_are_in_units_that_disks_are_sold_in() -> None:
    assert [size(number) for number in (0, 999, 1000, 1_500_000, 2.5e9, 3e12, 4e15)] == [
        "0 bytes", "999 bytes", "1.0 kB", "1.5 MB", "2.5 GB", "3.0 TB", "4,000.0 TB",
    ]  # fmt: skip


def test_the_outcome_is_told_in_words() -> None:
    lines = list(told(VOLUMES, ROUND))
    assert lines[0] == (
        "1,000,000 customers and 100,000 triggers a day, each with 5 steps and 2 webhooks; 50,000 events of the bridge "
        "a day; all kept for 10 days:"
    )
    assert "Disk        4.8 GB of tables and indexes" in lines
    assert "               1.4 GB  webhook: 2,000,000 of 700 bytes" in lines
    assert "Processors  processes: 365 s a day, 73 s in the busiest hour: 1 core" in lines
    assert lines[-1] == "Measured with version 1.2.3 on 2026-01-01: 2 cores."


@pytest.mark.usefixtures("written")
def test_the_command_reads_the_figures_and_numbers_with_commas() -> None:
    asked = ("--customers", "1,000,000", "--per-day", "100_000", "--steps", "5", "--webhooks", "2", "--events", "50000")
    assert said(*asked, "--days-kept", "10").splitlines() == list(told(VOLUMES, ROUND))


@pytest.mark.usefixtures("written")
def test_what_is_not_said_is_three_steps_a_webhook_and_the_days_of_the_setting() -> None:
    first = said("--customers", "1", "--per-day", "1").splitlines()[0]
    assert first == (
        "1 customer and 1 trigger a day, each with 3 steps and 1 webhook; 0 events of the bridge a day; all kept for "
        "90 days:"
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--customers", "many", "--per-day", "1"], "argument --customers: 'many' is no whole number."),
        (["--customers", "1.5", "--per-day", "1"], "argument --customers: '1.5' is no whole number."),
        (["--customers", "1", "--per-day=-1"], "argument --per-day: -1 is not between 0 and 1,000,000,000,000."),
        (["--customers", "1", "--per-day", "9" * 13], "argument --per-day: 9999999999999 is not between 0 and"),
        (["--customers", "1"], "the following arguments are required: --per-day"),
    ],
)
def test_bad_numbers_are_refused_by_name(arguments: list[str], why: str) -> None:
    with pytest.raises(CommandError) as refused:
        said(*arguments)
    assert why in str(refused.value)


def without(file: Path, *path: str) -> None:
    content: dict[str, Any] = json.loads(file.read_text())
    inner = content
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    file.write_text(json.dumps(content))


@pytest.mark.parametrize("path", [("version",), ("bytes", "step"), ("microseconds", "event"), ("wal_bytes", "trigger"),
                                  ("microseconds", "step", "postgresql"), ("per_second", "1")])  # fmt: skip
def test_a_file_that_lacks_a_figure_says_which_and_what_writes_it(written: Path, path: tuple[str, ...]) -> None:
    without(written, *path)
    with pytest.raises(CommandError, match=rf"figures.json cannot be used .*{path[-1]}.*make sizing ARGS=--write"):
        said("--customers", "1", "--per-day", "1")


def test_a_file_that_is_not_there_or_no_json_is_told(written: Path) -> None:
    written.write_text("{")
    with pytest.raises(FiguresUnusable, match="JSONDecodeError"):
        read_figures(written)
    written.unlink()
    with pytest.raises(FiguresUnusable, match="FileNotFoundError"):
        read_figures(written)


def test_the_file_that_comes_with_the_service_has_all_that_is_read() -> None:
    known = read_figures()
    assert set(known.bytes) == set(ROWS)
    assert set(known.wal_bytes) >= set(LOGGED)
    assert all(known.processes_us(work) > 0 and known.postgresql_us(work) > 0 for work in WORK)
    assert all(taken > 0 for taken in known.bytes.values())
    assert known.per_second["1"]["triggers"] > 0
    assert FILE.is_file()
