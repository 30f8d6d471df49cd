"""An enrollment's row is written in one place: what changes it on its way, and what gives it to another beside."""

import re
from pathlib import Path

from config import ROOT

WRITES = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM)\s+journeys_enrollment\b")
ORM_WRITES = re.compile(r"\bEnrollment\.objects\b.*\.(create|bulk_create|update|delete|get_or_create)\(")


def test_only_three_modules_write_enrollments() -> None:
    """Pruning and erasing delete rows by the names of tables, and write none."""
    sources = [path for app in ("config", "engage", "customers", "journeys", "bridge") for path in _sources(ROOT / app)]
    writers = {
        str(path.relative_to(ROOT))
        for path in sources
        if WRITES.search(text := path.read_text()) or ORM_WRITES.search(text)
    }
    assert writers == {f"journeys/engine/enrollments/{name}.py" for name in ("transitions", "postponing", "transfers")}


def _sources(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.py") if "migrations" not in path.parts]
