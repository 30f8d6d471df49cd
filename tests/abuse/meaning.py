"""Bodies of the right types that mean nothing: identifiers of nobody, forms mixed, actions that lack what they need."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from tests.abuse.calls import Call, Case, Spoil, body_with, cases

TRIGGER, PUT, BATCH, MEMBERS = ("triggerJourney",), ("putCustomer",), ("putCustomers",), ("changeSegmentMembers",)
ACTION, CAPTURE = ("recordAction",), ("captureForm",)
BRIDGE = (*ACTION, *CAPTURE)
_UNKNOWN = "68a1f0c2e4b0a1d2c3e4f5b2"
_NOBODY = {"external_id": None, "externalId": None, "email": None, "phone": None, "userId": None, "customerId": None}

_NO_ADDRESSES = {
    "no at sign": "ada.example.com",
    "only an at sign": "@",
    "no name": "@example.com",
    "no domain": "ada@",
    "two at signs": "ada@bob@example.com",
    "a space": "ada @example.com",
    "a line break": "ada@example.com\nbcc: bob@example.com",
    "a domain without a point": "ada@example",
    "a point at the end": "ada@example.com.",
    "two points": "ada@example..com",
    "a point at the beginning": ".ada@example.com",
    "a name and an address": "Ada <ada@example.com>",
    "two addresses": "ada@example.com,bob@example.com",
    "a link": "mailto:ada@example.com",
    "an underscore in the domain": "ada@exa_mple.com",
    "a hyphen at the edge": "ada@-example.com",
    "a word": "ada",
    "a number": "7",
    "markup": "<script>@example.com",
    "a Kelvin sign": "kelvin\u212a@example.com",
    "a letter with an accent": "ren\u00e9@example.com",
    "nothing to be seen in the domain": "ada@exam\u200bple.com",
    "a domain that is too long in ASCII": "ada@" + "\u00fc" * 62 + ".com",
    "a domain of 300 letters": "ada@" + "x" * 300 + ".com",
}


def _email(value: str) -> Spoil:
    def spoil(call: Call) -> Iterable[Call]:
        yield from body_with({**_NOBODY, "email": value}, of=[*BRIDGE, *PUT])(call)
        if call.operation == "findCustomer":
            yield replace(call, query="?" + urlencode({"email": value}))

    return spoil


EMAILS = cases("e-mail", {name: _email(value) for name, value in _NO_ADDRESSES.items()})


def _query(**parameters: str) -> Spoil:
    def spoil(call: Call) -> Iterable[Call]:
        if call.operation == "findCustomer":
            yield replace(call, query="?" + urlencode(parameters))

    return spoil


QUERIES = cases(
    "query",
    {
        "nothing": _query(),
        "blank": _query(external_id=" "),
        "two identifiers": _query(external_id="ada", email="ada@example.com"),
        "both spellings with two values": _query(external_id="ada", externalId="bob"),
        "somebody unknown": _query(external_id="nobody"),
        "a NUL": _query(external_id="a\x00"),
        "half a surrogate pair": lambda call: [
            replace(call, query="?external_id=%ED%A0%80") for _ in range(call.operation == "findCustomer")
        ],
        "no UTF-8": lambda call: [
            replace(call, query="?external_id=%FF") for _ in range(call.operation == "findCustomer")
        ],
        "a parameter that nobody knows": _query(name="ada"),
        "too long": _query(external_id="x" * 256),
        "SQL": _query(external_id="' OR '1'='1"),
    },
)


def _trigger(**fields: Any) -> Spoil:
    return body_with({**_NOBODY, "external_ids": None, "segment_ids": None, **fields}, of=TRIGGER)


TRIGGERS = cases(
    "trigger",
    {
        "nobody named": _trigger(),
        "a blank external_id": _trigger(external_id=""),
        "spaces for an external_id": _trigger(external_id=" \t "),
        "a blank email": _trigger(email=""),
        "a blank customerId": _trigger(customerId=""),
        "an unknown external_id": _trigger(external_id="nobody"),
        "an external_id in another case": _trigger(external_id="ADA"),
        "an external_id with a space": _trigger(external_id="ada "),
        "an external_id of SQL": _trigger(external_id="' OR '1'='1"),
        "an unknown email": _trigger(email="nobody@example.com"),
        "an email that is none": _trigger(email="ada"),
        "an unknown customerId": _trigger(customerId=_UNKNOWN),
        "a customerId that is none": _trigger(customerId="ada"),
        "an unknown customerId before a known external_id": _trigger(customerId=_UNKNOWN, external_id="ada"),
        "an empty array": _trigger(external_ids=[]),
        "an empty array of segments": _trigger(segment_ids=[]),
        "two empty arrays": _trigger(external_ids=[], segment_ids=[]),
        "only exclusions": _trigger(exclude_external_ids=["ada"]),
        "only a payload": _trigger(payload={"a": 1}),
        "one and many": _trigger(external_id="ada", external_ids=["ada"]),
        "one and a segment": _trigger(email="ada@example.com", segment_ids=[_UNKNOWN]),
        "an unknown segment": _trigger(segment_ids=[_UNKNOWN]),
        "a segment that is none": _trigger(segment_ids=["vip"]),
        "a blank segment": _trigger(segment_ids=[""]),
        "a segment with a NUL in its place": _trigger(segment_ids=[_UNKNOWN[:-1] + " "]),
        "an unknown segment with external_ids": _trigger(external_ids=["ada"], segment_ids=[_UNKNOWN]),
        "a payload 11 deep": _trigger(external_id="ada", payload={"a": [[[[[[[[[[1]]]]]]]]]]}),
        "a payload of 65 KiB": _trigger(external_id="ada", payload={"a": "x" * 65 * 1024}),
    },
)


def _customer(**fields: Any) -> Spoil:
    return body_with({**_NOBODY, **fields}, of=PUT)


CUSTOMERS = cases(
    "customer",
    {
        "nobody named": _customer(),
        "only attributes": _customer(attributes={"a": 1}),
        "a blank identifier": _customer(external_id=" "),
        "the last identifier removed": _customer(external_id="ada", remove=["external_id"]),
        "something removed that is no identifier": _customer(external_id="ada", remove=["attributes"]),
        "an unknown customerId": _customer(customerId=_UNKNOWN),
        "a customerId that is none": _customer(customerId="ada"),
        "an attribute without a name": _customer(external_id="ada", attributes={"": 1}),
        "an attribute of an operator": _customer(external_id="ada", attributes={"$set": 1}),
        "an attribute of a prototype": _customer(external_id="ada", attributes={"__proto__": {"admin": True}}),
        "an attribute of a constructor": _customer(external_id="ada", attributes={"constructor": 1}),
        "an attribute with a name of 256 letters": _customer(external_id="ada", attributes={"x" * 256: 1}),
        "attributes 11 deep": _customer(external_id="ada", attributes={"a": [[[[[[[[[[1]]]]]]]]]]}),
        "attributes of 65 KiB": _customer(external_id="ada", attributes={"a": "x" * 65 * 1024}),
        "two people's identifiers": _customer(external_id="ada", email="bob@example.com"),
        "a batch without customers": body_with({"customers": None}, of=BATCH),
        "members of nothing": body_with({"add": None, "remove": None}, of=MEMBERS),
    },
)


def _bridge(**fields: Any) -> Spoil:
    return body_with(fields, of=BRIDGE)


def _action(kind: str, data: Any = None) -> Spoil:
    return body_with({"actionType": kind, "actionData": data}, of=ACTION)


def _submit(**action: Any) -> Spoil:
    return body_with({"submitAction": action}, of=CAPTURE)


def _attributes(values: Any) -> Spoil:
    """The same attributes by each of the three ways to write some."""

    def spoil(call: Call) -> Iterable[Call]:
        yield from _action("update_profile", {"profileAttributes": values})(call)
        yield from _submit(type="update_profile", profileAttributes=values)(call)
        yield from body_with({"formData": values, "submitAction": None}, of=CAPTURE)(call)

    return spoil


BRIDGES = cases(
    "bridge",
    {
        "nobody named": _bridge(**_NOBODY),
        "a blank identifier": _bridge(**{**_NOBODY, "userId": " "}),
        "four blank identifiers": _bridge(userId="", external_id="", email=" ", phone="\t", externalId=None),
        "only a customerId": _bridge(**{**_NOBODY, "customerId": _UNKNOWN}),
        "only an identifier in snake case": _bridge(**_NOBODY, user_id="u-1"),
        "a userId of 256 letters": _bridge(userId="x" * 256),
        "an external_id of 256 letters": _bridge(**{**_NOBODY, "external_id": "x" * 256}),
        "a phone of 65 digits": _bridge(phone="1" * 65),
        "a phone of letters without end": _bridge(phone="x" * 60_000),
        "no messageId": _bridge(messageId=None),
        "a blank messageId": _bridge(messageId=" "),
        "a messageId of 256 letters": _bridge(messageId="x" * 256),
        "a form 11 deep": _bridge(formData={"a": [[[[[[[[[[1]]]]]]]]]]}),
        "64 KiB and a byte": _bridge(padding="x" * 64 * 1024),
        "no actionType": body_with({"actionType": None}, of=ACTION),
        "a blank actionType": _action(""),
        "an unknown actionType": _action("open"),
        "an actionType in another case": _action("Close"),
        "an actionType with a space": _action("close "),
        "an actionType of the other call": _action("both"),
        "the kind that is kept for forms": _action("capture"),
        "an event without data": _action("track_event"),
        "an event without a name": _action("track_event", {}),
        "an event with a blank name": _action("track_event", {"eventName": " "}),
        "an event with a name of 256 letters": _action("track_event", {"eventName": "x" * 256}),
        "an event with its name outside": body_with({"actionType": "track_event", "eventName": "seen"}, of=ACTION),
        "event properties 11 deep": _action(
            "track_event", {"eventName": "seen", "eventProperties": {"a": [[[[[[[[[[1]]]]]]]]]]}}
        ),
        "a profile without data": _action("update_profile"),
        "a profile without attributes": _action("update_profile", {}),
        "no formData": body_with({"formData": None}, of=CAPTURE),
        "an unknown submit action": _submit(type="none"),
        "a submit action in another case": _submit(type="Both"),
        "a submit action of the other call": _submit(type="close"),
        "a submitted event without a name": _submit(type="track_event"),
        "both without a name": _submit(type="both"),
        "both with a blank name": _submit(type="both", eventName=" "),
        "a submitted event with a name of 256 letters": _submit(type="track_event", eventName="x" * 256),
        "an attribute without a name": _attributes({"": "x"}),
        "an attribute of an operator": _attributes({"$set": "x"}),
        "an attribute of a prototype": _attributes({"__proto__": "x"}),
        "an attribute of a constructor": _attributes({"constructor": "x"}),
        "an attribute with a name of 256 letters": _attributes({"x" * 256: "x"}),
        "a good attribute and a bad one": _attributes({"city": "Ulm", "$where": "x"}),
    },
)

ALL: list[Case] = [*EMAILS, *QUERIES, *TRIGGERS, *CUSTOMERS, *BRIDGES]
