"""Clients that are generated in Python."""

import shutil
import sys
from pathlib import Path

import pytest

from engage.models import Workspace
from tests.generated_clients.programs import run
from tests.generated_clients.sessions import REFUSALS, refusals, world_of
from tests.support.processes import ROOT

HERE = Path(__file__).parent


@pytest.mark.django_db(transaction=True)
def test_a_client_of_openapi_python_client_has_strict_types_and_makes_a_whole_session(
    document: Path, acme: Workspace, rival: Workspace, tmp_path: Path
) -> None:
    options = ("--meta", "none", "--output-path", "engage_client", "--config", HERE / "openapi-python-client.yaml")
    told = run("openapi-python-client", "generate", "--path", document, *options, "--fail-on-warning", cwd=tmp_path)
    assert "warning" not in told.lower()
    shutil.copy(HERE / "session.py", tmp_path)
    checked = ("--config-file", HERE / "mypy.ini", "--cache-dir", ROOT / ".mypy_cache/generated_clients")
    run(sys.executable, "-m", "mypy", *checked, "session.py", "engage_client", cwd=tmp_path)
    assert refusals(sys.executable, "session.py", world=world_of(acme, rival), folder=tmp_path) == REFUSALS


def test_models_of_datamodel_code_generator_read_every_example(document: Path, tmp_path: Path) -> None:
    options = (
        "--input-file-type",
        "openapi",
        "--output-model-type",
        "pydantic_v2.BaseModel",
        "--formatters",
        "builtin",
    )
    run("datamodel-codegen", "--input", document, *options, "--output", "models.py", cwd=tmp_path)
    shutil.copy(HERE / "read_examples.py", tmp_path)
    assert int(run(sys.executable, "-W", "error", "read_examples.py", cwd=tmp_path)) > 50
