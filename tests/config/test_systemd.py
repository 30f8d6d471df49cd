"""The units of systemd run what the Procfile says."""

import re
import shutil
import subprocess

import pytest

from config import ROOT
from config.local.processes import commands
from tests.support.cases import each

UNITS = ROOT / "docs" / "systemd"
PROCESSES = commands(ROOT / "Procfile")


def test_each_process_has_its_unit() -> None:
    assert {unit.name for unit in UNITS.iterdir()} == {
        "engage.target",
        "engage-prune.service",
        "engage-prune.timer",
        *(f"engage-{name}.service" for name in PROCESSES),
    }


@each("name", PROCESSES)
def test_a_unit_starts_its_process_with_the_same_defaults(name: str) -> None:
    text = (UNITS / f"engage-{name}.service").read_text()
    started = re.search(r"^ExecStart=/opt/engage/.venv/bin/(.*)$", text, re.MULTILINE)
    assert started
    defaults = dict(re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE))
    command = re.sub(r"\$\{(\w+)\}", lambda found: f"${{{found[1]}:-{defaults.pop(found[1])}}}", started[1])
    assert (command.replace("%%", "%"), defaults) == (PROCESSES[name], {})


@each("name", PROCESSES)
def test_it_is_started_again_however_often_it_ends(name: str) -> None:
    lines = (UNITS / f"engage-{name}.service").read_text().splitlines()
    assert {"Restart=always", "StartLimitIntervalSec=0", "KillMode=mixed", "PartOf=engage.target"} <= set(lines)
    # What does not hold is said before the first call, in the words of the check.
    start = [line for line in lines if line.startswith("ExecStart")]
    assert start[0] == "ExecStartPre=/opt/engage/.venv/bin/python manage.py check"


def test_they_may_do_little_and_alike() -> None:
    """What a unit may do: `systemd-analyze security` gives it less than 4 of 10, where that is installed."""
    units = sorted(UNITS.glob("*.service"))
    assert len({unit.read_text().partition("NoNewPrivileges=")[2].partition("\n\n")[0].strip() for unit in units}) == 1
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    asked = ["systemd-analyze", "security", "--offline=true", "--threshold=39", *map(str, units)]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


def test_systemd_has_nothing_to_say_against_them() -> None:
    """But that their programs are not installed here."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    asked = ["systemd-analyze", "verify", "--man=no", *map(str, sorted(UNITS.iterdir()))]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert not [
        line
        for line in (told.stdout + told.stderr).splitlines()
        if "engage" in line and "is not executable" not in line
    ]
    when = re.findall(r"^OnCalendar=(.*)$", (UNITS / "engage-prune.timer").read_text(), re.MULTILINE)
    subprocess.run(["systemd-analyze", "calendar", *when], capture_output=True, check=True)


def test_pruning_has_a_timer_and_takes_the_settings_of_all() -> None:
    lines = (UNITS / "engage-prune.service").read_text().splitlines()
    assert {"Type=oneshot", "EnvironmentFile=/etc/engage.env", "User=engage"} <= set(lines)
    assert "ExecStart=/opt/engage/.venv/bin/python manage.py prune" in lines
    assert "OnCalendar=" in (UNITS / "engage-prune.timer").read_text()


def test_an_upgrade_replaces_each_of_them() -> None:
    """By the lines of the docs, which wait for what a process says once it serves."""
    upgrade = (ROOT / "docs" / "operations.md").read_text().partition("\n## Upgrading\n")[2].partition("\n## ")[0]
    names = re.findall(r"^for name in (.*); do$", upgrade, re.MULTILINE)
    assert [set(line.split()) for line in names] == [set(PROCESSES)]
    assert (UNITS / "engage-scheduler.service").read_text().count("Engage: ticks") == 1
