"""A body that comes in chunks, without a length, is read like any other."""

import json
from io import BytesIO
from typing import Any

import pytest
from django.test import RequestFactory

from config.wsgi import application
from customers.models import Customer
from engage.models import Workspace
from engage.parsing import MAX_BODY_BYTES
from journeys.models import EnrollmentJob
from tests.clients import ServerClient
from tests.factories import JourneyFactory

pytestmark = pytest.mark.django_db(transaction=True)


def in_chunks(server: ServerClient, path: str, body: bytes) -> tuple[int, Any]:
    environ = RequestFactory().post(path, headers=server.headers, content_type="application/json").environ
    environ |= {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": "", "wsgi.input": BytesIO(body)}
    statuses: list[str] = []
    answer = b"".join(application(environ, lambda status, _headers: statuses.append(status)))
    return int(statuses[0].split()[0]), json.loads(answer)


def test_a_trigger_in_chunks_is_queued(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    path = f"/api/v1/journeys/{acme.id}/{JourneyFactory.create(workspace=acme).id}/trigger"
    status, answer = in_chunks(server, path, b'{"external_id": "ada"}')
    assert (status, answer["data"]["customerId"]) == (202, ada.id)
    assert EnrollmentJob.objects.count() == 1


def test_chunks_have_the_limit_of_every_body(server: ServerClient, acme: Workspace) -> None:
    path = f"/api/v1/journeys/{acme.id}/{JourneyFactory.create(workspace=acme).id}/trigger"
    status, answer = in_chunks(server, path, b'{"a": "' + b"x" * MAX_BODY_BYTES)
    assert (status, answer["error"]) == (413, "Body too large")
