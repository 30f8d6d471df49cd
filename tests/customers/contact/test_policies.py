"""The contact policy of a workspace: by calls and files, and apart from the key of its digests."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from customers.contact.reach import rules_of
from customers.models import ContactRules
from engage.models import Workspace
from tests.support.calls import data, refused
from tests.support.clients import ServerClient

pytestmark = pytest.mark.django_db
PATH = "/api/v1/contact-policy/acme"
TOPIC = {"key": "offers", "channels": ["email"], "default": "opted_in"}
CAP: dict[str, Any] = {"key": "week", "channels": ["email"], "topics": ["offers"], "atMost": 3, "per": "P7D"}


def test_a_policy_comes_and_goes_and_the_key_of_digests_stays(acme: Workspace, server: ServerClient) -> None:
    key = rules_of(acme.id).digest_key
    refused(server.get(PATH), status=404, error="Contact policy not found")
    why = refused(server.put(PATH, {"caps": [CAP]}), status=422, error="Definition invalid")
    assert why == "caps[0].topics[0] is 'offers', which is no topic of this workspace."
    data(server.put("/api/v1/topics/acme/offers", TOPIC), status=201)
    data(server.put(PATH, {"caps": [CAP]}), status=201)
    named = {"If-Match": "*"}
    message = refused(server.delete("/api/v1/topics/acme/offers", headers=named), status=409, error="Topic in use")
    assert "the contact policy" in message
    data(server.delete(PATH, headers=named), status=200)
    data(server.delete("/api/v1/topics/acme/offers", headers=named), status=200)
    assert (ContactRules.objects.get().digest_key, ContactRules.objects.get().policy) == (key, {})


def test_a_file_has_it_as_an_object_and_says_the_same_again(tmp_path: Path) -> None:
    file = tmp_path / "acme.json"
    policy = {"requireTopic": True, "caps": [CAP]}
    file.write_text(json.dumps({"workspace": {"key": "acme"}, "topics": [TOPIC], "contactPolicy": policy}))
    call_command("seed_workspace", str(file), stdout=StringIO())
    out = StringIO()
    call_command("export_workspace", "acme", stdout=out)
    assert json.loads(out.getvalue())["contactPolicy"] == policy
    file.write_text(out.getvalue())
    plan = StringIO()
    call_command("seed_workspace", str(file), "--plan", stdout=plan)
    assert "0 to create, 0 to change" in plan.getvalue()
