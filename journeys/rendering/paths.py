"""The value that a name leads to, with its type: names are written and looked up as in templates."""

from dataclasses import dataclass

from liquid import BoundTemplate
from liquid.ast import Node
from liquid.builtin.expressions import FilteredExpression, Path
from liquid.builtin.output import OutputNode

from journeys.rendering.context import Context, written_name
from journeys.rendering.failures import InvalidTemplate
from journeys.rendering.names import Names, may_have_a_value
from journeys.rendering.rendering import Rendering
from journeys.rendering.template import is_template, parse_expression

_EXAMPLE = "api.payload.items[0].price"


@dataclass(frozen=True)
class ValuePath:
    """Names and positions that lead to a value: `api.payload.items[0]["odd name"]`."""

    names: tuple[str | int, ...]
    parsed: BoundTemplate

    @property
    def name(self) -> str:
        """As the history notes it."""
        return written_name(self.names)

    def may_have_a_value(self, known: Names) -> bool:
        return may_have_a_value(self.names, known)

    def name_after(self, root: str) -> str | None:
        """The name that follows this one, if it begins with it."""
        first, second = (*self.names, None)[:2]
        return second if first == root and isinstance(second, str) else None

    def find(self, rendering: Rendering) -> object:
        """The value, which may be null. Raises LookupError if there is none, RenderingFailed if time is up."""
        return Context(self.parsed, rendering).find(self.names)


def parse_path(text: str) -> ValuePath:
    """Raises InvalidTemplate, also for what is more than a name: a filter, a literal, a name in brackets."""
    parsed = None if is_template(text) else parse_expression(text)
    match parsed and parsed.nodes:
        case [Node() as node] if parsed and isinstance(node, OutputNode):
            names = _names(node.expression)
            if names:
                return ValuePath(names, parsed)
    raise InvalidTemplate(f"must be the name of a value and nothing else, such as {_EXAMPLE}.")


def _names(expression: object) -> tuple[str | int, ...]:
    """The names of a plain path; none if it is anything else."""
    match expression:
        case FilteredExpression(left=Path(path=path), filters=None | []):
            plain = tuple(name for name in path if isinstance(name, str | int))
            return plain if len(plain) == len(path) else ()
    return ()
