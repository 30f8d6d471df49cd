"""A request as it is written, with templates: what a webhook step and a connection share."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import urlencode

from engage.json.compact import json_bytes, unicode_json
from engage.json.documents import Part, Reading
from engage.sizes import KIB
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
# Beside `url`.
OPTIONAL: Collection[str] = ("method", "headers", "auth", "body", "form", "ok", "keep", "giveUpAfter")
_DEEPEST_BODY = 20
_Word = TypeVar("_Word", bound=str)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"


@dataclass(frozen=True, kw_only=True)
class RequestTemplate:
    """A request whose templates are parsed, and what is to be made of its answer. It has a body or a form, or none."""

    method: str
    url: Url
    headers: Headers
    auth: Auth | None
    body: TemplatedJson | None
    form: TemplatedJson | None
    answer_rules: AnswerRules | None
    give_up_after: timedelta | None

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


def read_request(where: Written, fields: Mapping[str, Part]) -> RequestTemplate:
    """The request in these fields: `url` and those in OPTIONAL; null is as none."""
    given = {name: part for name, part in fields.items() if name in (*OPTIONAL, "url") and not part.is_null}
    content_type = _FORM if "form" in given else _JSON if "body" in given else None
    with Reading() as read:
        method = read(lambda: one_of(fields.get("method"), _METHODS, default="POST"))
        for name in ("body", "form"):
            if method == "GET" and name in given:
                read.note(given[name], "must not be there where the method is GET.")
        if {"body", "form"} <= given.keys():
            read.note(given["form"], "must not be there beside body.")
        body = read(lambda: _read_body(where, given["body"]) if "body" in given else None)
        form = read(lambda: read_members(where, given["form"], deepest=_DEEPEST_BODY) if "form" in given else None)
        url = read(lambda: read_url(where, fields["url"]))
        headers = read(lambda: read_headers(where, given.get("headers"), content_type=content_type))
        auth = read(lambda: read_auth(where, given["auth"]) if "auth" in given else None)
        if auth is not None and _has_header(given.get("headers"), HEADER):
            read.note(given["auth"], f"must not be there beside the header {HEADER}.")
        rules = read(lambda: read_answer_rules(given, stored=where.stored))
        give_up_after = read(lambda: read_timeout(given["giveUpAfter"]) if "giveUpAfter" in given else None)
    return RequestTemplate(
        method=method,
        url=url,
        headers=headers,
        auth=auth,
        body=body,
        form=form,
        answer_rules=rules,
        give_up_after=give_up_after,
    )


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


def one_of(part: Part | None, choices: Sequence[_Word], *, default: _Word) -> _Word:
    """One of these words; the default where there is none."""
    if part is None:
        return default
    text = part.text()
    chosen = next((choice for choice in choices if choice == text), None)
    if chosen is None:
        part.refuse(f"must be one of {', '.join(choices)}.")
    return chosen


def _read_body(where: Written, part: Part) -> TemplatedJson:
    body = read_json(where, part, deepest=_DEEPEST_BODY)
    if not where.stored and body.constant and (size := json_bytes(part.value)) > MAX_BODY_BYTES:
        part.refuse(f"is {size} bytes of JSON; its maximum is {MAX_BODY_BYTES}.")
    return body
