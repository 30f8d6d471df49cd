"""Parses a template once, to be rendered any number of times."""

import re
from collections.abc import Sequence

from liquid import BoundTemplate, Environment
from liquid.builtin.expressions import FilteredExpression
from liquid.builtin.expressions.primitive import RangeLiteral
from liquid.exceptions import LiquidError, LiquidInterrupt, OutputStreamLimitError
from liquid.expression import Expression

from engage.json.storable import unstorable
from engage.notations.sizes import KIB
from journeys.rendering.arguments import wrong_arguments
from journeys.rendering.blanks import widen_blanks
from journeys.rendering.context import MAX_OUTPUT, Context
from journeys.rendering.environment import TextEnvironment, UrlEnvironment
from journeys.rendering.escaping import mixes_markup
from journeys.rendering.expressions import expressions_in
from journeys.rendering.failures import InvalidTemplate, RenderingFailed
from journeys.rendering.filters import FILTERS
from journeys.rendering.names import Names, may_have_a_value, names_in_words
from journeys.rendering.ranges import bound_range
from journeys.rendering.rendering import Rendering

MAX_LENGTH = 16 * 1024
_LONGEST_TAG = 2000
_TEXT, _URL = TextEnvironment(), UrlEnvironment()
_OPENING = re.compile(r"\{[{%]")
_LONG_BLANK = re.compile(r"\s{100}")
_RAW = re.compile(r"-?\s*(?:raw|doc)\b")
_SHOWN_LENGTH = 80


class Template:
    """A parsed template; may be rendered by many threads at once."""

    __slots__ = ("_parsed",)

    def __init__(self, parsed: BoundTemplate) -> None:
        self._parsed = parsed

    def mistakes(self, known: Names) -> list[str]:
        """What can never be meant: names without a value, such as `user.name`, and arguments that no filter takes.

        Each continues a sentence that begins with the place.
        """
        used = [variable.segments for many in self._parsed.analyze().globals.values() for variable in many]
        strange = dict.fromkeys(_in_words(names) for names in used if not may_have_a_value(names, known))
        unknown = [f"reads {', '.join(strange)}, which never has a value: {names_in_words(known)}."] if strange else []
        return unknown + wrong_arguments(self._parsed.nodes)

    def names_after(self, root: str) -> list[str | None]:
        """The names that follow this one wherever it is read; None where none does, or one known only when rendered."""
        used = [variable.segments for variable in self._parsed.analyze().globals.get(root, ())]
        inner = [names[1] if len(names) > 1 else None for names in used]
        return list(dict.fromkeys(name if isinstance(name, str) else None for name in inner))

    def mixes_markup(self) -> bool:
        """Whether it has a literal tag, and an output that is not escaped."""
        return mixes_markup(self._parsed.nodes)

    def render(self, rendering: Rendering) -> str:
        """The text, at most MAX_OUTPUT bytes of UTF-8; notes missing names. Raises RenderingFailed and nothing else."""
        rendering.work()
        context = Context(self._parsed, rendering)
        buffer = context.get_buffer()
        try:
            for node in self._parsed.nodes:
                node.render(context, buffer)
        except OutputStreamLimitError:
            raise RenderingFailed(f"its output is larger than {MAX_OUTPUT // KIB} KiB.") from None
        except RecursionError:
            raise RenderingFailed("it is nested too deeply.") from None
        except LiquidInterrupt:
            raise RenderingFailed("break and continue may stand in a loop only.") from None
        except RenderingFailed:
            raise
        except Exception:  # noqa: BLE001 - the library's are of any class, and quote values
            raise RenderingFailed("it compares or writes what cannot be compared or written.") from None
        text = buffer.getvalue()
        if found := unstorable(text):
            raise RenderingFailed(f"its output holds {found}.")
        return text


def _in_words(names: Sequence[object]) -> str:
    written = (str(name) if isinstance(name, str) else "…" for name in names)
    return _shown(".".join(written))


def is_template(text: str) -> bool:
    """Whether a text must be rendered; any other is written unchanged."""
    return "{{" in text or "{%" in text


def parse_template(text: str) -> Template:
    """A template of a text. Raises InvalidTemplate."""
    return _parse(text, _TEXT)


def parse_url_template(text: str) -> Template:
    """A template of a URL's path and query, where each value is percent-encoded. Raises InvalidTemplate."""
    return _parse(text, _URL)


def parse_expression(text: str) -> BoundTemplate:
    """A template that writes the value of this expression, and perhaps more. Raises InvalidTemplate."""
    return _bound(f"{{{{ {text} }}}}", _TEXT)


def _parse(text: str, environment: Environment) -> Template:
    return Template(_bound(text, environment))


def _bound(text: str, environment: Environment) -> BoundTemplate:
    if len(text) > MAX_LENGTH:
        raise InvalidTemplate(f"is a template of {len(text)} characters; the maximum is {MAX_LENGTH}.")
    _check_delimiters(text)
    try:
        parsed = environment.from_string(text)
        for expression in expressions_in(parsed.nodes):
            _check(expression)
    except LiquidError as error:
        deep = isinstance(error.__cause__, RecursionError)
        why = "it is nested too deeply" if deep else _shown(error.message)
        raise InvalidTemplate(f"is no valid template: {why}.") from None
    return parsed


def _check_delimiters(text: str) -> None:
    """Refuses empty tags, raw and doc, and what the library takes seconds over: unclosed or long tags, long blanks."""
    position = 0
    while opening := _OPENING.search(text, position):
        closing = "}}" if opening.group() == "{{" else "%}"
        end = text.find(closing, opening.end())
        if end < 0:
            raise InvalidTemplate(f"is no valid template: a {opening.group()} is not closed by {closing}.")
        inside = text[opening.end() : end]
        if not inside.strip(" \t\r\n-"):
            raise InvalidTemplate(f"is no valid template: nothing stands between {opening.group()} and {closing}.")
        if len(inside) > _LONGEST_TAG:
            raise InvalidTemplate(f"holds more than {_LONGEST_TAG} characters between {opening.group()} and {closing}.")
        if _LONG_BLANK.search(inside):
            raise InvalidTemplate(f"is no valid template: between {opening.group()} and {closing} is too much blank.")
        if opening.group() == "{%" and _RAW.match(inside):
            raise InvalidTemplate("is no valid template: the tags raw and doc are not there.")
        position = end + len(closing)


def _check(expression: Expression) -> None:
    widen_blanks(expression)
    if isinstance(expression, RangeLiteral):
        bound_range(expression)
    if isinstance(expression, FilteredExpression):
        for used in expression.filters or ():
            if used.name not in FILTERS:
                raise InvalidTemplate(f"is no valid template: there is no filter {_shown(used.name)!r}.")


def _shown(message: object) -> str:
    return str(message)[:_SHOWN_LENGTH]
