"""DELETE /api/v1/customers/{workspaceId}/{customerId} of somebody who was merged: none of their names stays."""

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Journey, Trigger
from tests.support.calls import customers_path, data, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory
from tests.support.tables import tables_that_mention

ADA = "ada.lovelace"


@each("part, named", [("external_ids", "before"), ("external_ids", "after"), ("excludeExternalIds", "before")])
def test_an_alias_that_a_call_named_in_vain_goes_as_well(
    acme: Workspace, server: ServerClient, journey: Journey, rival: Workspace, named: str, part: str
) -> None:
    """Before or after the merge that made it one; an exclusion after it is not in vain."""
    ada, _ = (CustomerFactory.create(workspace=acme, external_id=name) for name in ("into", ADA))
    CustomerFactory.create(workspace=rival, external_id=ADA)

    def name_in_vain() -> None:
        selected = {"external_ids": [ADA]} if part == "external_ids" else {"external_ids": ["x"], part: [ADA]}
        trigger(server, journey, {**selected, "payload": {"name": ADA}})

    if named == "before":
        Customer.objects.filter(workspace=acme, external_id=ADA).update(external_id="late")
        name_in_vain()
        Customer.objects.filter(external_id="late").update(external_id=ADA)
    people = {"customer": {"external_id": ADA}, "into": {"external_id": "into"}}
    data(server.post(customers_path(acme, "merge"), people), status=200)
    if named == "after":
        name_in_vain()
    exported = data(server.get(customers_path(acme, ada.id, "export")), status=200)
    assert len(exported["records"]["unmatchedCalls"]) == 1
    receipt = data(server.delete(customers_path(acme, ada.id)), status=200)["receipt"]
    assert receipt["rows"]["unmatchedCalls"] == 1
    assert tables_that_mention(ADA) == {"customers_customer"}  # of the other workspace
    assert Trigger.objects.get().payload == {}
