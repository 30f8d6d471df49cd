"""Topics: what a workspace writes about, by calls, files and pages."""

from typing import Any

import pytest
from django.utils import timezone

from customers.contact import topics
from customers.contact.reach import rules_of
from customers.contact.topics import TOPICS
from customers.models import Topic
from engage.models import Workspace
from tests.admin.staff import member
from tests.support.calls import refused
from tests.support.cases import each
from tests.support.clients import ServerClient

pytestmark = pytest.mark.django_db
PATH = "/api/v1/topics/acme/offers"
ADD = "/admin/customers/topic/add/"


@each(
    "wrong, message",
    [
        ({"default": None}, "default must be opted_in or opted_out."),
        ({"channels": []}, "channels must name at least one channel."),
        ({"channels": ["email", "email"]}, "channels must name each channel once."),
        ({"channels": ["fax"]}, "channels has 'fax', which is none of email, sms, push, chat, in_app."),
        ({"validFor": "P0D"}, "validFor must be from one day to 10 years."),
        ({"texts": {f"a{chr(97 + n // 26)}{chr(97 + n % 26)}": {} for n in range(51)}}, "at most 50 languages"),
        ({"texts": {"de": {"name": "x" * 201}}}, "texts.de.name must be at most 200 characters"),
    ],
)
def test_what_is_wrong_with_one_names_the_field(
    acme: Workspace, server: ServerClient, wrong: dict[str, Any], message: str
) -> None:
    right = {"channels": ["email"], "default": "opted_in"}
    assert message in refused(server.put(PATH, right | wrong), status=422, error="Definition invalid")
    key = server.put(PATH.replace("offers", "of_fers"), right)
    assert refused(key, status=422, error="Definition invalid") == "key may have up to 50 of a-z, 0-9 and -."
    assert not Topic.objects.exists()


def test_one_that_journeys_or_the_policy_name_is_not_deleted(
    acme: Workspace, server: ServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    TOPICS.save(workspace=acme, key="offers", now=timezone.now(), channels=["email"], default="opted_in")
    rules = rules_of(acme.id)
    rules.policy = {"caps": [{"topics": ["offers"]}]}
    rules.save()
    monkeypatch.setattr(topics, "NAMED_BY", [lambda _, key: [f"the journey of {key}"]])
    why = refused(server.delete(PATH, headers={"If-Match": "*"}), status=409, error="Topic in use")
    assert why == "The topic offers is named by the contact policy, the journey of offers; it cannot be deleted."
    topics.NAMED_BY.clear()
    rules.delete()
    assert server.delete(PATH, headers={"If-Match": "*"}).status_code == 200


def test_admins_make_them_and_others_look(acme: Workspace) -> None:
    sent: dict[str, Any] = {"workspace": acme.id, "name": "Offers", "key": "offers", "channels": ["email", "sms"],
            "default": "opted_out", "texts": "", "valid_for": "", "description": ""}  # fmt: skip
    for role in ("viewer", "support", "author"):
        client = member(role, acme=role)
        assert client.get("/admin/customers/topic/").status_code == 200
        assert client.post(ADD, sent).status_code == 403
    staff = member("admin", acme="admin")
    for name, wrong in (("channels", ""), ("valid_for", "soon"), ("texts", '{"Deutsch": {}}')):
        assert staff.post(ADD, sent | {name: wrong}).status_code == 200, name
    assert staff.post(ADD, sent).status_code == 302
    made = Topic.objects.get()
    assert (made.channels, made.valid_for, made.texts) == (["email", "sms"], None, {})
