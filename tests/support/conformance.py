"""Holds what the service answers, and what it takes, to its OpenAPI document in the strict form."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.urls import Resolver404, resolve
from jsonschema_rs import Draft202012, Draft202012Validator, Registry

from config.docs.documentation import openapi_document

_DOCUMENT = "urn:engage"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A request and what came back."""

    method: str
    path: str
    sent: bytes
    status: int
    headers: Mapping[str, str]
    received: bytes

    def hold_to_document(self) -> None:
        """AssertionError where the document does not describe this answer, or the body of a call that succeeded.

        Addresses that no route knows are not its business, and neither are preflights, which never reach a call.
        """
        template = template_of(self.path)
        if template is None or "access-control-allow-methods" in self.headers or self.method == "HEAD":
            return
        calls = at("/paths").get(template)
        assert calls is not None, f"The document does not know {template}."
        if self.method.lower() in calls:
            self._hold(f"/paths/{escaped(template)}/{self.method.lower()}")
        else:
            assert self.status >= HTTPStatus.BAD_REQUEST, f"The document does not know {self.method} {template}."
            _hold(self.received, "/components/schemas/Failure", str(self))

    def _hold(self, call: str) -> None:
        body = at(call).get("requestBody")
        if self.status < HTTPStatus.BAD_REQUEST and body and (self.sent or body["required"]):
            _hold(self.sent, f"{call}/requestBody/content/application~1json/schema", f"The body of {self}")
        place = f"{call}/responses/{self.status}"
        assert str(self.status) in at(f"{call}/responses"), f"The document does not know {self}."
        place = target(place)
        if self.status == HTTPStatus.NOT_MODIFIED:
            assert not self.received, f"{self} has a body."
            return
        media_type = self.headers.get("Content-Type", "").split(";")[0]
        assert media_type in at(f"{place}/content"), f"The document does not know {media_type!r} of {self}."
        missing = _required_headers(place) - {name.lower() for name in self.headers}
        assert not missing, f"{missing} missing from {self}."
        _hold(self.received, f"{place}/content/{escaped(media_type)}/schema", str(self))

    def __str__(self) -> str:
        return f"{self.method} {self.path} -> {self.status}"


def template_of(path: str) -> str | None:
    """The path as the document writes it, where it leads to a call of the interface."""
    try:
        route = resolve(unquote(urlsplit(path).path)).route
    except Resolver404:
        return None
    if not route.startswith("api/v1/"):
        return None
    return "/" + re.sub(r"<(?:str|path):(\w+)>", lambda found: "{" + _camel_case(found[1]) + "}", route)


def violation(value: Any, schema: str, *, strict: bool = True) -> str:
    """What about the value breaks the schema at this JSON pointer of the document; "" where nothing does."""
    error = next(_validator(schema, strict=strict).iter_errors(value), None)
    return f"{'.'.join(map(str, error.instance_path))} {error.message[:500]}".strip() if error else ""


def _hold(raw: bytes, schema: str, called: str) -> None:
    broken = violation(json.loads(raw), schema)
    assert not broken, f"{called} is not as documented: {broken}"


@cache
def _required_headers(response: str) -> frozenset[str]:
    headers = at(response)["headers"]
    return frozenset(name.lower() for name, header in headers.items() if referred(header).get("required"))


@cache
def _validator(schema: str, *, strict: bool) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"{_DOCUMENT}#{quote(schema)}"}, registry=_registry(strict=strict))


@cache
def _registry(*, strict: bool) -> Registry:
    return Registry([(_DOCUMENT, openapi_document(strict=strict))], draft=Draft202012)


def target(pointer: str) -> str:
    """The JSON pointer to which the reference at this one leads; this one if there is no reference."""
    return str(at(pointer).get("$ref", pointer)).removeprefix("#")


def referred(part: Any) -> Any:
    """What the reference leads to; the part itself if it is none."""
    return at(part["$ref"]) if "$ref" in part else part


def at(pointer: str, *, strict: bool = True) -> Any:
    """The part of the document at this JSON pointer."""
    found: Any = openapi_document(strict=strict)
    for step in pointer.removeprefix("#").split("/")[1:]:
        found = found[step.replace("~1", "/").replace("~0", "~")]
    return found


def escaped(step: str) -> str:
    """A name as a step of a JSON pointer."""
    return step.replace("~", "~0").replace("/", "~1")


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))
