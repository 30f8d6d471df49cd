"""What the docs show can be used, and their links lead somewhere."""

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
from django.utils import timezone

from config import ROOT
from engage.models import Workspace
from journeys.seeding.seed import read_seed, seed_workspace
from tests.support.cases import each
from tests.support.factories import ApiKeyFactory
from tests.support.processes import environment
from tests.support.web_server import web_server

PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").glob("*.md"))]
SEED_FILES = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```json\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))
    if '"workspace"' in block
]


@pytest.mark.django_db
@pytest.mark.parametrize("block", SEED_FILES)
def test_a_seed_file_that_is_shown_can_be_seeded_without_a_warning(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r'"env": "(\w+)"', block):
        monkeypatch.setenv(name, "hush")
    seeded = seed_workspace(seed=read_seed(json.loads(block)), crowd_size=0, renew_keys=False, now=timezone.now())
    assert seeded.warnings == []


@each("page", PAGES)
def test_links_lead_to_files_and_headings_that_are_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text().replace("\n", " "))
    inside = [link.partition("#") for link in links if "://" not in link]
    targets = [(link, (page.parent / link) if link else page, anchor) for link, _, anchor in inside]
    assert [link for link, file, _ in targets if not file.exists()] == []
    assert [anchor for _, file, anchor in targets if anchor and anchor not in headings(file)] == []


def headings(page: Path) -> set[str]:
    written = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in written}


PASTED = ["docs/integrating.md", "docs/definitions.md"]
# Each command that fails ends it, told with its line; so does each answer that is no 2xx.
STRICT = 'set -eE -o pipefail; trap \'echo "$BASH_COMMAND" >&2\' ERR\ncurl() { command curl --fail-with-body "$@"; }\n'


@pytest.mark.slow
@pytest.mark.mostly_waits
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not (which("curl") and which("jq")), reason="curl and jq are not there")
def test_the_pages_for_servers_can_be_pasted_from_first_to_last(acme: Workspace, tmp_path: Path) -> None:
    blocks = [
        block
        for page in PASTED
        for block in re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    ]
    everywhere = "".join((ROOT / page).read_text() for page in PASTED)
    assert not re.findall(r"^```\n(?:\$ )?(?:curl|for) ", everywhere, re.MULTILINE), "sh"
    (tmp_path / "manage.py").symlink_to(ROOT / "manage.py")
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    with web_server(tmp_path) as web:
        key = vars(ApiKeyFactory.create(workspace=acme))["secret"]
        known = {"BASE": f"http://127.0.0.1:{web.port}/api/v1", "KEY": key}
        done = subprocess.run(
            ["bash", "-c", STRICT + "".join(blocks)], cwd=tmp_path, env={**environment(), **known}, text=True,
            capture_output=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.count('"success":true') >= sum(block.count("curl -sS") for block in blocks) - 2
    assert '"message":"Created."' in done.stdout
    assert "stay as they are" in done.stdout
