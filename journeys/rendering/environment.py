"""The dialect of Liquid: which tags there are, how they write, and what they cost."""

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TextIO
from urllib.parse import quote

from liquid import Environment, RenderContext
from liquid.ast import BlockNode, Node
from liquid.builtin import content, illegal, output
from liquid.builtin.expressions import LoopExpression
from liquid.builtin.tags import (
    assign_tag,
    capture_tag,
    case_tag,
    comment_tag,
    decrement_tag,
    echo_tag,
    for_tag,
    if_tag,
    increment_tag,
    inline_comment_tag,
    liquid_tag,
    unless_tag,
)
from liquid.exceptions import OutputStreamLimitError
from liquid.tag import Tag
from liquid.token import TOKEN_EXPRESSION, Token

from journeys.rendering.context import MAX_OUTPUT, Context
from journeys.rendering.escaping import is_escaped
from journeys.rendering.expressions import expressions_in
from journeys.rendering.filters import FILTERS
from journeys.rendering.missing import Missing
from journeys.rendering.text_filters import escape
from journeys.rendering.values import as_text


class _Output(output.OutputNode):
    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        text = as_text(self.expression.evaluate(context))
        if isinstance(context, Context) and context.escapes and not is_escaped(self.expression):
            text = escape(text)
        return buffer.write(text)


class _QuotedOutput(output.OutputNode):
    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        text = as_text(self.expression.evaluate(context))
        if len(text) > MAX_OUTPUT:  # encoding it would only make it longer
            raise OutputStreamLimitError("output stream limit reached", token=None)
        return buffer.write(quote(text, safe=""))


class _OutputTag(output.Output):
    node_class = _Output


class _EchoTag(echo_tag.EchoTag):
    node_class = _Output  # type: ignore[assignment]  # an EchoNode differs only in how it is printed


class _QuotedOutputTag(output.Output):
    node_class = _QuotedOutput


class _QuotedEchoTag(echo_tag.EchoTag):
    node_class = _QuotedOutput  # type: ignore[assignment]  # as above


class _Loop(LoopExpression):
    """What a loop goes over: with a limit of 0 or less nothing, without a value for it everything."""

    def __init__(self, of: LoopExpression) -> None:
        super().__init__(
            of.token, of.identifier, of.iterable, limit=of.limit, offset=of.offset, reversed_=of.reversed, cols=of.cols
        )

    def _to_int(self, obj: object, *, token: Token) -> Any:
        return None if isinstance(obj, Missing) else super()._to_int(obj, token=token)

    def _slice(
        self,
        it: Iterator[object],
        length: int,
        context: RenderContext,
        *,
        limit: int | None,
        offset: int | str | None,
    ) -> tuple[Iterator[object], int]:
        if limit is None or limit > 0:
            return super()._slice(it, length, context, limit=limit, offset=offset)
        key = f"{self.identifier}-{self.iterable}"  # under which a loop that continues this one finds its place
        context.stopindex(key, context.stopindex(key) if offset == "continue" else int(offset or 0))
        return iter(()), 0


class _For(for_tag.ForNode):
    def __init__(
        self, token: Token, expression: LoopExpression, block: BlockNode, default: BlockNode | None = None
    ) -> None:
        super().__init__(token, _Loop(expression), block, default)
        self.weight = _parts(block)
        self.units = 1 + sum(1 for _ in expressions_in([block]))  # of work in a round, even if it reads no value

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        if isinstance(context, Context):
            context.loop_weight, context.loop_units = self.weight, self.units
        return super().render_to_output(context, buffer)


def _parts(node: Node) -> int:
    """How many parts are rendered in one round; a nested loop counts its own."""
    static: Any = None  # needed only by tags that load other templates
    return 1 + sum(1 if isinstance(child, _For) else _parts(child) for child in node.children(static))


class _ForTag(for_tag.ForTag):
    node_class = _For


class _Capture(capture_tag.CaptureNode):
    def __init__(self, token: Token, name: Any, block: BlockNode) -> None:
        super().__init__(token, name, block)
        block.blank = False  # what is nothing but white space is captured, too


class _CaptureTag(capture_tag.CaptureTag):
    node_class = _Capture


_TAGS: tuple[type[Tag], ...] = (
    content.Literal,
    illegal.Illegal,
    assign_tag.AssignTag,
    case_tag.CaseTag,
    comment_tag.CommentTag,
    decrement_tag.DecrementTag,
    _ForTag,
    for_tag.BreakTag,
    for_tag.ContinueTag,
    if_tag.IfTag,
    increment_tag.IncrementTag,
    inline_comment_tag.InlineCommentTag,
    liquid_tag.LiquidTag,
    unless_tag.UnlessTag,
)


# The words that Liquid uses between the parts of an expression. To the library they are no names, not even after a dot.
_WORDS = (
    "and|as|blank|cols|contains|continue|else|empty|false|for|if|in|limit|nil|not|null|offset|or|required|reversed|"
    "true|with"
)
_WORD_AS_NAME = re.compile(
    r"""(?P<quote>["']).*?(?P=quote)"""  # texts and the comments of `liquid` are found first, and left as they are
    r"|^\s*#[^\n]*"
    rf"|(?<!\.)\.\s*(?P<word>{_WORDS})(?![\w?-])",
    re.DOTALL | re.MULTILINE,
)


def _with_words_as_names(token: Token) -> Token:
    """Writes `payload.limit` as `payload["limit"]`."""
    if token.kind != TOKEN_EXPRESSION:
        return token
    return token._replace(
        value=_WORD_AS_NAME.sub(lambda found: f'["{found["word"]}"]' if found["word"] else found.group(), token.value)
    )


class TextEnvironment(Environment):
    """The dialect for texts."""

    writing: ClassVar[tuple[type[Tag], ...]] = (_OutputTag, _EchoTag, _CaptureTag)

    def tokenizer(self) -> Callable[[str], Iterator[Token]]:
        tokens_of = super().tokenizer()
        return lambda source: map(_with_words_as_names, tokens_of(source))

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:  # only these
        for tag in (*_TAGS, *self.writing):
            self.add_tag(tag)
        self.filters.update(FILTERS)


class UrlEnvironment(TextEnvironment):
    """The dialect for a URL's path and query: each value that is written is percent-encoded.

    There is no `capture`, because what it captured would be encoded twice.
    """

    writing = (_QuotedOutputTag, _QuotedEchoTag)
