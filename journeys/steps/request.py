"""A request as it is written, with templates: what a webhook step and a connection share."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engage.json.compact import json_bytes, unicode_json
from engage.json.documents import Part, Reading
from engage.sizes import KIB
from journeys.rendering import Rendering
from journeys.steps.results import StepFailed, WebhookRequest
from journeys.steps.templated import LEFT_OUT, TemplatedJson, read_json
from journeys.steps.webhook_headers import Headers, read_headers
from journeys.steps.webhook_url import Url, read_url
from journeys.steps.written import Written

MAX_BODY_BYTES = 256 * KIB
OPTIONAL: Collection[str] = ("method", "headers", "body")  # beside `url`
_DEEPEST_BODY = 20
_Word = TypeVar("_Word", bound=str)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, kw_only=True)
class RequestTemplate:
    """A request whose templates are parsed."""

    method: str
    url: Url
    headers: Headers
    body: TemplatedJson | None

    @property
    def label(self) -> str:
        """What it calls, without what may hold a credential."""
        return f"{self.method} {self.url.address}"

    def render(self, rendering: Rendering) -> WebhookRequest:
        """Raises StepFailed, and UnknownEncryptionKey if a secret could not be decrypted."""
        return WebhookRequest(
            method=self.method,
            url=self.url.render(rendering),
            host=self.url.target.host_and_port,
            headers=self.headers.render(rendering),
            body=None if self.body is None else _encoded(self.body.render(rendering)),
        )


def read_request(where: Written, fields: Mapping[str, Part]) -> RequestTemplate:
    """The request in these fields: `url` and those in OPTIONAL."""
    with Reading() as read:
        method = read(lambda: one_of(fields.get("method"), _METHODS, default="POST"))
        body = read(lambda: _read_body(where, fields.get("body")))
        if method == "GET" and body is not None:
            read.note(fields["body"], "must not be there where the method is GET.")
        url = read(lambda: read_url(where, fields["url"]))
        headers = read(lambda: read_headers(where, fields.get("headers"), has_body=body is not None))
    return RequestTemplate(method=method, url=url, headers=headers, body=body)


def _encoded(body: object) -> str | None:
    if body is LEFT_OUT:
        return None
    text = unicode_json(body)
    size = len(text.encode())
    if size > MAX_BODY_BYTES:
        raise StepFailed(f"The body is {size} bytes of JSON; the maximum is {MAX_BODY_BYTES}.")
    return text


def one_of(part: Part | None, choices: Sequence[_Word], *, default: _Word) -> _Word:
    """One of these words; the default where there is none."""
    if part is None:
        return default
    text = part.text()
    chosen = next((choice for choice in choices if choice == text), None)
    if chosen is None:
        part.refuse(f"must be one of {', '.join(choices)}.")
    return chosen


def _read_body(where: Written, part: Part | None) -> TemplatedJson | None:
    """null means no body."""
    if part is None or part.is_null:
        return None
    body = read_json(where, part, deepest=_DEEPEST_BODY)
    if not where.stored and body.constant and (size := json_bytes(part.value)) > MAX_BODY_BYTES:
        part.refuse(f"is {size} bytes of JSON; its maximum is {MAX_BODY_BYTES}.")
    return body
