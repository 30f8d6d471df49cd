"""The tables of docs/identity.md: whom a call reaches by a `userId`, and what becomes of that; each cell is tried."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from bridge.models import Interaction
from config import ROOT
from customers.models import Alias, Customer
from engage.models import Workspace
from journeys.models import InAppDelivery
from tests.bridge.identity.tokens import proving, token
from tests.bridge.in_app.deliveries import deliver, offer
from tests.support.bridge_calls import ACTION, IDENTIFY, click, identify
from tests.support.calls import customers_path, data
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.tables import taken_back

DOCS = (ROOT / "docs/identity.md").read_text().partition("\n## Who is reached by a userId\n")[2].partition("\n## ")[0]
PAT, KIM = {"external_id": "pat"}, {"external_id": "kim"}
HERS, ADDRESS = {"userId": "u"}, {"email": "pat@example.com"}
SUBJECT = {"userId": {"sub": "u", "idt": "userId"}, "external_id": {"sub": "kim", "userId": "u"}}
Named = dict[str, str]


@dataclass(frozen=True)
class World:
    """Pat, whose the `userId` is perhaps, Kim, whom a server knows, and who says so."""

    acme: Workspace
    server: ServerClient
    page: SdkClient
    strict: SdkClient
    folder: Path

    def put(self, **body: Any) -> Answer:
        return self.server.put(customers_path(self.acme), body)

    def merge(self, **body: Any) -> Answer:
        return self.server.post(customers_path(self.acme, "merge"), body)

    def written(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)


# What is said of the `userId` before.
STATES: dict[str, Callable[[World], Any]] = {
    "nobody's": lambda world: None,
    "an anonymous page's": lambda world: click(world.page, **HERS),
    "claimed, as all that Pat has": lambda world: click(world.page, **HERS, **ADDRESS),
    "claimed beside what is confirmed": lambda world: [click(world.page, **HERS, **PAT), world.put(**PAT)],
    "claimed beside an address": lambda world: [click(world.page, **HERS, **ADDRESS), world.put(**PAT, **ADDRESS)],
    "confirmed": lambda world: world.put(**HERS, **PAT),
    "proven": lambda world: click(world.strict, **HERS, identityToken=token(**SUBJECT["userId"])),
    "a page's alias of Pat": lambda world: [world.put(**PAT), identify(world.page, user_id="u", **PAT)],
    "a server's alias of Pat": lambda world: [world.put(**PAT), world.merge(anonymous=HERS, into=PAT)],
}


def of(answer: Answer) -> str | None:
    """Who was reached; None if the call was refused."""
    return data(answer, status=answer.status_code)["customerId"] if answer.succeeded else None


def by_page(sdk: SdkClient, path: str, **named: Any) -> str | None:
    known = set(Interaction.objects.values_list("id", flat=True))
    said = {"messageId": "welcome", "actionType": "close"} if path == ACTION else {}
    answer = sdk.post(path, {**said, **named})
    return Interaction.objects.exclude(id__in=known).get().customer_id if answer.succeeded else None


def batch(world: World, named: Named) -> str | None:
    answer = world.server.post(customers_path(world.acme, "batch"), {"customers": [named]})
    (one,) = data(answer, status=200)["results"]
    return str(one["customerId"]) if one["status"] != "failed" else None


def by_command(write: Callable[[World, Named], Any]) -> Callable[[World, Named], str | None]:
    def reached(world: World, named: Named) -> str | None:
        try:
            write(world, named)
        except CommandError:
            return None
        return Customer.objects.get(attributes__seen="yes").id

    return reached


@by_command
def seed(world: World, named: Named) -> None:
    described = {"workspace": {"key": "acme"}, "customers": [{**named, "attributes": {"seen": "yes"}}]}
    call_command("seed_workspace", world.written("seed.json", json.dumps(described)))


@by_command
def import_file(world: World, named: Named) -> None:
    text = "\n".join([",".join([*row, seen]) for row, seen in ((named, "seen"), (named.values(), "yes"))])
    call_command("import_customers", world.written("people.csv", text), "--workspace", "acme")


def proof(named: Named) -> dict[str, str]:
    return {"identityToken": token(**SUBJECT["external_id" if "external_id" in named else "userId"])}


def read(sdk: SdkClient, named: Named) -> str | None:
    answer = sdk.post("/api/v1/sdk/messages", named)
    told = data(answer, status=200)["messages"] if answer.succeeded else []
    return next((InAppDelivery.objects.get(id=one["deliveryId"]).customer_id for one in told), "nobody")


# How it is said: of the `userId` alone, and of it beside Kim's `external_id`.
WAYS: dict[str, Callable[[World, Named], str | None]] = {
    "PUT": lambda world, named: of(world.put(**named)),
    "batch": batch,
    "import": import_file,
    "seed": seed,
    "token": lambda world, named: by_page(world.strict, ACTION, **named, **proof(named)),
    "bridge": lambda world, named: by_page(world.page, ACTION, **named),
    "reading with a token": lambda world, named: read(world.page, {**named, **proof(named)}),
    "reading": lambda world, named: read(world.page, named),
}
ALONE = WAYS | {
    "merge: into": lambda world, named: of(world.merge(anonymous={"userId": "x"}, into=named)),
    "merge: customer": lambda world, named: of(world.merge(customer=named, into=KIM)),
    "identify": lambda world, named: by_page(world.page, IDENTIFY, **named, external_id="new"),
}
BESIDE = WAYS | {
    "merge: anonymous": lambda world, named: of(world.merge(anonymous=HERS, into=KIM)),
    "identify": lambda world, named: by_page(world.page, IDENTIFY, **named),
    "identify with a token": lambda world, named: by_page(world.strict, IDENTIFY, **named, **proof(named)),
}
TABLES: list[tuple[Named, dict[str, Any]]] = [(HERS, ALONE), ({**HERS, **KIM}, BESIDE)]


def standing(pat: str | None) -> str:
    """What leads to Pat by the `userId`."""
    known = Customer.objects.filter(id=pat).first()
    if known and known.user_id == "u":
        return "claimed" if "user_id" in known.claimed_identifiers else "confirmed"
    alias = Alias.objects.filter(customer_id=pat, user_id="u").first()
    hidden = Customer.objects.filter(user_id="u").exists()
    return "" if alias is None or hidden else "a page's alias" if alias.claimed else "a server's alias"


def told(world: World, state: str, way: Callable[[World, Named], str | None], named: Named) -> str:
    """The cell: who is reached, and what became of the `userId` if that is no more what it was."""
    offer(world.acme)
    kim = str(of(world.put(**KIM)))
    STATES[state](world)
    found = Customer.objects.exclude(id=kim)
    pat = found.get().id if state != "nobody's" else None
    for customer in Customer.objects.all():
        deliver(customer)
    before = standing(pat)
    reached = way(world, named)
    names = {pat: "Pat", kim: "Kim", None: "refused", "nobody": "nobody"}
    who = names.get(reached, "new")
    if pat and not found.filter(id=pat).exists():
        return f"{who}, merged"
    after = standing(pat)
    if pat is None or after == before or who == "new":
        return who
    return f"{who}, {after or 'taken'}"


def rows(table: str) -> Iterator[tuple[tuple[str, str], str]]:
    """What stands for each row and each way of a column."""
    head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    for state, *cells in lines:
        for ways, cell in zip(head[1:], cells, strict=True):
            yield from (((state, way), cell) for way in ways.split(", "))


@pytest.fixture
def world(acme: Workspace, server: ServerClient, tmp_path: Path, settings: Any) -> World:
    settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = settings.BRIDGE_RATE_LIMIT = "100000/m"
    return World(acme, server, proving(acme, "off"), proving(acme), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_each_cell_of_the_tables_is_what_happens(world: World, number: int) -> None:
    named, ways = TABLES[number]
    written = dict(rows(re.findall(r"(?:^\|.*\n)+", DOCS, re.MULTILINE)[number]))
    found = {}
    for state in STATES:
        for name, way in ways.items():
            with taken_back():
                found[state, name] = told(world, state, way, named)
    assert written == found


@pytest.mark.parametrize("name", ["PUT", "batch", "import", "seed", "token", "reading with a token"])
def test_the_same_holds_of_an_external_id_that_is_claimed_beside_a_user_id(world: World, name: str) -> None:
    offer(world.acme)
    click(world.page, **HERS, **KIM)
    pat = of(world.put(**HERS))
    deliver(Customer.objects.get(external_id="kim", claimed_identifiers=["external_id"]))
    reached = WAYS[name](world, KIM)
    assert reached not in {pat, None}
    is_read = name.startswith("reading")
    assert Customer.objects.filter(id=pat, external_id="kim").exists() is is_read  # which changes nothing
    assert (reached == "nobody") is is_read
