"""The SDK's files: as built, within their budgets, and served to pages of any origin; released ones stay."""

import gzip
import hashlib
import io
import json
import re
import tarfile
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from bridge.browser import building
from bridge.browser.building import BUDGETS, DOCUMENTED, SOURCE, build, with_package, write
from bridge.browser.files import FOLDER, MANIFEST, PACKAGE, content_of, manifest, script_tag, served
from tests.support.cases import each
from tests.support.clients import Answer
from tests.support.node import run
from tests.support.processes import ROOT

CURRENT = manifest()["current"]
RELEASED = [(version, name) for version, files in manifest()["released"].items() for name in files]


def get(name: str, **headers: str) -> Answer:
    return Answer.of(Client().get(f"/sdk/v1/{name}", headers={k.replace("_", "-"): v for k, v in headers.items()}))


@pytest.fixture(scope="session")
def made(sdk_tools: None) -> Mapping[str, bytes]:
    return build()


@pytest.mark.slow
def test_what_is_made_is_up_to_date(made: Mapping[str, bytes]) -> None:
    assert made == build(), "The same sources give other bytes."
    there = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    released = {manifest()["released"][version][name]["hashed"] for version, name in RELEASED}
    current = {name: content for name, content in there.items() if name.removesuffix(".br") not in released}
    assert current.keys() == made.keys(), "Run manage.py build_sdk."
    for name, content in made.items():
        assert current[name] == content, f"{name} is stale: run manage.py build_sdk."


@each("name", list(BUDGETS))
def test_each_file_is_within_its_budget(name: str) -> None:
    assert len(served()[name].contents["gzip"]) <= BUDGETS[name]


@each("name", list(CURRENT))
def test_a_file_is_served_for_an_hour_and_under_its_hash_for_ever(name: str) -> None:
    content = content_of(name)
    for called, kept in ((name, "public, max-age=3600"), (CURRENT[name]["hashed"], "immutable")):
        answer = get(called)
        assert (answer.status_code, answer.content) == (200, content)
        assert kept in answer["Cache-Control"]
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert answer["X-Content-Type-Options"] == "nosniff"
        again = get(called, If_None_Match=answer["ETag"])
        assert (again.status_code, again.content) == (304, b"")


def test_it_is_compressed_as_it_is_asked_for(sdk_tools: None) -> None:
    for asked, coding in {
        "gzip": "gzip", "gzip, deflate, br": "br", "GZIP;q=0.5, br;q=0.0": "gzip", "br;q=1": "br",
        "gzip;q=0": "", "identity": "", "xbr": "",
    }.items():  # fmt: skip
        answer = get("engage.js", Accept_Encoding=asked)
        assert answer.headers.get("Content-Encoding", "") == coding, asked
        assert UNPACK[coding](answer.content) == content_of("engage.js")
        assert answer["ETag"].endswith(f'{coding and f"-{coding}"}"')
        assert answer["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in get(PACKAGE, Accept_Encoding="gzip, br")  # it would arrive unpacked


def unbrotli(content: bytes) -> bytes:
    program = "process.stdout.write(require('zlib').brotliDecompressSync(require('fs').readFileSync(0)))"
    return run("node", "-e", program, given=content)


UNPACK: Mapping[str, Callable[[bytes], bytes]] = {"": bytes, "gzip": gzip.decompress, "br": unbrotli}


def test_what_is_not_served_is_not_found() -> None:
    assert [get(name).status_code for name in (MANIFEST, "engage.4a8f7742695eb7ef.global.js")] == [404, 404]
    assert Client().post("/sdk/v1/engage.js").status_code == 405


def test_the_tag_holds_the_file_to_its_hash() -> None:
    entry = CURRENT["engage.global.js"]
    tag = script_tag(host="https://engage.example")
    assert f'src="https://engage.example/sdk/v1/{entry["hashed"]}"' in tag
    assert f'integrity="{entry["integrity"]}"' in tag


@each("version, name", RELEASED)
def test_released_files_stay_under_their_hashes(version: str, name: str) -> None:
    entry = manifest()["released"][version][name]
    answer = get(entry["hashed"])
    assert answer.status_code == 200
    assert f"sha384-{b64encode(hashlib.sha384(answer.content).digest()).decode()}" == entry["integrity"]
    assert "immutable" in answer["Cache-Control"]


def test_each_version_of_the_changelog_is_kept() -> None:
    versions = re.findall(r"^## ([1-9]\d*\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert set(versions) <= manifest()["released"].keys(), "Run manage.py build_sdk --release."


@pytest.mark.slow
def test_a_release_keeps_its_files_and_is_made_once(
    made: Mapping[str, bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for path in FOLDER.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(building, "FOLDER", tmp_path)
    monkeypatch.setattr(building, "version", lambda: "1.1.0")
    write(build(release=True))
    released: dict[str, Any] = json.loads((tmp_path / MANIFEST).read_text())["released"]
    assert list(released) == ["1.0.0", "1.1.0"]
    monkeypatch.setattr(building, "version", lambda: "1.2.0")  # which the package names
    write(build())
    for files in released.values():
        assert all((tmp_path / entry["hashed"]).exists() for entry in files.values())
    monkeypatch.setattr(building, "version", lambda: "1.0.0")
    with pytest.raises(CommandError, match=r"1\.0\.0 was released with other files"):
        call_command("build_sdk", "--release")


def test_none_is_made_of_a_version_that_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "version", lambda: "1.2.0.dev3")
    assert building.package_version() == "1.2.0-dev.3"
    monkeypatch.setattr(building, "_minified", lambda name: b"")
    monkeypatch.setattr(building, "_run", lambda *_, **__: b"")
    with pytest.raises(CommandError, match=r"1\.2\.0\.dev3 is under way"):
        call_command("build_sdk", "--release")


# The package -------------------------------------------------------------------------------------------------------


def test_the_documented_line_installs_an_address_that_stays() -> None:
    text = DOCUMENTED.read_text()
    assert re.findall(r"^npm install \S+/sdk/v1/(\S+)$", text, re.MULTILINE) == [
        manifest()["current"][PACKAGE]["hashed"]
    ]
    assert with_package(text.replace(manifest()["current"][PACKAGE]["hashed"], f"engage.{'0' * 16}.tgz")) == text


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    with tarfile.open(fileobj=io.BytesIO(get(PACKAGE).content)) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "package"


def test_npm_packs_the_same_files(unpacked: Path, sdk_tools: None) -> None:
    listed = json.loads(run("npm", "pack", "--json", "--dry-run", cwd=unpacked))[0]
    assert {file["path"] for file in listed["files"]} == {path.name for path in unpacked.iterdir()}
    assert (listed["name"], listed["version"]) == ("@engage/sdk", building.package_version())


def test_every_module_has_types_and_an_entry(unpacked: Path) -> None:
    entries = json.loads((unpacked / "package.json").read_text())["exports"]
    named = {
        name.removeprefix("./") for entry in entries.values() if isinstance(entry, dict) for name in entry.values()
    }
    assert named == {path.name for path in unpacked.iterdir() if path.suffix in {".js", ".ts"}} - {"forms.js"}
    assert {path.name for path in SOURCE.iterdir()} - {"engage.global.js"} | {"LICENSE"} == {
        path.name for path in unpacked.iterdir()
    }
