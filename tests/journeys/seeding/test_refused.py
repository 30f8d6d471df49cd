"""`seed_workspace` refuses a bad file, names the place, and changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from engage.models import Workspace
from tests.journeys.seeding.descriptions import Seed, described, everything
from tests.support.cases import each


def journey(**fields: Any) -> dict[str, Any]:
    return described(journeys=[{"key": "other", **fields}])


BAD: list[tuple[Any, str]] = [
    (b"", "seed.json is not JSON: Expecting value at line 1, column 1."),
    (b'{"workspace": {"key": "a"}, "workspace": {"key": "b"}}', "The key 'workspace' stands twice in one object."),
    (b"\xff", "seed.json is not UTF-8: byte 0 does not fit."),
    (b"[]", "seed.json must be a JSON object, but an array came."),
    ({}, "workspace is required."),
    ({"workspace": "acme"}, "workspace must be an object, but a string came."),
    ({"workspace": {}}, "workspace.key is required."),
    ({"workspace": {"key": "Acme"}}, "workspace.key: Use lower-case letters, digits, - and _."),
    ({"workspace": {"key": "acme", "name": ""}}, "workspace.name must not be blank."),
    (
        {"workspace": {"key": "acme", "nmae": "x"}},
        "workspace.nmae is not known; what may stand here is key, name, feed, alerts, defaultCountry.",
    ),
    (
        described(journey=[]),
        "journey is not known; what may stand here is workspace, apiKeys, apps, customers, segments, ",
    ),
    (
        {"key": "welcome", "name": "Welcome", "steps": []},
        'steps is not known here. A journey stands in journeys: {"workspace": {"key": "acme"}, "journeys": [{…}]}.',
    ),
    (described(journeys={}), "journeys must be an array, but an object came."),
    (described(apiKeys=[{}]), "apiKeys[0].name is required."),
    (described(apiKeys=[{"name": "n" * 101}]), "apiKeys[0].name must be at most 100 characters"),
    (described(apiKeys=[{"name": "a", "rateLimit": "fast"}]), "apiKeys[0].rateLimit: 'fast' is no rate. Write a rate"),
    (
        described(apiKeys=[{"name": "a", "rateLimit": "5000000000/s"}]),
        "apiKeys[0].rateLimit: '5000000000/s' is no rate. Its first number must be from 1 to 999999999",
    ),
    (described(apiKeys=[{"name": "a", "eventsRateLimit": "fast"}]), "apiKeys[0].eventsRateLimit: 'fast' is no rate."),
    (described(apiKeys=[{"name": "a", "rateLimit": None}]), "apiKeys[0].rateLimit must be a string, but null came."),
    (described(apiKeys=[{"name": "a"}, {"name": "a"}]), "apiKeys[1].name is the same as apiKeys[0].name."),
    (described(apiKeys=[{"name": "a", "scopes": []}]), "apiKeys[0].scopes must not be empty; null stands for all."),
    (
        described(apiKeys=[{"name": "a", "scopes": ["all"]}]),
        "apiKeys[0].scopes[0] must be one of trigger, e",
    ),
    (described(apiKeys=[{"name": "a", "scopes": ["stats", "stats"]}]), "apiKeys[0].scopes[1] is the same as apiKeys[0"),
    (
        described(apiKeys=[{"name": "a", "journeys": ["none"]}]),
        "apiKeys[0].journeys[0] is no journey of the workspace.",
    ),
    (
        described(apiKeys=[{"name": "a", "networks": ["10.0.0.1/8"]}]),
        "apiKeys[0].networks[0] must be a network such as 203.0.113.0/24: 10.0.0.1/8 has host bits set.",
    ),
    *(
        (described(apiKeys=[{"name": "a", "expiresAt": time}]), "apiKeys[0].expiresAt must be a time in ISO 8601.")
        for time in ("soon", "9999-12-31T23:59:59-14:00")
    ),
    (described(apps=[{"name": 7}]), "apps[0].name must be a string, but a number came."),
    (described(apps=[{"name": "a", "allowedOrigins": "*"}]), "apps[0].allowedOrigins must be an array, but a string"),
    (
        described(apps=[{"name": "a", "allowedOrigins": ["https://a.example", "shop.example"]}]),
        "apps[0].allowedOrigins[1] must be an origin such as https://shop.example, without a path.",
    ),
    (
        described(apps=[{"name": "a", "allowedOrigins": ["https://bücher.example"]}]),
        "apps[0].allowedOrigins[0] must be an origin such as https://shop.example, without a path. Write a host's ",
    ),
    (described(customers=["ada"]), "customers[0] must be an object, but a string came."),
    (described(customers=[{}]), "customers[0] needs an identifier: external_id, email, phone, userId."),
    (described(customers=[{"email": None}]), "customers[0] needs an identifier: "),
    (
        described(customers=[{"external_id": "a", "email": 7}]),
        "customers[0].email must be a string, but a number came.",
    ),
    (described(customers=[{"email": "nobody"}]), "customers[0].email must be an e-mail address."),
    (described(customers=[{"external_id": " "}]), "customers[0].external_id must not be blank."),
    (described(customers=[{"userId": "u" * 256}]), "customers[0].userId must be at most 255 characters"),
    (described(customers=[{"externalId": "a"}]), "customers[0].externalId is not known; what may stand here is "),
    (described(customers=[{"userId": "a", "attributes": []}]), "customers[0].attributes must be an object, but an "),
    (
        described(customers=[{"userId": "a", "attributes": {"$set": 1}}]),
        "customers[0].attributes: The attribute name '$set' ",
    ),
    (
        described(customers=[{"userId": "a", "attributes": {"a": json.loads("[" * 10 + "]" * 10)}}]),
        "customers[0].attributes is nested more than 10 deep.",
    ),
    (
        described(customers=[{"userId": "a", "attributes": {"a": "x" * 300_000}}]),
        "customers[0].attributes: The profile's attributes would come to ",
    ),
    (
        described(customers=[{"userId": "a"}, {"userId": "b"}, {"userId": "a"}]),
        "customers[2].userId is what customers[0] goes by already.",
    ),
    (
        described(customers=[{"userId": "a", "email": "x@x.io"}, {"userId": "b", "email": "X@x.io"}]),
        "customers[1].email is already that of customers[0].",
    ),
    (
        described(customers=[{"external_id": "ada"}, {"email": "ada@example.com"}]),
        "customers[1].email is already that of customers[0].",
    ),
    (
        described(customers=[{"external_id": "new", "email": "ada@example.com"}]),
        "customers[0].email is already that of another customer of the workspace.",
    ),
    (described(segments=[{"key": "Very Important"}]), "segments[0].key: Use lower-case letters, digits, - and _."),
    (described(segments=[{"key": "a"}, {"key": "a"}]), "segments[1].key is the same as segments[0].key."),
    (described(segments=[{"key": "a", "conditions": []}]), "segments[0].conditions must be an object, but an array "),
    (
        described(segments=[{"key": "a", "members": ["ada", 1]}]),
        "segments[0].members[1] must be a string, but a number",
    ),
    (
        described(segments=[{"key": "a", "members": ["ada", "ada"]}]),
        "segments[0].members[1] is the same as segments[0].members[0].",
    ),
    (
        described(segments=[{"key": "a", "members": ["ada", "nobody"]}]),
        "segments[0].members[1] is no customer of the workspace.",
    ),
    (described(journeys=[{"name": "Other"}]), "journeys[0].key is required."),
    (described(journeys=[{"key": "a"}, {"key": "a"}]), "journeys[1].key is the same as journeys[0].key."),
    (journey(trigerr="api"), "journeys[0].trigerr is not known; what may stand here is key, name, trigger, "),
    (journey(key="A"), "journeys[0].key: Use lower-case letters, digits, - and _."),
    (journey(trigger="cron"), "journeys[0].trigger must be one of api, event, not 'cron'."),
    (journey(trigger="event"), "journeys[0].eventName is required where the trigger is event."),
    (journey(eventName="renewed"), "journeys[0].eventName must be null where the trigger is api."),
    (journey(where={}), "journeys[0].where must be null where the trigger is api."),
    (journey(exitOn=[{"if": {}}]), "journeys[0].exitOn[0].if must hold all, any or not, or field and op."),
    (journey(guards={"entries": 5}), "journeys[0].guards.per is required."),
    (journey(goals=[{"key": "a", "event": "b"}]), "journeys[0].goals[0].within is required."),
    (journey(active="yes"), "journeys[0].active must be true or false, but a string came."),
    (journey(maxEntriesPerCustomer=0), "journeys[0].maxEntriesPerCustomer must be at least 1."),
    (
        journey(maxEntriesPerCustomer=1.5),
        "journeys[0].maxEntriesPerCustomer must be a whole number, but a number came.",
    ),
    (journey(maxEntriesPerCustomer=True), "journeys[0].maxEntriesPerCustomer must be a whole number, but a boolean"),
    (journey(entryConditions=[]), "journeys[0].entryConditions must be an object, but an array came."),
    (
        journey(entryConditions={"any": [{"field": "customer.plan", "op": "eq"}]}),
        "journeys[0].entryConditions.any[0].value is required.",
    ),
    (journey(steps=[{"id": "a", "type": "delay"}]), "journeys[0].steps[0] must hold one of for, until and at."),
    (
        journey(steps=[{"id": "a", "type": "delay", "for": "P1D"}, {"id": "b", "type": "delay", "for": "1 day"}]),
        "journeys[0].steps[1].for must be an ISO 8601 duration such as P1D, PT2H30M or PT5S.",
    ),
]


@pytest.mark.slow
@pytest.mark.django_db
@each("description, message", BAD)
def test_a_bad_description_changes_nothing_and_names_the_place(
    seed: Seed, tmp_path: Path, description: Any, message: str
) -> None:
    seed()
    before = everything()
    if isinstance(description, dict) and "workspace" in description:
        # Something good stands before whatever is bad.
        description = {"apps": [{"name": "new"}], **description}
    with pytest.raises(CommandError) as refused:
        seed(description, "--new-keys", "--customers", "2")
    assert str(refused.value).removeprefix(f"{tmp_path}/").startswith(message)
    assert everything() == before


@pytest.mark.django_db
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"nowhere\.json cannot be read: No such file or directory\."):
        call_command("seed_workspace", str(tmp_path / "nowhere.json"))


@pytest.mark.django_db
@pytest.mark.parametrize("number", ["-1", "10000001"])
def test_a_number_of_customers_out_of_bounds_is_refused(seed: Seed, number: str) -> None:
    with pytest.raises(CommandError, match=r"--customers must be from 0 to 10,000,000\."):
        seed(described(), "--customers", number)
    assert not Workspace.objects.exists()
