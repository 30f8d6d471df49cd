"""What is secret in a request as it is written: it is stored encrypted, shown as MASK, and goes to no other host.

A request is a step that sends one, or a connection. Secret are the values of its headers (but the content type, which
says nothing), all of `auth`, and the URL where `secretUrl` says so. MASK that comes back means *as stored*: for the
same step or key, and as long as the URL leads to the same host.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from engage.json.documents import Part
from journeys.steps.webhook_url import origin_of
from journeys.steps.written import InvalidSteps, Written

MASK = "***"
_OTHER = f"{MASK} (another)"
_OPEN = "content-type"
Path = tuple[str, ...]
Change = Callable[[Path, Any], Any]

# Words that indicate a credential anywhere in a name, and those that do so only as whole words.
_NAME = re.compile(
    r"auth|cookie|token|secret|passw|passphrase|credential|session|signature|api[-_]?key|access[-_]?key"
    r"|(?<![a-z])(?:key|sig|pwd|pass|jwt|bearer|hmac)(?![a-z])",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"(?<=[?&])([^=&]+)=[^&]+")


class SecretNeeded(InvalidSteps):
    """A secret was sent as its mask, but nothing is stored that could be meant."""

    status = 422
    error = "Secret needed"


def secrets_of(request: Any) -> dict[Path, Any]:
    """The request's secrets by where they stand; null is one that was never given."""
    found: dict[Path, Any] = {}

    def note(path: Path, value: Any) -> Any:
        if not is_open(path):
            found[path] = value
        return value

    with_secrets(request, note)
    return found


def refuse_mask(where: Written, part: Part) -> None:
    """Refuses MASK where nothing is stored in its place, or only for another host."""
    if part.value == MASK and not where.stored:
        replace(part, refusal=SecretNeeded).refuse(
            f"needs its value: {MASK} keeps what is stored for the same step and the same host, and there is nothing."
        )


def with_secrets(request: Any, change: Change) -> Any:
    """The request with each secret replaced by what `change` makes of its path and its value; the order is kept."""
    if not isinstance(request, dict):
        return request
    changed = {name: _changed((name,), request[name], change) for name in ("headers", "auth") if name in request}
    if request.get("secretUrl") is True and "url" in request:
        changed["url"] = change(("url",), request["url"])
    return {**request, **changed}


def _changed(path: Path, value: Any, change: Change) -> Any:
    if isinstance(value, dict) and set(value) != {"env"}:
        return {name: _changed((*path, name), member, change) for name, member in value.items()}
    return change(path, value)


def is_open(path: Path) -> bool:
    """Whether what stands there is shown to everybody."""
    return path[0] == "headers" and path[-1].lower() == _OPEN


def masked(request: Any) -> Any:
    """The request as it is shown: nobody reads a secret again."""
    return with_secrets(request, lambda path, value: value if _is_shown(path, value) else MASK)


def masked_steps(steps: Any) -> Any:
    """Steps of any form, as they are shown."""
    return [masked(step) for step in steps] if isinstance(steps, list) else steps


def steps_masked_beside(steps: Any, before: Any) -> Any:
    """The same beside other steps; where a secret is another one than in the step of the same id, that is said."""
    if not isinstance(steps, list):
        return steps
    known = _by_id(before)

    def shown(step: Any) -> Any:
        other = known.get(_id_of(step))
        return with_secrets(step, lambda path, value: value if _is_shown(path, value) else _beside(path, value, other))

    return [shown(step) for step in steps]


def _is_shown(path: Path, value: Any) -> bool:
    return is_open(path) or value is None or value in (MASK, _OTHER)


def _beside(path: Path, value: Any, other: Any) -> str:
    return MASK if other is None or _at(path, other) in (value, MASK) else _OTHER


def as_stored(request: Any, stored: Any, *, null_too: bool = False) -> Any:
    """The request, in which MASK is what is stored in its place, if its URL leads to the host of the stored one.

    `null_too`: null counts as MASK where something is stored.
    """
    if not isinstance(request, dict) or not isinstance(stored, dict):
        return request
    masks = (MASK, None) if null_too else (MASK,)
    if request.get("url", "") in masks and stored.get("secretUrl") is True:
        request = {**request, "url": stored.get("url"), "secretUrl": True}
    origin = origin_of(request.get("url"))
    if origin is None or origin != origin_of(stored.get("url")):
        return request

    def known(path: Path, value: Any) -> Any:
        found = _at(path, stored) if value in masks else MASK
        return value if found == MASK else found

    return with_secrets(request, known)


def steps_as_stored(steps: Any, stored: Any) -> Any:
    """Steps of any form; each takes what is stored of the step with its id."""
    known = _by_id(stored)
    return [as_stored(step, known.get(_id_of(step))) for step in steps] if isinstance(steps, list) else steps


def _by_id(steps: Any) -> dict[str, Any]:
    return {_id_of(step): step for step in steps if _id_of(step)} if isinstance(steps, list) else {}


def _id_of(step: Any) -> str:
    found = step.get("id") if isinstance(step, dict) else None
    return found if isinstance(found, str) else ""


def _at(path: Path, stored: Any) -> Any:
    """What is stored there; MASK if nothing is, which no parser takes."""
    for name in path:
        stored = stored.get(name) if isinstance(stored, Mapping) else None
    return MASK if stored is None else stored


def url_without_secrets(url: str) -> str:
    """The URL, with the values of query parameters hidden where the name indicates a credential."""
    return _PARAMETER.sub(lambda found: f"{found[1]}={MASK}" if _NAME.search(found[1]) else found[0], url)
