"""Where in the text of a JSON document its values stand."""

import json
import re
from collections.abc import Iterator, Mapping

Span = tuple[int, int]
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


def spans_in(text: str, root: str) -> dict[str, Span]:
    """Beginning and end of every value by its place, as `Part` spells it; `root` is that of the whole.

    The text must be JSON, and not be nested more deeply than Python can parse it.
    """
    spans: dict[str, Span] = {}
    tokens = _TOKEN.finditer(text)
    _read(next(tokens), tokens, root, spans)
    return spans


def _read(opening: re.Match[str], tokens: Iterator[re.Match[str]], place: str, spans: dict[str, Span]) -> None:
    end = opening
    if opening.group() in {"{", "["}:
        end = _read_inside(tokens, place, spans, is_object=opening.group() == "{")
    spans[place] = opening.start(), end.end()


def _read_inside(
    tokens: Iterator[re.Match[str]], place: str, spans: dict[str, Span], *, is_object: bool
) -> re.Match[str]:
    """Reads items or members, and returns the closing bracket."""
    number = 0
    for token in tokens:
        if token.group() in {"}", "]"}:
            return token
        if token.group() == ",":
            continue
        if is_object:
            name = json.loads(token.group())
            next(tokens)  # the colon
            _read(next(tokens), tokens, f"{place}.{name}" if place else name, spans)
        else:
            _read(token, tokens, f"{place}[{number}]", spans)
            number += 1
    raise ValueError("The text is no JSON.")


def span_of(message: str, spans: Mapping[str, Span]) -> Span | None:
    """The span of the innermost value that is there and whose place the message begins with; None if there is none."""
    named = [place for place in spans if message.startswith(place) and not message[len(place) :][:1].isalnum()]
    return spans[max(named, key=len)] if named else None
