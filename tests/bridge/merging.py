"""What a merge is made with, where its call is not what is tried."""

from bridge.people.merging import merge_customers
from customers.identity.lookup import Reference
from engage.models import Workspace


def merge(acme: Workspace, *, user_id: str = "anon-1") -> None:
    merge_customers(workspace_id=acme.id, anonymous=Reference("user_id", user_id), into=Reference("external_id", "ada"))
