"""`GET /api/v1/docs`: the page that shows the document, also where there is no internet."""

import re
from base64 import b64encode
from hashlib import sha384
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from django.core.management import call_command
from django.test import Client

from tests.support.clients import Answer

PAGE = "/api/v1/docs"


def get(path: str) -> Answer:
    return Answer.of(Client().get(path))


def addresses_in(page: str) -> list[str]:
    """What the page loads and where it leads."""
    return re.findall(r"(?:src|href)=\"([^\"]*)\"", page)


def test_it_is_a_page_that_needs_no_key() -> None:
    answer = get(PAGE)
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/html; charset=utf-8")


def test_no_address_of_another_host_stands_in_it() -> None:
    page = get(PAGE).content.decode()
    hashless = re.sub(r"sha384-[\w+/]+", "", page)  # which may have two slashes, by chance
    assert "//" not in hashless.replace("http://testserver/", "/")
    assert len(addresses_in(page)) == 8


def test_it_begins_with_a_quick_start_in_three_languages() -> None:
    page = get(PAGE).content.decode()
    assert re.findall("<h2>(.*?)</h2>", page)[:3] == ["curl", "Python", "Node"]
    assert page.index("Quick start") < page.index('id="documentation"')


def test_it_prints_the_tag_that_holds_the_sdk_to_its_hash() -> None:
    page = unescape(get(PAGE).content.decode())
    (address,) = re.findall(r'<script src="http://testserver(/sdk/v1/[^"]+)"', page)
    digest = b64encode(sha384(get(address).content).digest()).decode()
    assert f'integrity="sha384-{digest}" crossorigin' in page


def test_it_prints_where_npm_installs_this_very_version() -> None:
    (address,) = re.findall(r"npm install http://testserver(/sdk/v1/\S+\.tgz)<", get(PAGE).content.decode())
    assert get(address).content == get("/sdk/v1/engage.tgz").content


def test_the_browser_is_told_to_load_nothing_from_elsewhere() -> None:
    assert get(PAGE)["Content-Security-Policy"].startswith("default-src 'self'; img-src 'self' data:; ")


def test_all_that_it_loads_is_served_here() -> None:
    for address in addresses_in(get(PAGE).content.decode()):
        if not address.startswith("data:"):
            assert get(urljoin(PAGE, address)).status_code == 200, address


def test_its_script_reads_the_document_and_asks_nobody_whether_it_is_valid() -> None:
    script = get("/static/config/documentation.js").content.decode()
    assert urljoin(PAGE, *re.findall(r"url: \"([^\"]*)\"", script)) == "/api/v1/schema"
    assert "validatorUrl: null" in script


def test_another_method_is_refused_in_json() -> None:
    answer = Answer.of(Client(enforce_csrf_checks=True).post(PAGE, headers={"Accept": "text/html"}))
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.slow
def test_in_production_it_names_the_collected_files(settings: Any, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {"staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}}
    call_command("collectstatic", ignore=["admin", "unfold", "redoc", "engage"], interactive=False, verbosity=0)
    files = [address for address in addresses_in(get(PAGE).content.decode()) if address.startswith("/static/")]
    assert len(files) == 4
    for address in files:
        assert re.search(r"\.[0-9a-f]{12}\.(js|css)$", address)
        assert (tmp_path / address.removeprefix("/static/")).exists()
