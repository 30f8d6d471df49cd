"""The contact policy of a workspace as a definition: there is one at most, so its address and a file name none."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any

from django.db import transaction
from django.db.models import QuerySet

from customers.contact.policy import read_policy
from customers.models import ContactRules, Topic
from engage.audit.facts import changes_between
from engage.audit.recording import change, record
from engage.errors import Refusal
from engage.json.documents import Part
from engage.models import AuditEntry, Workspace
from engage.resources.definitions import DefinitionInvalid
from engage.resources.fields import KEY, Fields, Item, fields_of
from engage.resources.resource import CallTexts, DefinitionMissing, InvalidDefinition, Resource


@dataclass(frozen=True, kw_only=True)
class PolicyFields(Fields):
    """The contact policy."""

    key: Annotated[str, "contact-policy; may be left out."] = ""
    require_topic: Annotated[Any, "`true`: what is saved from now on has to say what it is about."] = None
    timezone: Annotated[
        Any, 'Whose clock counts: a zone, or `{"from": "customer.timezone", "else": "Europe/Berlin"}`.'
    ] = None
    windows: Annotated[Any, "When people may be written to: up to 20."] = None
    caps: Annotated[Any, "How often people may be written to: up to 20."] = None


class PolicyMissing(DefinitionMissing):
    """The workspace has no contact policy."""

    error = "Contact policy not found"


class ContactPolicies(Resource[ContactRules]):
    """What is written of windows and caps. The row has the key of digests as well, and stays."""

    model, fields, section, address = ContactRules, PolicyFields, "contactPolicy", "contact-policy"
    only = "contact-policy"
    missing = PolicyMissing
    named_by_journeys = True
    calls = CallTexts(
        put="""Set the contact policy

        It holds at once, also for those who wait.
        """,
        get="""Read the contact policy

        Returns the policy, as a PUT takes it.
        """,
        delete="""Delete the contact policy

        From then on nobody is kept from being written to by windows and caps; consent and suppressions hold as before.
        """,
        example={
            "key": only,
            "timezone": {"from": "customer.timezone", "else": "Europe/Berlin"},
            "windows": [{"key": "day", "channels": ["sms"], "from": "09:00", "until": "20:00"}],
            "caps": [{"key": "week", "channels": ["email"], "atMost": 3, "per": "P7D"}],
        },
        example_id="68a1f0c2e4b0a1d2c3e4f5e4",
        requests={"A cap": {"caps": [{"key": "week", "channels": ["email"], "atMost": 3, "per": "P7D"}]}},
        changed=["caps"],
        refuses=[DefinitionInvalid("caps[0].atMost must be from 1 to 100.")],
    )

    @property
    def noun(self) -> str:
        return "contact_policy"

    def own(self, workspace_id: str) -> QuerySet[ContactRules]:
        return ContactRules.objects.filter(workspace=workspace_id).exclude(policy={})

    def find(self, workspace_id: str, named: str) -> QuerySet[ContactRules]:
        return self.own(workspace_id) if named == self.only else ContactRules.objects.none()

    def key_of(self, row: ContactRules) -> str:
        return self.only

    def items(self, section: Part) -> list[Part]:
        """Of a file: the policy itself."""
        fields = {name: part.value for name, part in section.members().items()}
        return [replace(section, value={KEY: self.only, **fields})]

    def packed(self, items: Sequence[Item]) -> Any:
        return {name: value for item in items for name, value in item.items() if name != KEY}

    def written(self, row: ContactRules) -> Item:
        return {KEY: self.only, **row.policy}

    def all_written(self, workspace_id: str) -> list[Item]:
        return [self.written(row) for row in self.own(workspace_id)]

    def new(self, workspace: Workspace | None, key: str) -> ContactRules:
        stored = ContactRules.objects.filter(workspace=workspace).first()
        return stored or ContactRules(workspace=workspace, digest_key=secrets.token_hex(32))

    def checked(self, row: ContactRules, changes: Mapping[str, Any]) -> ContactRules:
        changed = copy(row)
        spellings = {one.name: one.spelling for one in fields_of(PolicyFields)}
        policy = {**row.policy, **{spellings[name]: value for name, value in changes.items()}}
        changed.policy = {name: value for name, value in policy.items() if value is not None}
        topics = Topic.objects.filter(workspace=row.workspace_id).values_list("key", flat=True)
        read_policy(Part(changed.policy, "", InvalidDefinition), topics=[*topics])
        return changed

    def mistakes(self, row: ContactRules) -> Iterator[Refusal]:
        yield from ()  # `checked` tells them

    @transaction.atomic
    def delete(self, row: ContactRules) -> None:
        Workspace.objects.select_for_update(no_key=True).get(pk=row.workspace_id)
        gone = change(AuditEntry.Action.DELETED, row, changes=changes_between(self.facts(row), {}))
        row.policy = {}
        row.save(update_fields=["policy"])
        record(gone)


CONTACT_POLICY = ContactPolicies()
