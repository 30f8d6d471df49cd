"""Bounds ranges such as (1..5), which are cheap to create and could take forever to iterate over."""

from liquid import RenderContext
from liquid.builtin.expressions.primitive import RangeLiteral
from liquid.expression import Expression
from liquid.limits import to_int

from journeys.rendering.context import Context
from journeys.rendering.failures import RenderingFailed
from journeys.rendering.values import MAX_ITEMS, units_of


class _NearEnd(Expression):
    """The end of a range, refused if it is too far from the start."""

    __slots__ = ("start", "stop")

    def __init__(self, start: Expression, stop: Expression) -> None:
        super().__init__(stop.token)
        self.start, self.stop = start, stop

    def evaluate(self, context: RenderContext) -> object:
        stop = self.stop.evaluate(context)
        numbers = range(_whole(self.start.evaluate(context)), _whole(stop))
        if numbers.stop - numbers.start >= MAX_ITEMS:
            raise RenderingFailed(f"a range holds more than {MAX_ITEMS} numbers.")
        if isinstance(context, Context):
            context.work(units_of(numbers))
        return stop

    def children(self) -> list[Expression]:
        return [self.stop]

    def __str__(self) -> str:  # a loop that continues another is found by what both are written like
        return str(self.stop)


def bound_range(literal: RangeLiteral) -> None:
    """Makes the range check its length whenever it is evaluated."""
    literal.stop = _NearEnd(literal.start, literal.stop)


def _whole(value: object) -> int:
    """The number that a range takes the value for: 0 if it is not a whole number."""
    try:
        return to_int(value)
    except (ValueError, TypeError):
        return 0
