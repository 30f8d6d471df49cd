"""Makes `blank` equal what is missing, null or false, as in Liquid; to the library, these are not blank."""

from liquid import RenderContext
from liquid.builtin.expressions.logical import EqExpression, NeExpression
from liquid.builtin.expressions.primitive import Blank
from liquid.builtin.tags.case_tag import _AnyExpression
from liquid.expression import Expression

from journeys.rendering.missing import Missing


class _BlankBeside(Expression):
    """`blank` beside another expression: the same as its value if that is missing, null or false."""

    __slots__ = ("blank", "other")

    def __init__(self, blank: Expression, other: Expression) -> None:
        super().__init__(blank.token)
        self.blank, self.other = blank, other

    def evaluate(self, context: RenderContext) -> object:
        value = self.other.evaluate(context)
        return value if value is None or value is False or isinstance(value, Missing) else self.blank

    def children(self) -> list[Expression]:
        return []


def widen_blanks(expression: Expression) -> None:
    """Widens the `blank` that this comparison has on either side, or that a `when` names."""
    match expression:
        case EqExpression(left=other, right=Blank() as blank) | NeExpression(left=other, right=Blank() as blank):
            expression.right = _BlankBeside(blank, other)
        case EqExpression(left=Blank() as blank, right=other) | NeExpression(left=Blank() as blank, right=other):
            expression.left = _BlankBeside(blank, other)
        case _AnyExpression(left=other):
            expression.expressions = [
                _BlankBeside(one, other) if isinstance(one, Blank) else one for one in expression.expressions
            ]
