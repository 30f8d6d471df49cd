"""Finds the expressions of a template."""

from collections.abc import Iterator, Sequence
from typing import Any

from liquid.ast import Node
from liquid.expression import Expression


def expressions_in(nodes: Sequence[Node]) -> Iterator[Expression]:
    """All expressions in the nodes, including nested ones."""
    static: Any = None  # needed only by tags that load other templates
    for node in nodes:
        pending = list(node.expressions())
        while pending:
            expression = pending.pop()
            yield expression
            pending += expression.children()
        yield from expressions_in(list(node.children(static)))
