"""Who is refused for want of a proof is told which; who has made something is told where it is."""

from collections.abc import Iterator

import pytest

from customers.models import ContactRules
from engage.calls.call import Call
from engage.errors import Refusal
from engage.models import Workspace
from tests.interface.tenants import CALLS, body_of, tenant
from tests.support.calls import data, refused
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import ApiKeyFactory


def kinds(of: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_every_401_says_how_to_prove_who_calls() -> None:
    assert [kind.__name__ for kind in kinds() if kind.status == 401 and "WWW-Authenticate" not in kind.sends] == []


@pytest.mark.django_db
def test_a_wrong_app_and_a_scope_that_is_missing_are_challenges(acme: Workspace, sdk: SdkClient) -> None:
    for app in (None, "a" * 24):
        answer = sdk.post("/api/v1/sdk/identify", {}, headers={"X-App-Id": app})
        refused(answer, status=401, error="Invalid app id")
        assert answer["WWW-Authenticate"] == "X-App-Id"
    answer = ServerClient(ApiKeyFactory.create(workspace=acme, scopes=["stats"])).get("/api/v1/audit/acme")
    refused(answer, status=403, error="Scope missing")
    assert answer["WWW-Authenticate"] == 'Bearer error="insufficient_scope", scope="audit"'


CREATING: list[Call] = [call for call in CALLS if 201 in call.answers]


@pytest.mark.django_db
def test_whatever_is_created_is_found_where_its_answer_says(
    acme: Workspace, server: ServerClient, subtests: pytest.Subtests
) -> None:
    """Of a subscription, whose key the service has made as well; of a key that is no ASCII."""
    ids = tenant(acme, server).ids()
    del server.headers["If-Match"]
    ContactRules.objects.update(policy={})  # a workspace has one policy, or none
    for call in CREATING:
        with subtests.test(call=call.operation_id):
            name = "br\u00fccke" if call.operation_id == "putMessage" else "bridge"
            body = {"external_id": "new"} if call.operation_id == "putCustomer" else body_of(call)
            path = call.path.format(**{**ids, **{one.name: name for one in call.ids}})
            answer = server.call(call.method, f"/api/v1/{path}", body)
            assert answer.status_code == 201, answer
            assert answer["Location"].isascii()
            data(server.get(answer["Location"]), status=200)
            if call.method == "PUT" and call.ids:
                again = server.put(answer["Location"], body, headers={"If-None-Match": "*"})
                refused(again, status=412, error="Precondition failed")
    assert len(CREATING) >= 8
