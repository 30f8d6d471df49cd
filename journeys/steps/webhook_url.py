"""The URL of a webhook: scheme, host and port are literal, path and query may contain templates."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from engage.json.documents import Part, Reading
from journeys.rendering import Rendering, parse_url_template
from journeys.steps.results import StepFailed
from journeys.steps.templated import TemplatedText, read_text, render_text
from journeys.steps.webhook_targets import RefusedRequest, Target, parse_target
from journeys.steps.written import Written

MAX_LENGTH = 2048
_MAX_WRITTEN = 16 * 1024
_FORM = re.compile(r"(?P<scheme>[A-Za-z]+)://(?P<authority>[^/?#]*)(?P<rest>.*)", re.DOTALL)
_AUTHORITY = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_GREATEST_PORT = 65535
_NO_HOST = "has no host that can be called; letters beyond ASCII are written as xn--…."
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
# Up to the first question mark that is outside of templates.
_PATH = re.compile(r"(?:\{\{.*?\}\}|\{%.*?%\}|[^?])*", re.DOTALL)
_LITERAL = "%/:?@!$&'()*+,;=~-._[]"
_DOTS = re.compile(r"/\.\.?(?=[/?]|$)")


@dataclass(frozen=True, kw_only=True)
class Url:
    """`origin` is scheme, host and port; `rest` is what follows, with every value percent-encoded."""

    origin: str
    target: Target  # of the origin alone
    rest: str | TemplatedText
    path: str  # as it is written, without the query

    @property
    def authority(self) -> str:
        """Host and port."""
        return self.origin.partition("://")[2]

    @property
    def address(self) -> str:
        """Host and path, without the query: it may hold credentials."""
        return f"{self.authority}{self.path.rstrip('/')}"

    def render(self, rendering: Rendering) -> str:
        """Raises StepFailed if it becomes too long, or if a value puts `.` or `..` into the path."""
        url = _encoded(self.origin, render_text(self.rest, rendering))
        if len(url) > MAX_LENGTH:
            raise StepFailed(f"The url is {len(url)} characters long; the maximum is {MAX_LENGTH}.")
        if _has_dots(url):
            raise StepFailed("The url has . or .. for a part of its path.")
        return url


def _encoded(origin: str, rest: str) -> str:
    return origin + quote(rest, safe=_LITERAL)


def _has_dots(url: str) -> bool:
    """Whether a part of the path is `.` or `..`, which would be resolved to another path."""
    return _DOTS.search(url.partition("?")[0]) is not None


def origin_of(url: object) -> Target | None:
    """Scheme, host and port that a URL as it is written leads to; None if it can lead nowhere."""
    match = _FORM.fullmatch(url) if isinstance(url, str) else None
    try:
        return None if match is None else parse_target(f"{match['scheme'].lower()}://{match['authority']}/")
    except RefusedRequest:
        return None


def read_url(where: Written, part: Part) -> Url:
    """The URL in this part. Refuses any that cannot be called."""
    text = part.text(at_most=_MAX_WRITTEN)
    match = _FORM.fullmatch(text)
    if match is None or match["scheme"].lower() not in {"http", "https"}:
        part.refuse("must begin with http:// or https://.")
    origin, rest = f"{match['scheme'].lower()}://{match['authority']}", match["rest"]
    with Reading() as read:
        target = read(lambda: _read_target(where, part, origin, match["authority"]))
        written = read(lambda: _read_rest(where, part, origin, rest))
    path = _PATH.match(rest)
    return Url(origin=origin, target=target, rest=written, path=path[0] if path else "")


def _read_rest(where: Written, part: Part, origin: str, rest: str) -> str | TemplatedText:
    if "#" in _TEMPLATE.sub("", rest):
        part.refuse("must not have a fragment (#…).")
    if _has_dots(_TEMPLATE.sub("x", rest)):
        part.refuse("must not have . or .. for a part of its path.")
    read = read_text(where, Part(rest, part.place, part.refusal), parse=parse_url_template)
    if not where.stored and isinstance(read, str) and (length := len(_encoded(origin, read))) > MAX_LENGTH:
        part.refuse(f"is {length} characters long; its maximum is {MAX_LENGTH}.")
    return read


def _read_target(where: Written, part: Part, origin: str, authority: str) -> Target:
    """The URL's target. Uses the client's own parser, so that whatever is accepted here can be sent."""
    if "{{" in authority or "{%" in authority:
        part.refuse("may hold templates in its path and query only: its host and port are literal.")
    if "@" in authority:
        part.refuse("must not name a user.")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        part.refuse(_NO_HOST)
    if match["port"] and not 0 < int(match["port"]) <= _GREATEST_PORT:
        part.refuse(f"has a port that is not between 1 and {_GREATEST_PORT}.")
    try:
        target = parse_target(f"{origin}/")
    except RefusedRequest:
        part.refuse(_NO_HOST)
    try:
        if where.require_callable and not where.stored:
            where.require_callable(target)
    except RefusedRequest as refusal:
        part.refuse(f"cannot be called: {refusal}")
    return target
