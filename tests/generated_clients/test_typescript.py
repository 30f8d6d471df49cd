"""A client that openapi-typescript describes."""

import shutil
from pathlib import Path

import pytest

from engage.models import Workspace
from tests.generated_clients.programs import run
from tests.generated_clients.sessions import REFUSALS, refusals, world_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("node")]
HERE = Path(__file__).parent


def test_it_compiles_strictly_and_makes_a_whole_session(
    document: Path, acme: Workspace, rival: Workspace, tmp_path: Path
) -> None:
    for name in ("package.json", "tsconfig.json", "session.ts"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
    run("openapi-typescript", document, "--output", "api.d.ts", cwd=tmp_path)
    run("tsc", cwd=tmp_path)
    refused = refusals("node", "session.js", world=world_of(acme, rival), folder=tmp_path)
    # What the other client cannot send, because it makes bodies and their headers by itself.
    assert refused == {**REFUSALS, "invalid_json": 400, "unsupported_media_type": 415}
