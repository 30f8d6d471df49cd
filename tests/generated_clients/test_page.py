"""The documentation's page shows with each call only what is its own."""

import json
from pathlib import Path

import pytest

from config.docs.documentation import openapi_document
from tests.generated_clients.programs import run
from tests.support.processes import ROOT

pytestmark = pytest.mark.usefixtures("node")
HERE = Path(__file__).parent
SCRIPT = ROOT / "config/static/config/documentation.js"


def test_what_calls_have_in_common_is_left_out_of_each(document: Path) -> None:
    shown = json.loads(run("node", HERE / "shown_on_the_page.mjs", SCRIPT, document, cwd=HERE))
    served = openapi_document()
    assert {**shown, "paths": None} == {**served, "paths": None}
    trigger = shown["paths"]["/api/v1/journeys/{workspaceId}/{journeyId}/trigger"]["post"]
    assert list(trigger["responses"]) == ["200", "202", "400", "404", "422", "503"]
    assert trigger["responses"]["202"]["content"]["application/json"]["examples"]
    assert list(trigger["responses"]["400"]) == ["description"]
    for path, calls in shown["paths"].items():
        for method, call in calls.items():
            described = served["paths"][path][method]
            assert {**call, "parameters": 0, "responses": 0} == {**described, "parameters": 0, "responses": 0}
            left_out = [one for one in described["parameters"] if one not in call["parameters"]]
            assert left_out == [{"$ref": "#/components/parameters/X-Request-Id"}]
            assert "#/components/headers" not in json.dumps(call["responses"])
            assert not any("$ref" in response for response in call["responses"].values())
