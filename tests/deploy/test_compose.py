"""compose.yaml: as its specification says, and with the processes of the Procfile."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from config import ROOT
from config.local.processes import commands

PROCESSES = commands(ROOT / "Procfile")
TEXT = (ROOT / "compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SCHEMA = Path(__file__).parent / "compose_spec" / "schema.json"


def test_it_is_valid() -> None:
    known = {name: part for name, part in COMPOSE.items() if not name.startswith("x-")}
    jsonschema_rs.validate(json.loads(SCHEMA.read_text()), known)


def test_each_process_runs_in_the_image_as_the_procfile_says() -> None:
    ours = {name: service for name, service in SERVICES.items() if service["image"].startswith("engage:")}
    assert {name: service["command"] for name, service in ours.items() if name in PROCESSES} == PROCESSES
    assert {name: service["command"].split()[:2] for name, service in ours.items() if name not in PROCESSES} == {
        "migrate": ["python", "manage.py"], "prune": ["python", "manage.py"], "backup": ["deploy/backup", "/backups"],
    }  # fmt: skip
    for name, service in ours.items():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert (service.get("healthcheck") == {"disable": True}) == (name != "web"), name
        if name != "migrate":
            assert service["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}, name


def test_the_servers_are_the_versions_that_are_supported() -> None:
    assert (SERVICES["postgresql"]["image"], SERVICES["valkey"]["image"]) == ("postgres:17", "valkey/valkey:8")
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]


@pytest.mark.slow
def test_its_settings_are_those_that_are_written_by_make_env() -> None:
    lines = subprocess.run(
        [ROOT / "deploy" / "env", "engage.example"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()
    written = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert set(re.findall(r"\$\{(\w+):\?", TEXT)) <= written.keys()
    common = {name: re.sub(r"\$\{(\w+):[^}]*\}", lambda found: written[found[1]], value)
              for name, value in COMPOSE["x-engage"]["environment"].items()}  # fmt: skip
    environment = {"PATH": os.environ["PATH"], "ENVIRONMENT": "production", **written, **common}
    told = "from django.conf import settings as s; print(s.DATABASES['default']['HOST'], s.REDIS_URL.split('@')[1])"
    done = subprocess.run(
        [sys.executable, "-c", told], cwd=ROOT, env=environment | {"DJANGO_SETTINGS_MODULE": "config.settings"},
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["postgresql", "valkey/0"]
