"""A request as it is written, with templates: what a webhook step and a connection share."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from engage.json.compact import json_bytes, unicode_json
from engage.json.described import names_of, taken_from, told, variants, within, written
from engage.json.documents import Fields, Part, Reading
from engage.notations.sizes import KIB
from journeys.rendering import Rendering
from journeys.steps.answer_rules import AnswerRules, read_answer_rules
from journeys.steps.durations import read_timeout
from journeys.steps.request_auth import HEADER, Auth, read_auth
from journeys.steps.results import StepFailed, WebhookRequest
from journeys.steps.templated import LEFT_OUT, TemplatedJson, read_json, read_members
from journeys.steps.webhook_headers import Headers, read_headers
from journeys.steps.webhook_url import Url, read_url
from journeys.steps.written import Written

MAX_BODY_BYTES = 256 * KIB
_DEEPEST_BODY = 20
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_MASKED = "Kept secret: *** stands for what is stored."
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"


def one_of(*choices: str) -> Callable[[Part], str]:
    """Reads one of these words."""
    return lambda part: part.choice(choices)


def _read_body(where: Written, part: Part) -> TemplatedJson:
    body = read_json(where, part, deepest=_DEEPEST_BODY)
    if not where.stored and body.constant and (size := json_bytes(part.value)) > MAX_BODY_BYTES:
        part.refuse(f"is {size} bytes of JSON; its maximum is {MAX_BODY_BYTES}.")
    return body


def _read_headers(where: Written, parts: Fields) -> Headers:
    written = {name for name, part in parts.items() if not part.is_null}
    content_type = _FORM if "form" in written else _JSON if "body" in written else None
    return read_headers(where, parts["headers"] if "headers" in written else None, content_type=content_type)


def _read_rules(where: Written, parts: Fields) -> AnswerRules | None:
    given = {name: part for name, part in parts.items() if not part.is_null}
    return read_answer_rules(given, stored=where.stored)


@dataclass(frozen=True, kw_only=True)
class RequestTemplate:
    """A request whose templates are parsed, and what is to be made of its answer. It has a body or a form, or none."""

    method: str = written(
        "method",
        one_of(*METHODS),
        default="POST",
        about=told("Method", "choice", choices=[[name, name] for name in METHODS], default="POST"),
    )
    url: Url = within("url", read_url, about=told("URL", "text", start="https://"))
    headers: Headers = taken_from(
        _read_headers, optional=["headers"], about=[{"name": "headers", **told("Headers", "headers", _MASKED)}]
    )
    auth: Auth | None = within("auth", read_auth, default=None, or_null=True, about=told("Sign in", "auth", _MASKED))
    body: TemplatedJson | None = within(
        "body",
        _read_body,
        default=None,
        or_null=True,
        about=variants(
            "Content",
            ("body", "JSON", [{"name": "body", **told("Body", "json", start={})}]),
            ("form", "A form", [{"name": "form", **told("Form", "members", start={})}]),
            otherwise="Nothing",
        ),
    )
    form: TemplatedJson | None = within(
        "form", partial(read_members, deepest=_DEEPEST_BODY), default=None, or_null=True
    )
    answer_rules: AnswerRules | None = taken_from(
        _read_rules,
        optional=["ok", "keep"],
        about=[
            {"name": "ok", **told("It is well if", "condition", "Else the status alone decides.", roots=["answer"])},
            {
                "name": "keep",
                **told("Keep of the answer", "paths", "Later steps read it: a name, and where it stands."),
            },
        ],
    )
    give_up_after: timedelta | None = written(
        "giveUpAfter", read_timeout, default=None, or_null=True, about=told("Give up after", "duration")
    )

    @classmethod
    def check(cls, where: Written, parts: Fields, read: Reading) -> None:
        given = {name: part for name, part in parts.items() if not part.is_null}
        for name in ("body", "form"):
            if name in given and "method" in given and given["method"].value == "GET":
                read.note(given[name], "must not be there where the method is GET.")
        if {"body", "form"} <= given.keys():
            read.note(given["form"], "must not be there beside body.")
        if "auth" in given and _has_header(given.get("headers"), HEADER):
            read.note(given["auth"], f"must not be there beside the header {HEADER}.")

    @property
    def label(self) -> str:
        """What it calls, without what may hold a credential."""
        return f"{self.method} {self.url.address}"

    def render(self, rendering: Rendering) -> WebhookRequest:
        """Raises StepFailed, and UnknownEncryptionKey if a secret could not be decrypted."""
        headers = self.headers.render(rendering)
        return WebhookRequest(
            method=self.method,
            url=self.url.render(rendering),
            host=self.url.target.host_and_port,
            headers=headers if self.auth is None else headers | self.auth.render(rendering),
            body=self._content(rendering),
            answer_rules=None if self.answer_rules is None else self.answer_rules.written,
            give_up_after=self.give_up_after,
        )

    def _content(self, rendering: Rendering) -> str | None:
        if self.form is not None:
            return _fitting(urlencode(list(_pairs(self.form.render(rendering)))), "a form")
        body = LEFT_OUT if self.body is None else self.body.render(rendering)
        return None if body is LEFT_OUT else _fitting(unicode_json(body), "JSON")


def _has_header(part: Part | None, name: str) -> bool:
    written = {} if part is None else part.value
    return isinstance(written, dict) and any(str(one).lower() == name.lower() for one in written)


def _fitting(text: str, kind: str) -> str:
    size = len(text.encode())
    if size > MAX_BODY_BYTES:
        raise StepFailed(f"The body is {size} bytes of {kind}; the maximum is {MAX_BODY_BYTES}.")
    return text


def _pairs(form: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The form's names and texts: a list repeats its name, and null is as a value that is missing."""
    for name, value in form.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                yield name, one if isinstance(one, str) else unicode_json(one)


# Beside `url`.
OPTIONAL = names_of(RequestTemplate).optional
