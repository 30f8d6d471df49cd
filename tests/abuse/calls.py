"""Every call that the OpenAPI document knows, as it succeeds, and what is needed to spoil it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.conformance import at

QUERIES = {"findCustomer": "?external_id=ada", "getDueMessages": "?userId=u-1"}
INSTEAD = {"recordShownMessage": {"userId": "u-shown"}}  # in the body: whom no other call's example names


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call; `ids` are those of the path. `raw` is sent instead of the body where there is one."""

    operation: str
    method: str
    template: str
    schema: Mapping[str, Any] | None
    body: Mapping[str, Any] | None
    ids: Mapping[str, str]
    query: str = ""
    needs_body: bool = True
    raw: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def path(self) -> str:
        path = self.template
        for name, value in self.ids.items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        return path + self.query

    @property
    def is_of_sdk(self) -> bool:
        return "/sdk/" in self.template

    @property
    def fields(self) -> Mapping[str, Any]:
        """The described fields of the body."""
        return dict(self.schema["properties"]) if self.schema else {}

    def sent_by(self, caller: ServerClient | SdkClient) -> Answer:
        raw = self.raw
        if raw is None and self.body is not None:
            raw = json.dumps(self.body).encode()
        options = {} if raw is None else {"content_type": self.content_type}
        return caller.call(self.method, self.path, raw, headers=dict(self.headers), **options)


# What a case makes of a call that is good: the bad ones; none where it has nothing to do with such a call.
Spoil = Callable[[Call], Iterable[Call]]


@dataclass(frozen=True)
class Case:
    """One way in which a call is bad; the name says what is."""

    name: str
    spoil: Spoil


def good_calls(ids: Mapping[str, str]) -> Iterator[Call]:
    """Every call of the document, with its first example as the body and these ids in the path."""
    for template, methods in at("/paths").items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            needs_body = operation.get("requestBody", {}).get("required", False)
            example = next(iter(content["examples"].values()))["value"] if content else None
            yield Call(
                operation=operation["operationId"],
                method=method.upper(),
                template=template,
                schema=resolved(content["schema"]) if content else None,
                body=example and {**example, **INSTEAD.get(operation["operationId"], {})},
                ids={name: value for name, value in ids.items() if f"{{{name}}}" in template},
                query=QUERIES.get(operation["operationId"], ""),
                needs_body=needs_body,
            )


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a reference leads to; also where null is allowed beside it."""
    if "$ref" in schema:
        return resolved(at(schema["$ref"]))
    for choice in ("anyOf", "oneOf", "allOf"):
        referring = [part for part in schema.get(choice, []) if "$ref" in part]
        if len(referring) == 1:
            return resolved(referring[0])
    return schema


# Spoiling -----------------------------------------------------------------------------------------------------------


def body_is(raw: bytes, **options: Any) -> Spoil:
    """Other bytes than the body's; none at all only where one is needed."""
    return lambda call: (
        [replace(call, raw=raw, **options)] if call.body is not None and (raw or call.needs_body) else []
    )


def body_holds(value: bytes) -> Spoil:
    """The body, and one more member with this value, whatever it is."""

    def spoil(call: Call) -> Iterable[Call]:
        if call.body is not None:
            yield replace(call, raw=json.dumps({**call.body, "more": 0}).encode().removesuffix(b"0}") + value + b"}")

    return spoil


def body_with(fields: Mapping[str, Any], *, of: Iterable[str]) -> Spoil:
    """The body with these fields instead (None takes one away), in the calls named."""

    def spoil(call: Call) -> Iterable[Call]:
        if call.body is not None and call.operation in of:
            merged = {**call.body, **fields}
            yield replace(call, body={name: value for name, value in merged.items() if value is not None})

    return spoil


def header(name: str, value: str | None, *, to_sdk: bool | None = None, with_body: bool = False) -> Spoil:
    """Another header, in the calls of SDKs or of servers or of both; `with_body`: only where there is a body."""

    def spoil(call: Call) -> Iterable[Call]:
        if to_sdk in {None, call.is_of_sdk} and not (with_body and call.body is None):
            yield replace(call, headers={**call.headers, name: value})

    return spoil


def cases(prefix: str, spoils: Mapping[str, Spoil]) -> list[Case]:
    return [Case(f"{prefix}: {name}", spoil) for name, spoil in spoils.items()]
