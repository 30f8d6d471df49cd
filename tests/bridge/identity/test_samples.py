"""The samples of docs/samples/identity_token: an app takes the tokens that they make."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

import pytest

from engage.models import IdentityKey, Workspace
from tests.bridge.identity.tokens import SECRET
from tests.support.bridge_calls import ACTION, call
from tests.support.cases import each
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory
from tests.support.processes import ROOT

SAMPLES = ROOT / "docs/samples/identity_token"
PROGRAMS: dict[str, Sequence[str]] = {
    "sign.py": [sys.executable],
    "sign.mjs": ["node"],
    "sign.php": ["php"],
    "sign.rb": ["ruby"],
    "sign.go": ["go", "run"],
}


def test_each_sample_has_a_program() -> None:
    assert {sample.name for sample in SAMPLES.iterdir()} == PROGRAMS.keys()


@pytest.mark.slow
@each("sample", PROGRAMS)
def test_an_app_takes_the_token_that_a_sample_makes(acme: Workspace, sample: str) -> None:
    program = PROGRAMS[sample][0]
    if shutil.which(program) is None:
        if program == "node" and os.environ.get("NODE") == "required":
            pytest.fail("node is not installed.")
        pytest.skip(f"{program} is not installed: {sample} was left out.")
    app = AppFactory.create(workspace=acme, identity="enforce")
    IdentityKey.objects.create(workspace=acme, app=app, kid="k1", alg="HS256", secret=SECRET)
    said = {"ENGAGE_APP": app.id, "IDENTITY_KID": "k1", "IDENTITY_SECRET": SECRET}
    made = subprocess.run(
        [*PROGRAMS[sample], str(SAMPLES / sample), "ada-ä"],
        env={**os.environ, **said},
        capture_output=True,
        text=True,
        check=True,
    )
    about = {"userId": None, "external_id": "ada-ä", "email": "ada@example.com", "identityToken": made.stdout.strip()}
    plan = {"actionType": "update_profile", "actionData": {"profileAttributes": {"plan": "pro"}}}
    assert call(SdkClient(app), ACTION, {**about, **plan}).status_code == 200
    vip = {"actionType": "update_profile", "actionData": {"profileAttributes": {"vip": True}}}
    for other in ({**about, "external_id": "grace"}, {**about, **vip}):
        answer = call(SdkClient(app), ACTION, other)
        assert (answer.status_code, answer.json()["code"]) == (401, "identity_token_mismatch")
    another = AppFactory.create(workspace=acme, identity="enforce")
    IdentityKey.objects.create(workspace=acme, app=another, kid="k1", alg="HS256", secret=SECRET)
    assert call(SdkClient(another), ACTION, about).json()["code"] == "identity_token_invalid"
