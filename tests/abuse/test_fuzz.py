"""Requests made from the OpenAPI document, right ones and wrong ones: each answer is one that the document describes.

`make fuzz` makes 1,000 for each call; the suite a few.
"""

import os
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from schemathesis import Case, GenerationMode, openapi
from schemathesis.config import SchemathesisConfig
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.schemas import OpenApiSchema

from config.docs.documentation import openapi_document
from config.wsgi import application
from tests.abuse.calls import good_calls
from tests.abuse.service import Service
from tests.support.examples import EXAMPLES

_EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", str(max(2, 8 * EXAMPLES // 100))))
# What `make fuzz` finds is tried first the next time; in the suite no run depends on the one before.
_FOUND = DirectoryBasedExampleDatabase(".hypothesis/examples") if "FUZZ_EXAMPLES" in os.environ else None
_OPERATIONS = [call.operation for call in good_calls({})]


_RIGHT = ["2xx", "304", "400", "403", "404", "409", "412", "422"]
_CONFIGURATION = {
    # JSON Schema cannot say all that the domain knows: which segments exist, whose identifiers are whose, which
    # Idempotency-Key came before, which messages are registered, which ETag something has.
    "checks": {"positive_data_acceptance": {"expected-statuses": _RIGHT}},
    # What is on its way to somebody is told to nobody without their token.
    "operations": [
        {
            "include-operation-id": ["getDueMessages", "fetchDueMessages"],
            "checks": {"positive_data_acceptance": {"expected-statuses": [*_RIGHT, "401"]}},
        }
    ],
    # The document says of all strings that they hold no NUL. Parameters that no call knows are ignored, as is usual:
    # they do not make a request a wrong one.
    "generation": {"allow-x00": False, "allow-extra-parameters": False},
}


@cache
def _document() -> OpenApiSchema:
    configuration = SchemathesisConfig.from_dict(_CONFIGURATION)
    api = openapi.from_dict(deepcopy(openapi_document(strict=True)), config=configuration)
    api.app = application
    return api


def _cases(operation: "APIOperation[Any, Any, Any, Any]", service: Service) -> "st.SearchStrategy[Case[Any]]":
    """Right ones about who and what exists, right ones about anything, and wrong ones."""
    known = {name: value for name, value in service.ids.items() if f"{{{name}}}" in operation.path}
    right = operation.as_strategy(generation_mode=GenerationMode.POSITIVE, path_parameters=known)
    return st.one_of(
        right,
        right.map(lambda case: _about_ada(case, service)),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE, path_parameters=known),
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )


def _about_ada(case: "Case[Any]", service: Service) -> "Case[Any]":
    """The same call with the identifiers of somebody who exists, where it has any."""
    hers = {
        "external_id": "ada",
        "externalId": "ada",
        "email": "ada@example.com",
        "customerId": service.ids["customerId"],
        "external_ids": ["ada", "bob"],
        "externalIds": ["ada", "bob"],
        "segment_ids": [service.ids["segmentId"]],
        "segmentIds": [service.ids["segmentId"]],
    }
    if isinstance(case.body, dict):
        case.body = {name: hers.get(name, value) if value else value for name, value in case.body.items()}
    return case


@pytest.fixture
def _connection_stays(service: Service) -> Iterator[None]:
    """Between requests Django closes a connection that is in a transaction, as a test's is.

    Django's test client, which `service` has used, connects these signals anew with every call.
    """
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.slow
@pytest.mark.usefixtures("_connection_stays")
@pytest.mark.parametrize("operation_id", _OPERATIONS)
def test_whatever_is_sent_is_answered_as_documented(service: Service, operation_id: str) -> None:
    operation = _document().find_operation_by_id(operation_id)
    headers = service.caller_of(service.calls[operation_id]).headers

    @settings(max_examples=_EXAMPLES, deadline=None, database=_FOUND, suppress_health_check=list(HealthCheck))
    @given(case=_cases(operation, service))
    def send(case: "Case[Any]") -> None:
        case.call_and_validate(headers=headers)

    send()
