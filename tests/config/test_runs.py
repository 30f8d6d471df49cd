"""The suite itself: its runs on slow machines, and on those where something is missing; and its modules."""

import inspect
import os
import re
import subprocess
import sys

import pytest

from config import ROOT
from engage.database.statement_limit import statement_limit
from tests.conftest import pytest_collection_finish
from tests.support.cases import each


def test_the_databases_of_a_run_are_made_without_the_limit_of_the_web_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_limit, "seconds", 15.0)  # as loading config.wsgi sets it
    pytest_collection_finish()
    assert statement_limit.seconds is None


def test_what_every_test_needs_and_is_broken_ends_the_run_with_one_message() -> None:
    environment = {**os.environ, "DATABASE_URL": "postgresql://a:b@127.0.0.1:1/c", "ENVIRONMENT": "development"}
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", "tests/config/test_systemd.py"]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout
    assert "No test can run: django_db_modify_db_settings failed: " in run.stdout
    assert run.stdout.rstrip().splitlines()[-1].startswith("1 error in ")


def test_no_test_module_imports_from_another() -> None:
    """What two of them need stands beside them, or in tests/support."""
    modules = sorted((ROOT / "tests").rglob("*.py"))
    imports = {
        str(path.relative_to(ROOT)): re.findall(r"^from tests\.\S*\btest_\S+ import .*", path.read_text(), re.MULTILINE)
        for path in modules
    }
    assert {path: found for path, found in imports.items() if found} == {}


def test_each_tries_all_cases_and_names_those_that_fail() -> None:
    tried = []

    @each("left, right", [(1, 1), (1, 2), (2, 2), (3, 2)])
    def is_equal(left: int, right: int, also: str) -> None:
        tried.append((left, right, also))
        assert left == right

    with pytest.raises(BaseExceptionGroup, match=r"^2 of 4 cases: \(1, 2\), \(3, 2\)") as failed:
        is_equal(also="a fixture")
    assert [type(failure) for failure in failed.value.exceptions] == [AssertionError] * 2
    assert tried == [(1, 1, "a fixture"), (1, 2, "a fixture"), (2, 2, "a fixture"), (3, 2, "a fixture")]
    assert list(inspect.signature(is_equal).parameters) == ["also"]
