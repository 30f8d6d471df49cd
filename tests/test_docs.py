"""What the docs show can be used, and their links lead somewhere."""

import json
import re
from pathlib import Path

import pytest
from django.utils import timezone

from config import ROOT
from journeys.seeding.seed import read_seed, seed_workspace
from tests.support.cases import each

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
