"""Ranges such as (1..5): cheap to make, and endless to go through where nobody looks at their length."""

from liquid import RenderContext
from liquid.builtin.expressions.primitive import RangeLiteral
from liquid.expression import Expression
from liquid.limits import to_int

from journeys.rendering.failures import RenderingFailed
from journeys.rendering.values import MAX_ITEMS


class _NearEnd(Expression):
    """The end of a range, refused where it is too far from the start."""

    __slots__ = ("start", "stop")

    def __init__(self, start: Expression, stop: Expression) -> None:
        super().__init__(stop.token)
        self.start, self.stop = start, stop

    def evaluate(self, context: RenderContext) -> object:
        stop = self.stop.evaluate(context)
        if _whole(stop) - _whole(self.start.evaluate(context)) >= MAX_ITEMS:
            raise RenderingFailed(f"a range holds more than {MAX_ITEMS} numbers.")
        return stop

    def children(self) -> list[Expression]:
        return [self.stop]


def bound_range(literal: RangeLiteral) -> None:
    """Has the range look at its length whenever it is made."""
    literal.stop = _NearEnd(literal.start, literal.stop)


def _whole(value: object) -> int:
    """What a range takes the value for: 0 where it is no whole number."""
    try:
        return to_int(value)
    except (ValueError, TypeError):
        return 0
