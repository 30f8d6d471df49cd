"""A folder's overview names what is in its folder, and nothing that is gone; no function is longer than a screen."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from config import ROOT
from tests.support.cases import each

APPS = ("bridge", "config", "customers", "engage", "journeys")
WITHOUT = {"migrations", "management", "commands"}


def rooms() -> Iterator[Path]:
    for app in APPS:
        for overview in sorted((ROOT / app).rglob("__init__.py")):
            room = overview.parent.relative_to(ROOT)
            if not WITHOUT & set(room.parts):
                yield room


LONGEST = 40  # lines of a function, without its docstring
STILL_LONGER = {"put_definition"}


@each("room", [*rooms()])
def test_an_overview_names_all_that_is_in_its_folder(room: Path) -> None:
    folder = ROOT / room
    told = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    modules = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    folders = [f"{path.parent.name}/" for path in folder.glob("*/__init__.py") if path.parent.name not in WITHOUT]
    names = modules + folders
    untold = [name for name in names if not _is_told(folder / name, told)]
    assert len(names) < 2 or not untold, untold
    above = [ROOT / place for place in (room, *room.parents)]
    for name in re.findall(r"[\w/]*\w\.py\b", told):
        assert any((place / name).exists() for place in above) or any(folder.rglob(name)), f"{name} is not there"


def _is_told(path: Path, told: str) -> bool:
    """By its name; a kind of definition by what makes it one."""
    is_kind = (path / "resource.py").exists() and "resource.py" in told
    return is_kind or f"`{path.stem}`" in told or bool(re.search(rf"(?<![\w.]){re.escape(path.name)}", told))


def test_no_function_is_longer_than_a_screen() -> None:
    longer = {
        function.name
        for app in {*APPS} - {"config"}
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of(function) > LONGEST
    }
    assert longer == STILL_LONGER


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (ast.get_docstring(function, clean=False) or "").count("\n") + bool(ast.get_docstring(function))
    return (function.end_lineno or function.lineno) - function.lineno + 1 - lines
