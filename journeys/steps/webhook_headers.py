"""The headers of a webhook: literal names, and values whose templates cannot break out of their line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from engage.credentials.sealed import UnknownEncryptionKey, is_sealed
from engage.json.documents import Part, Reading
from journeys.rendering import Rendering
from journeys.steps.results import StepFailed
from journeys.steps.secrets import refuse_mask
from journeys.steps.templated import TemplatedText, read_text, render_text
from journeys.steps.written import Written

MAX_HEADERS = 30
MAX_VALUE_LENGTH = 1024
_MAX_NAME_LENGTH = 100
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CONTENT_TYPE = "content-type"
_BEYOND_LATIN_1 = re.compile(r"[^\x00-\xff]")
# Headers that control where and how the request is sent, and those that carry the service's signature.
RESERVED_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "webhook-id",
        "webhook-request-id",
        "webhook-signature",
        "webhook-timestamp",
    }
)


@dataclass(frozen=True)
class Headers:
    """Headers by name, in order."""

    values: Mapping[str, str | TemplatedText]

    def has(self, name: str) -> bool:
        """Whether there is a header of this name, which is in lower case."""
        return any(one.lower() == name for one in self.values)

    def render(self, rendering: Rendering) -> dict[str, str]:
        """Raises StepFailed if a value is not valid in a header, UnknownEncryptionKey if it could not be decrypted."""
        if any(map(is_sealed, self.values.values())):
            raise UnknownEncryptionKey
        return {name: _checked(name, render_text(value, rendering)) for name, value in self.values.items()}


def _checked(name: str, value: str) -> str:
    if problem := problem_of(value):
        raise StepFailed(f"The header {name} {problem}.")
    return value.strip(" ")


def problem_of(value: str) -> str | None:
    if len(value) > MAX_VALUE_LENGTH:
        return f"is {len(value)} characters long; the maximum is {MAX_VALUE_LENGTH}"
    if _CONTROL.search(value):
        return "holds a line break or another control character"
    if _BEYOND_LATIN_1.search(value):
        return "holds a character that no header can hold"
    return None


def read_headers(where: Written, part: Part | None, *, content_type: str | None) -> Headers:
    """The headers in this part, with the content type of the body, if there is one; they may not name another."""
    headers = Headers({} if part is None else _read(where, part))
    if content_type is None:
        return headers
    if not headers.has(_CONTENT_TYPE):
        return Headers({"Content-Type": content_type, **headers.values})
    if part is not None and not where.stored:
        with Reading() as read:
            for name, member in part.members().items():
                if name.lower() == _CONTENT_TYPE and _is_another(headers.values[name], content_type):
                    read.note(member, f"contradicts what is sent, which is {content_type}.")
    return headers


def _is_another(value: str | TemplatedText, content_type: str) -> bool:
    """Whether a content type that is written out is not this one; many are JSON, such as application/ld+json."""
    if not isinstance(value, str) or is_sealed(value):
        return False
    kind = value.partition(";")[0].strip().lower()
    return kind != content_type and not ("json" in kind and "json" in content_type)


def _read(where: Written, part: Part) -> dict[str, str | TemplatedText]:
    members = part.members()
    if len(members) > MAX_HEADERS:
        part.refuse(f"holds {len(members)} headers; its maximum is {MAX_HEADERS}.")
    seen: set[str] = set()
    with Reading() as read:
        for name, member in members.items():
            read(partial(_check_name, member, name))
            if name.lower() in seen:
                read.note(member, "stands there twice; small and capital letters are the same.")
            seen.add(name.lower())
        values = read.each(members.values(), lambda member: read_secret(where, member))
    return dict(zip(members, values, strict=True))


def _check_name(part: Part, name: str) -> None:
    if not _TOKEN.fullmatch(name) or len(name) > _MAX_NAME_LENGTH:
        part.refuse("is no name for a header.")
    if name.lower() in RESERVED_HEADERS:
        part.refuse("must not be set: the service sets it.")


def read_secret(where: Written, part: Part) -> str | TemplatedText:
    if is_sealed(part.value):
        if not where.stored:
            part.refuse("cannot be decrypted: ENCRYPTION_KEYS lacks its key. Write the value itself.")
        return str(part.value)
    refuse_mask(where, part)
    value = read_text(where, part)
    if isinstance(value, str) and (problem := problem_of(value)):
        part.refuse(f"{problem}.")
    return value
