"""`make release`: what it makes of a commit, and what it refuses to make one of."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from config import ROOT
from config.local.materials import bill_of_materials

UNDER_WAY = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[0]
VERSION = UNDER_WAY.partition(".dev")[0]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Of this commit, as its version, with a section of it in the changelog, where nothing else is called so."""
    there = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", "--no-tags", ROOT, there], check=True)
    log = there / "CHANGELOG.md"
    text = re.sub(rf"^## {re.escape(VERSION)} .*$", "## 0.0.9 (2026-01-01)", log.read_text(), flags=re.MULTILINE)
    log.write_text(text.replace("## Unreleased", f"## {VERSION} (2026-12-01)"))
    project = there / "pyproject.toml"
    project.write_text(project.read_text().replace(f'version = "{UNDER_WAY}"', f'version = "{VERSION}"', 1))
    git(there, "commit", "--quiet", "--all", "--allow-empty", "--message", "Release")
    return there


def git(there: Path, *arguments: str) -> str:
    named = ["-c", "user.name=Ada", "-c", "user.email=ada@engage.example"]
    return subprocess.run(
        ["git", *named, *arguments], cwd=there, check=True, capture_output=True, text=True
    ).stdout.strip()


def release(there: Path) -> subprocess.CompletedProcess[str]:
    named = {f"GIT_{who}_{what}": "ada@engage.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = os.environ | named | {"PYTHON": sys.executable}
    return subprocess.run([there / ".ci" / "release"], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.tools
def test_a_release_has_all_its_parts_and_a_tag(checkout: Path) -> None:
    made = release(checkout)
    assert made.returncode == 0, made.stdout + made.stderr
    dist, commit = checkout / "dist", git(checkout, "rev-parse", "HEAD")
    assert {file.name for file in dist.iterdir()} == {
        f"engage-{VERSION}-py3-none-any.whl", f"engage-{VERSION}.tar.gz", f"engage-{VERSION}.cdx.json",
        f"engage-{VERSION}-notes.md", "SHA256SUMS",
    }  # fmt: skip
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=dist, check=True)
    wheel = zipfile.ZipFile(dist / f"engage-{VERSION}-py3-none-any.whl")
    assert wheel.read("config/COMMIT").decode().strip() == commit
    assert [name for name in wheel.namelist() if "browser/tools" in name or "build" in name] == []
    described = wheel.read(f"engage-{VERSION}.dist-info/METADATA").decode()
    assert all(f"\n{name}: " in described for name in ("Classifier", "Project-URL", "License-Expression"))
    assert git(checkout, "rev-parse", f"v{VERSION}^{{commit}}") == commit
    assert "### Operators" in git(checkout, "tag", "--list", f"v{VERSION}", "--format=%(contents)")
    assert release(checkout).returncode == 0  # again, of the same commit
    git(checkout, "commit", "--quiet", "--allow-empty", "--message", "More")
    assert "is another commit" in release(checkout).stderr


@pytest.mark.tools
def test_none_is_made_of_a_version_that_is_under_way(checkout: Path) -> None:
    project = checkout / "pyproject.toml"
    project.write_text(project.read_text().replace(f'version = "{VERSION}"', f'version = "{VERSION}.dev1"', 1))
    git(checkout, "commit", "--quiet", "--all", "--message", "On")
    assert f"{VERSION}.dev1 is under way" in release(checkout).stderr
    assert not (checkout / "dist").exists()


@pytest.mark.tools
def test_none_is_made_of_what_is_not_committed_or_not_in_the_changelog(checkout: Path) -> None:
    log = checkout / "CHANGELOG.md"
    log.write_text(log.read_text().replace(f"## {VERSION} (", "## Unreleased ("))
    assert "not everything is committed" in release(checkout).stderr
    git(checkout, "commit", "--quiet", "--all", "--message", "Unreleased")
    assert "has no section" in release(checkout).stderr
    assert git(checkout, "tag") == ""
    assert not (checkout / "dist").exists()


def test_the_bill_of_materials_names_what_is_locked() -> None:
    lock = (ROOT / "requirements.txt").read_text()
    bill = bill_of_materials(lock, version="1.2.3", commit="c0ffee")
    assert bill == json.loads(json.dumps(bill_of_materials(lock, version="1.2.3", commit="c0ffee")))
    parts = {part["name"]: part for part in bill["components"]}
    assert len(parts) == len(re.findall(r"^\S+==", lock, re.MULTILINE)) > 40
    assert parts["django"]["licenses"] == [{"license": {"name": "BSD-3-Clause"}}]
    assert re.fullmatch(r"pkg:pypi/django@[\d.]+", parts["django"]["purl"])
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", "1.2.3")
