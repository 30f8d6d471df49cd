"""Whoever calls by the document of 1.0.0 is understood as then: what is otherwise stands in the changelog, in bold."""

import gzip
import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

from config import ROOT
from config.docs.documentation import openapi_document
from tests.schema.breaks import Breaks
from tests.support.cases import each

# The served document of 1.0.0, without texts and examples.
OLD: dict[str, Any] = json.loads(gzip.decompress((Path(__file__).parent / "version_1_0_0.json.gz").read_bytes()))
# What is known to break, and where the changelog says so.
KNOWN = {
    r"TriggerAnswer answered\.data.*": "a trigger's 200 and 202 are one `TriggerAnswer`",
    r".* answered\S*: other choices": "clients must take values that they do not know",
    r"CustomerRequest sent\.\w+: another pattern": 'A blank identifier (`""`) of a PUT or of a batch',
    r"GET \S+/export: another x-required-scope": "Exporting a customer needs the scope `customers:export`",
}


def test_nothing_breaks_callers_of_1_0_0_but_what_the_changelog_says_in_bold() -> None:
    found = [*Breaks(OLD, openapi_document())]
    assert [one for one in found if not any(re.fullmatch(known, one) for known in KNOWN)] == []
    assert [known for known in KNOWN if not any(re.fullmatch(known, one) for one in found)] == [], "no longer broken"
    since = re.split(r"^## 1\.0\.0 ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[0]
    bold = " ".join(" ".join(re.findall(r"\*\*(.+?)\*\*", since, re.DOTALL)).split())
    assert [told for told in KNOWN.values() if told not in bold] == []


PUT = "/paths//api/v1/messages/{workspaceId}/{key}/put"
MESSAGE, BODY = "/components/schemas/Message", "/components/schemas/MessageRequest"
LIMIT = "/paths//api/v1/messages/{workspaceId}/get/parameters"


def part_of(document: Any, place: str) -> Any:
    for name in re.findall(r"/(/\S+?(?=/(?:get|put)|$)|[^/]+)", place):
        document = document[name]
    return document


@each(
    "place, change, found",
    [
        ("/paths", lambda paths: paths.pop("/api/v1/messages/{workspaceId}"), "is gone"),
        (PUT[:-4], lambda methods: methods.pop("put"), "is gone"),
        (PUT, lambda put: put.update(operationId="saveMessage"), "another operationId"),
        (f"{PUT}/responses", lambda answers: answers.pop("201"), "201 is gone"),
        (LIMIT, lambda known: known.pop(1), "is gone"),
        (
            LIMIT,
            lambda known: known.append({"in": "query", "name": "x", "required": True}),
            "new and required",
        ),
        (LIMIT, lambda known: known[1]["schema"].update(default=9), "another default"),
        (f"{MESSAGE}/properties", lambda fields: fields.pop("revision"), "Message answered.revision is gone"),
        (f"{MESSAGE}/required", lambda names: names.remove("revision"), "revision is no longer always there"),
        (f"{MESSAGE}/properties/revision", lambda one: one.update(type=["integer", "null"]), "another type"),
        (BODY, lambda body: body.update(required=["status"]), "MessageRequest sent.status is required"),
        (f"{BODY}/properties", lambda fields: fields.pop("forms"), "MessageRequest sent.forms is gone"),
        (f"{BODY}/properties/forms", lambda one: one.update(type="object"), "another type"),
        (f"{BODY}/properties/forms", lambda one: one.update(maxItems=1), "another bound"),
        (f"{BODY}/properties/status", lambda one: one.update(enum=["draft"]), "other choices"),
        (f"{BODY}/properties/status", lambda one: one.update(pattern="^a"), "another pattern"),
        (f"{BODY}/properties/status", lambda one: one.update(default="active"), "another default"),
    ],
)
def test_what_breaks_is_found(place: str, change: Any, found: str) -> None:
    new = deepcopy(OLD)
    assert [*Breaks(OLD, new)] == []
    change(part_of(new, place))
    assert any(found in one for one in Breaks(OLD, new))
