"""Whether what a template puts out could be markup that a value brought with it."""

import re
from collections.abc import Sequence
from typing import Any

from liquid.ast import Node
from liquid.builtin import content
from liquid.builtin.expressions import FilteredExpression
from liquid.builtin.expressions.primitive import Literal
from liquid.builtin.output import OutputNode
from liquid.expression import Expression

from journeys.rendering.text_filters import escape

_ESCAPING = {"escape", "escape_once", "raw"}  # `raw` says that the author answers for it
_UNDOING = {"url_decode", "base64_decode", "base64_url_safe_decode"}
_TAG = re.compile(r"</?[A-Za-z][^<]*>|<!--")


def escaped(value: Any) -> Any:
    """The JSON with the markup in its texts escaped."""
    match value:
        case str():
            return escape(value)
        case dict():
            return {name: escaped(item) for name, item in value.items()}
        case list():
            return [escaped(item) for item in value]
    return value


def is_escaped(expression: Expression) -> bool:
    """Whether every value in it goes through `escape` or `raw`, and no later filter adds one or undoes that."""
    if not isinstance(expression, FilteredExpression):
        return False
    used = list(expression.filters or ())
    escaped = max((place + 1 for place, one in enumerate(used) if one.name in _ESCAPING), default=0)
    if any(one.name in _UNDOING for one in used[escaped:]):
        return False
    values = [argument for one in used[escaped:] for argument in one.children()]
    return all(isinstance(value, Literal) for value in (values if escaped else [expression.left, *values]))


def mixes_markup(nodes: Sequence[Node]) -> bool:
    """Whether there is a literal tag among them, and an output that is not escaped."""
    flat = list(_flat(nodes))
    tag = any(isinstance(node, content.ContentNode) and _TAG.search(node.text) for node in flat)
    return tag and any(isinstance(node, OutputNode) and not is_escaped(node.expression) for node in flat)


def _flat(nodes: Sequence[Node]) -> list[Node]:
    static: None = None  # needed only by tags that load other templates
    return [one for node in nodes for one in (node, *_flat(list(node.children(static))))]  # type: ignore[arg-type]
