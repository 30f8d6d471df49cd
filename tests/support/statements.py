"""Every statement of our own, whole, as the files in tests/statements/ have them: `python -m tests.support.statements`
writes these anew. A review sees SQL by that, and not the parts that it is put together from.
"""

import ast
import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import getsource
from itertools import groupby
from pathlib import Path
from pkgutil import walk_packages
from textwrap import dedent
from types import ModuleType
from typing import Any

import django

from engage.database.fragment import Template

FOLDER = Path(__file__).parent.parent / "statements"
_APPS = ("engage", "customers", "journeys", "bridge", "config")


def statements() -> Mapping[Path, str]:
    """What each file should be, by its path below FOLDER: one for the modules of a package."""
    each = sorted(_statements(), key=lambda one: (_file(one[0]), *one))
    files = groupby(each, key=lambda one: _file(one[0]))
    return {
        path: "\n\n".join(f"-- {module}: {name}\n{text}" for module, name, text in found) + "\n"
        for path, found in files
    }


def _file(module: str) -> Path:
    return Path(*module.split(".")[:-1]).with_suffix(".sql")


def _statements() -> Iterator[tuple[str, str, str]]:
    """Module, name and text of each that a module defines, also in a dictionary of its own."""
    for app in _APPS:
        for info in walk_packages(import_module(app).__path__, f"{app}."):
            if ".migrations" in info.name or info.name.endswith("__main__"):
                continue
            module = import_module(info.name)
            for name in _assigned(module):
                for key, value in _templates(vars(module).get(name)):
                    yield info.name, f"{name}{key}", dedent(value.text).strip()


def _assigned(module: ModuleType) -> list[str]:
    source = getsource(module) if module.__file__ and Path(module.__file__).stat().st_size else ""
    return [name for node in ast.parse(source).body for name in _targets(node)]


def _targets(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


def _templates(value: Any) -> Iterator[tuple[str, Template]]:
    if isinstance(value, Template):
        yield "", value
    elif isinstance(value, dict):
        yield from ((f"[{key!r}]", one) for key, one in value.items() if isinstance(one, Template))


def write() -> None:
    for path in FOLDER.rglob("*.sql"):
        path.unlink()
    for path, text in statements().items():
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_text(text)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    write()
