"""Clients that openapi-generator makes in other languages are compiled and run. `make clients` runs them."""

import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from engage.models import Workspace
from tests.generated_clients.programs import run
from tests.generated_clients.sessions import refusals, world_of
from tests.support.factories import CustomerFactory

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not os.environ.get("CLIENTS"), reason="`make clients` runs it: it takes minutes."),
]
CALLS = Path(__file__).parent / "calls"
_GUZZLE = Path("/usr/share/php/GuzzleHttp/autoload.php")  # Debian's php-guzzlehttp-guzzle


def _jar() -> Path:
    found = find_spec("openapi_generator_cli")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name("openapi-generator.jar")


def _php(folder: Path) -> list[str | Path]:
    shutil.copy(CALLS / "calls.php", folder)
    return ["php", "calls.php"]


def _python(folder: Path) -> list[str | Path]:
    return ["env", f"PYTHONPATH={folder / 'client'}", "python", CALLS / "calls.py"]


MISSING = {"java": shutil.which("java") is None, "php": shutil.which("php") is None or not _GUZZLE.exists()}
LANGUAGES: dict[str, tuple[str, Callable[[Path], list[str | Path]]]] = {
    "php": ("php", _php),
    "python": ("java", _python),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_client_triggers_looks_up_reports_and_is_refused(
    document: Path, acme: Workspace, rival: Workspace, tmp_path: Path, language: str
) -> None:
    tool, prepare = LANGUAGES[language]
    if MISSING[tool] or MISSING["java"]:
        pytest.skip(f"What {tool} or the generator needs is missing.")
    for name in ("ada", "bob"):
        CustomerFactory.create(workspace=acme, external_id=name)
    no_tests = "--global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"
    made = ("generate", "-i", document, "-g", language, "-o", "client", no_tests)
    run("java", "-XX:TieredStopAtLevel=1", "-jar", _jar(), *made, cwd=tmp_path)
    command = prepare(tmp_path)
    assert refusals(*command, world=world_of(acme, rival), folder=tmp_path) == {"customer_not_found": 404}
