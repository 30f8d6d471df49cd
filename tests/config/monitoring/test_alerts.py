"""The rules for Prometheus and the boards for Grafana use metrics that are there, and each alert says what to do."""

import json
import re
import shutil
import subprocess
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from config import ROOT
from config.monitoring import presence, standing
from engage.models import Membership, Workspace
from journeys.engine.operations.alerts import FAILING_HOLDS, FAILING_SHARE
from tests.support.cases import each
from tests.support.factories import JourneyFactory

pytestmark = pytest.mark.django_db
FOLDER = ROOT / "monitoring"
BOARDS = sorted((FOLDER / "boards").glob("*.json"))
RULES = (FOLDER / "rules.yml").read_text()
_METRIC = re.compile(r"\b(?:engage|node)_[a-z0-9_]+")
_OF_NODE_EXPORTER = {"node_filesystem_avail_bytes", "node_filesystem_size_bytes"}


def known() -> set[str]:
    """Every name that a query may use."""
    names = set(_OF_NODE_EXPORTER)
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", Client().get("/metrics").content.decode(), re.MULTILINE):
        names |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return names


def test_rules_and_boards_use_metrics_that_are_there() -> None:
    there = known()
    expressions = re.findall(r"^ +expr: (.*)$", RULES, re.MULTILINE)
    for board in map(json.loads, (path.read_text() for path in BOARDS)):
        queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        expressions += queries + [variable["query"] for variable in board["templating"]["list"]]
        assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    used = {name for expression in expressions for name in _METRIC.findall(expression)}
    assert used - there == set()
    unseen = {name.removesuffix("_sum").removesuffix("_bucket").removesuffix("_count") for name in there - used}
    assert {name for name in unseen if not any(one.startswith(name) for one in used)} == set()


def test_each_alert_has_its_place_in_the_docs_and_is_tried() -> None:
    alerts = re.findall(r"^ +- alert: (\w+)$", RULES, re.MULTILINE)
    assert len(set(alerts)) == len(alerts)
    page = (ROOT / "docs" / "alerts.md").read_text()
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == alerts
    runbooks = [f"docs/alerts.md#{alert.lower()}" for alert in alerts]
    assert re.findall(r"^ +runbook: (\S+)$", RULES, re.MULTILINE) == runbooks
    tried = set(re.findall(r'alertname="(\w+)"', (FOLDER / "rules_test.yml").read_text()))
    assert tried == set(alerts)


def test_the_page_health_has_the_rules_of_one_moment_with_the_same_thresholds() -> None:
    found = re.findall(r"- alert: (\w+)\n(?: +#.*\n)? +expr: (.*)\n(?: +for: (\d+)m\n)?", RULES)
    rules = {alert: expression for alert, expression, _ in found}
    holds = {alert: 60 * int(minutes or 0) for alert, _, minutes in found}
    assert f"> {FAILING_SHARE} *" in rules["EngageWebhooksFail"]
    assert holds["EngageWebhooksFail"] == FAILING_HOLDS
    for rule in standing.RULES:
        assert rule.holds == holds[rule.alert]
        labels = "".join(f'{{{name}="{value}"}}' for name, value in rule.labels.items())
        assert f"({rule.metric}{labels}) {rule.when}" in rules[rule.alert], rule.alert


def test_the_page_says_what_is_wrong_first_and_only_to_who_sees_all(acme: Workspace, settings: Any) -> None:
    JourneyFactory.create(workspace=acme, held_at=timezone.now(), held_by="guard")
    presence.say(presence.PROCESSES)
    client = Client()
    assert client.get("/admin/health/").status_code == 302
    client.force_login(User.objects.create_superuser("root"))
    page = client.get("/admin/health/").content.decode()
    said = [
        " ".join(re.sub("<.*?>", "", one).split()) for one in re.findall(r"<li class=\"mb-2.*?</li>", page, re.DOTALL)
    ]
    assert said[0] == "Journeys that their guards hold: 1. EngageJourneyHeldByGuard"
    assert said[1:] == [rule.fine for rule in standing.RULES if rule.alert != "EngageJourneyHeldByGuard"]
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    page = client.get("/admin/health/").content.decode()
    assert "Redis is away or takes no writes." in page
    assert "Unknown, as a server does not answer: engage_process_seen_seconds." in page
    member = User.objects.create_user("ada", is_staff=True)
    client.force_login(member)
    assert client.get("/admin/health/").status_code == 403  # without any permission
    Membership.objects.create(user=member, workspace=acme, role="admin")
    assert client.get("/admin/health/").status_code == 403  # with one workspace's


@pytest.mark.slow
@each("arguments", [["check", "rules", "rules.yml"], ["test", "rules", "rules_test.yml"]])
def test_promtool_takes_the_rules(arguments: list[str]) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian's package prometheus)")
    told = subprocess.run(["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
