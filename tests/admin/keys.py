"""API keys as staff make them."""

import re
from typing import Any

from django.test import Client

from engage.models import Workspace
from tests.admin.records import ALL_SCOPES

KEYS, APPS = "/admin/engage/apikey/", "/admin/engage/app/"


def make_key(staff: Client, of: Workspace, **fields: Any) -> str:
    """Makes a key; the page that answers."""
    said = {"workspace": of.id, "name": "shop", "rate_limit": "100/m", "expires_at_0": "", "expires_at_1": ""}
    said |= ALL_SCOPES
    answer = staff.post(f"{KEYS}add/", {**said, **fields})
    assert answer.status_code == 200
    return answer.content.decode()


def secret_on(page: str) -> str:
    (secret,) = re.findall(r'id="secret">(engage_\w+)<', page)
    return str(secret)


def works(secret: str, workspace: Workspace) -> bool:
    """Whether the interface takes the key."""
    headers = {"Authorization": f"Bearer {secret}"}
    return Client().get(f"/api/v1/journeys/{workspace.id}/jobs/none", headers=headers).status_code != 401
