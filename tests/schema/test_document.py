"""`GET /api/v1/schema`: the OpenAPI document."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer

import config.urls  # noqa: F401 (so that all calls are known)
from config import ROOT
from config.docs.documentation import openapi_document
from engage.calls.call import Call
from engage.calls.schema.bodies import body_name
from tests.support.bodies import all_bodies
from tests.support.cases import each
from tests.support.clients import Answer
from tests.support.conformance import at, escaped, referred, violation
from tests.support.processes import environment

PATH = "/api/v1/schema"
CALLS = {(call.method, f"/api/v1/{call.path}") for call in Call.all()}
BODIES = {body_name(shape) for shape in all_bodies()}
BODIES |= {f"Patched{body_name(call.signature.body)}" for call in Call.all() if call.merges and call.signature.body}


def read(**headers: str) -> Answer:
    return Answer.of(Client().get(PATH, headers=headers))


def operations() -> Iterator[tuple[str, Any]]:
    """Every operation with its JSON pointer."""
    for path, methods in openapi_document()["paths"].items():
        for method, operation in methods.items():
            yield f"/paths/{escaped(path)}/{method}", operation


def responses(place: str, operation: dict[str, Any]) -> list[str]:
    """The JSON pointers of what an operation answers."""
    return [
        response.get("$ref", f"{place}/responses/{status}").removeprefix("#")
        for status, response in operation["responses"].items()
    ]


def contents() -> Iterator[tuple[str, Any]]:
    """Everything that is sent or answered, with its JSON pointer; an answer may have no content."""
    for place, operation in operations():
        sent = [f"{place}/requestBody"] if "requestBody" in operation else []
        for part in [*sent, *responses(place, operation)]:
            for form, content in at(part).get("content", {}).items():
                yield f"{part}/content/{escaped(form)}", content


def plain(pointer: str) -> Any:
    """The part of the served document at this JSON pointer."""
    return at(pointer, strict=False)


# How it is served ----------------------------------------------------------------------------------------------------


def test_it_is_openapi_3_1_in_json_and_needs_no_key() -> None:
    answer = read()
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert answer.json()["openapi"] == "3.1.0"
    assert answer.json() == openapi_document()


_TWO_FIRST_ONES = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
import config.wsgi
from config.docs.documentation import openapi_document

both = Barrier(2)

def ask(_):
    both.wait()
    return len(openapi_document()["paths"])

with ThreadPoolExecutor(2) as pool:
    print(*pool.map(ask, range(2)))
"""


@pytest.mark.slow
def test_two_who_ask_a_new_process_at_once_get_it_both() -> None:
    """What makes the document loads its parts as it goes."""
    run = [sys.executable, "-c", _TWO_FIRST_ONES]
    told = subprocess.run(run, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    number = len(openapi_document()["paths"])
    assert told.stdout.split() == [str(number), str(number)]


def test_who_asks_for_yaml_gets_yaml() -> None:
    answer = read(Accept="application/yaml")
    assert answer["Content-Type"].startswith("application/yaml")
    assert answer.content.startswith(b"openapi: 3.1.0\n")


def test_it_is_made_once_per_form_and_may_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger who asks again and again makes no work: neither form is rendered, nor the unchanged one sent."""
    forms = [read(), read(Accept="application/yaml")]
    for renderer in (OpenApiJsonRenderer, OpenApiYamlRenderer):
        monkeypatch.setattr(renderer, "render", lambda *_: pytest.fail("It is made once more."))
    for first, accept in zip(forms, ("application/json", "application/yaml"), strict=True):
        again = read(Accept=accept)
        assert (again.content, again["ETag"], again["Vary"]) == (first.content, first["ETag"], "Accept")
        assert again["Cache-Control"] == "public, max-age=300"
        known = read(**{"Accept": accept, "If-None-Match": first["ETag"]})
        assert (known.status_code, known.content, known["ETag"]) == (304, b"", first["ETag"])
    assert forms[0]["ETag"] != forms[1]["ETag"]


def test_another_method_and_another_form_are_refused_in_json() -> None:
    posted = Answer.of(Client().post(PATH))
    assert (posted.status_code, posted.json()["code"]) == (405, "method_not_allowed")
    html = read(Accept="text/html")
    assert (html.status_code, html.json()["code"]) == (406, "not_acceptable")


# What stands in it ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_is_valid_and_made_without_a_warning(tmp_path: Path) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "openapi.yaml"))


def test_it_names_every_call() -> None:
    named = {(method.upper(), path) for path, methods in openapi_document()["paths"].items() for method in methods}
    assert named == CALLS


def test_what_servers_come_for_stands_first() -> None:
    paths = openapi_document()["paths"]
    journeys = [path for path, methods in paths.items() for call in methods.values() if "Journeys" in call["tags"]]
    assert journeys[0] == "/api/v1/journeys/{workspaceId}/{journeyId}/trigger"


def test_every_call_is_explained() -> None:
    for place, operation in operations():
        parts = [operation, *map(referred, operation["parameters"]), *map(at, responses(place, operation))]
        assert all(part["description"] for part in parts), place
        assert operation["summary"], place
        assert len(operation["tags"]) == 1, place


def test_servers_send_a_key_and_sdks_an_app_id() -> None:
    schemes = openapi_document()["components"]["securitySchemes"]
    assert (schemes["apiKey"]["type"], schemes["apiKey"]["scheme"]) == ("http", "bearer")
    assert (schemes["appId"]["in"], schemes["appId"]["name"]) == ("header", "X-App-Id")
    for place, operation in operations():
        assert operation["security"] == [{"appId" if "sdk" in place else "apiKey": []}]


def test_everything_sent_and_answered_has_examples() -> None:
    assert [place for place, content in contents() if not content.get("examples")] == []


def test_every_example_is_as_documented() -> None:
    broken = [
        (place, title, found)
        for place, content in contents()
        for title, example in content["examples"].items()
        for strict in (True, False)
        if (found := violation(example["value"], f"{place}/schema", strict=strict))
    ]
    assert broken == []


@each(
    "operation_id, message",
    [
        ("changeSegmentMembers", "'ada' stands in both add and remove."),
        ("reportEvents", "events holds many events, and external_id is of one; send the one or the other."),
    ],
)
def test_what_does_not_go_together_is_told_with_its_refusal(operation_id: str, message: str) -> None:
    ((place, _),) = [found for found in operations() if found[1]["operationId"] == operation_id]
    examples = at(f"{place}/responses/400/content/application~1json/examples")
    assert message in [example["value"]["message"] for example in examples.values()]


def test_what_calls_have_in_common_stands_once() -> None:
    components = plain("/components")
    told = plain("/info/description")
    for kind in ("UnauthorizedOrNetworkNotAllowed", "RequestInProgress", "RateLimitExceeded", "InternalError"):
        for example in components["responses"][kind]["content"]["application/json"]["examples"].values():
            assert f"| `{example['value']['code']}` |" in told
    assert "| `X-RateLimit-Remaining` |" in told
    for part in ("responses", "parameters", "headers"):
        described = {json.dumps(component) for component in components[part].values()}
        assert not [place for place, _ in operations() if described & _inline(plain(place))]


def _inline(operation: dict[str, Any]) -> set[str]:
    """The parameters, answers and headers that stand in the operation itself."""
    answers = [*operation["responses"].values()]
    headers = [header for answer in answers for header in answer.get("headers", {}).values()]
    return {json.dumps(part) for part in [*operation["parameters"], *answers, *headers]}


def test_every_field_of_a_body_is_explained() -> None:
    unexplained = [
        f"{name}.{field}"
        for name in BODIES
        for field, described in at(f"/components/schemas/{name}")["properties"].items()
        if not described.get("description")
    ]
    assert unexplained == []


def test_answers_are_closed_and_bodies_are_open_in_the_strict_form_and_all_are_open_in_the_plain_one() -> None:
    objects = {name for name, schema in at("/components/schemas").items() if schema["type"] == "object"}
    closed = {name for name in objects if at(f"/components/schemas/{name}").get("additionalProperties") is False}
    choices = {name: at(f"/components/schemas/{name}").get("oneOf", [{}]) for name in objects}
    closed |= {name for name, choice in choices.items() if {str(one.get("$ref"))[21:] for one in choice} <= closed}
    assert objects - closed == {*BODIES, "JsonObject"}
    assert not any(
        "additionalProperties" in schema for name, schema in plain("/components/schemas").items() if name in closed
    )


def test_both_spellings_of_a_field_are_told() -> None:
    strict = at("/components/schemas/TriggerRequest")["properties"]
    shown = plain("/components/schemas/TriggerRequest")["properties"]
    for name, alias in [
        ("external_id", "externalId"),
        ("external_ids", "externalIds"),
        ("segment_ids", "segmentIds"),
        ("exclude_external_ids", "excludeExternalIds"),
        ("payload", "properties"),
    ]:
        assert alias not in shown
        assert shown[name]["description"].endswith(f"May also be called `{alias}`.")
        assert {**strict[alias], "description": ""} == {**strict[name], "description": ""}
