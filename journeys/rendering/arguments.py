"""What each filter takes, and whether what is written behind it is that: a number too many, or a word for a number."""

import re
from collections.abc import Sequence

from liquid.ast import Node
from liquid.builtin.expressions import FilteredExpression, KeywordArgument, PositionalArgument
from liquid.builtin.expressions.filtered import Filter
from liquid.builtin.expressions.primitive import (
    Blank,
    Empty,
    FalseLiteral,
    FloatLiteral,
    IntegerLiteral,
    Nil,
    RangeLiteral,
    StringLiteral,
    TrueLiteral,
)
from liquid.expression import Expression

from engage.notations.zones import zone_of
from journeys.rendering.expressions import expressions_in

# The kinds of arguments, in order, and the filters that take these; a question mark: it may be left out.
_BY_ARGUMENTS = {
    "": "abs base64_decode base64_encode base64_url_safe_decode base64_url_safe_encode capitalize ceil downcase escape "
    "escape_once escapejs first floor json last lstrip newline_to_br raw reverse rstrip sha256 size squish strip "
    "strip_html strip_newlines upcase url_decode url_encode",
    "text": "append map prepend remove remove_first remove_last",
    "text?": "compact join sort sort_natural split sum uniq",
    "text text": "replace_last",
    "text text?": "replace replace_first",
    "text value?": "find find_index has reject where",
    "text? zone?": "date",
    "number": "at_least at_most divided_by minus modulo plus times",
    "number?": "money round",
    "number number?": "slice",
    "number? text?": "truncate truncatewords",
    "array": "concat",
    "value?": "default",
}
TAKES = {name: kinds.split() for kinds, names in _BY_ARGUMENTS.items() for name in names.split()}
_OPTIONS = {"default": {"allow_false"}}
_IN_WORDS = {
    "text": "a text",
    "number": "a number",
    "array": "an array",
    "value": "a value",
    "zone": "a time zone such as Europe/Berlin",
}
_NUMBER = re.compile(r"\s*-?[0-9]+(\.[0-9]+)?\s*")
_NO_TEXTS = (Blank, Empty, FalseLiteral, Nil, RangeLiteral, TrueLiteral)
_NO_ARRAYS = (Blank, Empty, FalseLiteral, FloatLiteral, IntegerLiteral, Nil, StringLiteral, TrueLiteral)


def wrong_arguments(nodes: Sequence[Node]) -> list[str]:
    """Each filter in the template that is given too few or too many arguments, or a literal of a wrong kind."""
    filtered = (one for one in expressions_in(nodes) if isinstance(one, FilteredExpression))
    found = (_wrong(used) for one in filtered for used in one.filters or ())
    return list(dict.fromkeys(filter(None, found)))


def _wrong(used: Filter) -> str | None:
    kinds = TAKES[used.name]
    values = [given.value for given in used.args if isinstance(given, PositionalArgument)]
    names = {given.name for given in used.args if isinstance(given, KeywordArgument)}
    least = sum(not kind.endswith("?") for kind in kinds)
    fits = (
        least <= len(values) <= len(kinds)
        and names <= _OPTIONS.get(used.name, set())
        and all(_may_be(kind.removesuffix("?"), value) for kind, value in zip(kinds, values, strict=False))
    )
    return None if fits else f"gives the filter {used.name} what it does not take: {_takes(kinds, least)}."


def _may_be(kind: str, value: Expression) -> bool:
    """Whether the argument may be of this kind: what is no literal may be of any."""
    match kind, value:
        case "number", StringLiteral(value=text):
            return _NUMBER.fullmatch(text) is not None
        case "zone", StringLiteral(value=text):
            return zone_of(text) is not None
        case "zone", IntegerLiteral() | FloatLiteral():
            return False
        case "text" | "number" | "zone", _:
            return not isinstance(value, _NO_TEXTS)
        case "array", _:
            return not isinstance(value, _NO_ARRAYS)
    return True


def _takes(kinds: Sequence[str], least: int) -> str:
    if not kinds:
        return "it takes nothing"
    words = [_IN_WORDS[kind.removesuffix("?")] for kind in kinds]
    wanted, more = words[:least], words[least:]
    if not more:
        return f"it takes {' and '.join(wanted)}"
    return f"it takes {' and '.join([*wanted, ''])}{'perhaps ' + ' and '.join(more)}"
