"""The SDK's files: as built, within their budgets, and served to pages of any origin."""

import gzip

import pytest
from django.test import Client

from bridge.browser.files import BUDGETS, FOLDER, build, manifest, script_tag, served
from tests.support.clients import Answer


def test_what_is_made_is_up_to_date() -> None:
    for name, text in build().items():
        assert (FOLDER / name).read_text() == text, f"{name} is stale: run manage.py build_sdk."


@pytest.mark.parametrize("name", list(BUDGETS))
def test_each_file_is_within_its_budget(name: str) -> None:
    assert len(served()[name].compressed) <= BUDGETS[name]


def test_comments_on_lines_of_their_own_and_nothing_else_are_left_out() -> None:
    lines = (FOLDER / "engage.js").read_text().splitlines(keepends=True)
    code = [line for line in lines if not line.strip().startswith("/*")]
    assert served()["engage.js"].content.decode() == "".join(code) != "".join(lines)


@pytest.mark.parametrize("name", ["engage.js", "engage.global.js", "frame.js", "engage.d.ts"])
def test_a_file_is_served_for_an_hour_and_under_its_hash_for_ever(name: str) -> None:
    content = served()[name].content
    for called, kept in ((name, "public, max-age=3600"), (manifest()[name]["hashed"], "immutable")):
        answer = Answer.of(Client().get(f"/sdk/v1/{called}"))
        assert (answer.status_code, answer.content) == (200, content)
        assert kept in answer["Cache-Control"]
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert answer["X-Content-Type-Options"] == "nosniff"
        again = Client().get(f"/sdk/v1/{called}", headers={"If-None-Match": answer["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        packed = Client().get(f"/sdk/v1/{called}", headers={"Accept-Encoding": "gzip"})
        assert gzip.decompress(packed.content) == content
        assert packed["ETag"] != answer["ETag"]


def test_what_is_not_served_is_not_found() -> None:
    assert Client().get("/sdk/v1/manifest.json").status_code == 404
    assert Client().post("/sdk/v1/engage.js").status_code == 405


def test_the_tag_holds_the_file_to_its_hash() -> None:
    entry = manifest()["engage.global.js"]
    tag = script_tag(host="https://engage.example")
    assert f'src="https://engage.example/sdk/v1/{entry["hashed"]}"' in tag
    assert f'integrity="{served()[entry["hashed"]].integrity}"' in tag
