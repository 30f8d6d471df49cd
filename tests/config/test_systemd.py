"""The units of systemd run what the Procfile says."""

import re

from config import ROOT
from config.local.processes import commands
from tests.support.cases import each

UNITS = ROOT / "docs" / "systemd"
PROCESSES = commands(ROOT / "Procfile")


def test_each_process_has_its_unit() -> None:
    assert {unit.name for unit in UNITS.iterdir()} == {
        "engage.target",
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
