"""Clients that openapi-generator makes in other languages are compiled and run. `make clients` runs them."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
_GENERATED = (
    "package javax.annotation; public @interface Generated { String[] value(); String date(); String comments(); }"
)
_TSC = ("tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck")


def _jar() -> Path:
    found = find_spec("openapi_generator_cli")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name("openapi-generator.jar")


def _go(folder: Path) -> list[str | Path]:
    (folder / "client/calls").mkdir()
    shutil.copy(CALLS / "calls.go", folder / "client/calls")
    run("go", "build", "-o", folder / "calls", "./calls", cwd=folder / "client")
    return [folder / "calls"]


def _java(folder: Path) -> list[str | Path]:
    """The generator's own jar holds the JSON library that its clients need; only an annotation is missing."""
    annotation = folder / "javax/annotation/Generated.java"
    annotation.parent.mkdir(parents=True)
    annotation.write_text(_GENERATED)
    sources = [annotation, CALLS / "Calls.java", *(folder / "client/src/main").rglob("*.java")]
    run("javac", "-nowarn", "-proc:none", "-d", "classes", "-cp", _jar(), *sources, cwd=folder)
    return ["java", "-cp", f"classes{os.pathsep}{_jar()}", "Calls"]


def _php(folder: Path) -> list[str | Path]:
    shutil.copy(CALLS / "calls.php", folder)
    return ["php", "calls.php"]


def _python(folder: Path) -> list[str | Path]:
    return ["env", f"PYTHONPATH={folder / 'client'}", "python", CALLS / "calls.py"]


def _ruby(folder: Path) -> list[str | Path]:
    return ["ruby", "-I", folder / "client/lib", CALLS / "calls.rb"]


def _typescript(program: str, folder: Path) -> list[str | Path]:
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").symlink_to(CALLS.parent / "node_modules")
    shutil.copy(CALLS / program, folder)
    run(*_TSC, program, cwd=folder)
    return ["node", Path(program).with_suffix(".js")]


def _tells(*command: str) -> bool:
    return (
        shutil.which(command[0]) is not None
        and subprocess.run(command, check=False, capture_output=True).returncode == 0
    )


@dataclass(frozen=True, kw_only=True)
class Language:
    """How its client is generated, and made into a program; and whether what that needs is on the machine."""

    prepare: Callable[[Path], list[str | Path]]
    is_there: Callable[[], bool] = lambda: True
    options: tuple[str, ...] = ()


_MODULES = ("--additional-properties=importFileExtension=.js",)
LANGUAGES: dict[str, Language] = {
    "go": Language(prepare=_go, is_there=lambda: _tells("go", "version")),
    "java": Language(
        prepare=_java,
        is_there=lambda: _tells("javac", "-version"),
        options=("--library", "native", "--additional-properties=openApiNullable=false"),
    ),
    "php": Language(prepare=_php, is_there=lambda: _tells("php", "--version") and _GUZZLE.exists()),
    "python": Language(prepare=_python),
    "ruby": Language(prepare=_ruby, is_there=lambda: _tells("ruby", "-e", "require 'typhoeus'")),
    "typescript-fetch": Language(prepare=partial(_typescript, "calls.fetch.ts"), options=_MODULES),
    "typescript-axios": Language(prepare=partial(_typescript, "calls.axios.ts"), options=_MODULES),
}


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_client_triggers_looks_up_reports_and_is_refused(
    document: Path, acme: Workspace, rival: Workspace, tmp_path: Path, name: str
) -> None:
    language = LANGUAGES[name]
    if not _tells("java", "-version") or not language.is_there():
        pytest.skip(f"What {name} needs is missing.")
    for external_id in ("ada", "bob"):
        CustomerFactory.create(workspace=acme, external_id=external_id)
    no_tests = "--global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"
    made: tuple[str | Path, ...] = ("generate", "-i", document, "-g", name, "-o", "client", no_tests, *language.options)
    run("java", "-XX:TieredStopAtLevel=1", "-jar", _jar(), *made, cwd=tmp_path)
    command = language.prepare(tmp_path)
    assert refusals(*command, world=world_of(acme, rival), folder=tmp_path) == {"customer_not_found": 404}
