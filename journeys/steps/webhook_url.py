"""The URL of a webhook: where it goes is literal, what it says there may hold templates."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from engage.documents import Part
from journeys.rendering import Rendering, parse_url_template
from journeys.steps.outcomes import StepFailed
from journeys.steps.templated import TemplatedText, read_text, written
from journeys.steps.written import WrittenStep

MAX_LENGTH = 2048
_MAX_WRITTEN = 16 * 1024
_FORM = re.compile(r"(?P<scheme>[A-Za-z]+)://(?P<authority>[^/?#]*)(?P<rest>.*)", re.DOTALL)
_HOST = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_GREATEST_PORT = 65535
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_LITERAL = "%/:?@!$&'()*+,;=~-._[]"
_DOTS = re.compile(r"/\.\.?(?=[/?]|$)")


@dataclass(frozen=True, kw_only=True)
class Url:
    """`origin` is scheme, host and port; `rest` is what follows, with every value percent-encoded."""

    origin: str
    rest: str | TemplatedText

    @property
    def authority(self) -> str:
        """Host and port."""
        return self.origin.partition("://")[2]

    def render(self, rendering: Rendering) -> str:
        """Raises StepFailed where it becomes too long, or where a value leads to another path."""
        url = self.origin + quote(written(self.rest, rendering), safe=_LITERAL)
        if len(url) > MAX_LENGTH:
            raise StepFailed(f"The url is {len(url)} characters long; the maximum is {MAX_LENGTH}.")
        if _has_dots(url):
            raise StepFailed("The url has . or .. for a part of its path.")
        return url


def _has_dots(url: str) -> bool:
    """Whether a part of the path would be taken for "here" or "above", and be resolved."""
    return _DOTS.search(url.partition("?")[0]) is not None


def read_url(step: WrittenStep, part: Part) -> Url:
    """The URL that stands here."""
    text = part.text(at_most=_MAX_WRITTEN)
    match = _FORM.fullmatch(text)
    if match is None or match["scheme"].lower() not in {"http", "https"}:
        part.refuse("must begin with http:// or https://.")
    authority, rest = match["authority"], match["rest"]
    _check_authority(part, authority)
    if "#" in _TEMPLATE.sub("", rest):
        part.refuse("must not have a fragment (#…).")
    if _has_dots(_TEMPLATE.sub("x", rest)):
        part.refuse("must not have . or .. for a part of its path.")
    read = read_text(step, Part(rest, part.place, part.refusal), parse=parse_url_template)
    return Url(origin=f"{match['scheme'].lower()}://{authority}", rest=read)


def _check_authority(part: Part, authority: str) -> None:
    if "{{" in authority or "{%" in authority:
        part.refuse("may hold templates in its path and query only: its host and port are literal.")
    if "@" in authority:
        part.refuse("must not name a user.")
    match = _HOST.fullmatch(authority)
    if match is None:
        part.refuse("has no host that can be called; letters beyond ASCII are written as xn--….")
    if match["port"] and not 0 < int(match["port"]) <= _GREATEST_PORT:
        part.refuse(f"has a port that is not between 1 and {_GREATEST_PORT}.")
