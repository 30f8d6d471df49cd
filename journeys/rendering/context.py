"""The state of one rendering: what names refer to, and how much work is left."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TextIO

from liquid import BoundTemplate, RenderContext
from liquid.output import LimitedStringIO
from liquid.token import Token
from liquid.undefined import UNDEFINED
from liquid.utils import ReadOnlyChainMap

from engage.notations.sizes import KIB
from journeys.rendering.failures import RenderingFailed
from journeys.rendering.missing import Missing
from journeys.rendering.rendering import Rendering
from journeys.rendering.values import MAX_SIZE, units_of

MAX_OUTPUT = 64 * KIB
MAX_ROUNDS = 10_000
MAX_ASSIGNED = 100


class Context(RenderContext):
    """Looks names up in the scope and nowhere else, and stops what works too long or grows too large.

    A loop costs its rounds times the parts of its body; the Rendering enforces the time limit. Every value is counted
    as work when it is found or made, which is before anything is done with it.
    """

    __slots__ = ("_rendering", "_rounds", "_sizes", "escapes", "loop_units", "loop_weight", "work")

    def __init__(self, template: BoundTemplate, rendering: Rendering) -> None:
        super().__init__(template, globals=rendering.scope)
        self.scope = ReadOnlyChainMap(self.locals, rendering.scope, self.counters)
        self.work = rendering.work
        self.escapes = rendering.escapes
        self.loop_weight = self.loop_units = 1
        self._rendering = rendering
        self._rounds = 0
        self._sizes: dict[str, int] = {}

    def get(self, path: list[object], *, token: Token | None, default: object = UNDEFINED) -> object:
        """The value that the path leads to; Missing if there is none, or null. `default` is ignored.

        An object has only its own names: `size` and `first` are a customer's attributes like any other. On arrays and
        strings they mean what Liquid defines.
        """
        try:
            value = self.find(path)
        except LookupError:
            value = None
        return Missing(written_name(path), self._rendering) if value is None else value

    def find(self, path: Sequence[object]) -> object:
        """The value that the path leads to, which may be null. Raises LookupError if there is none."""
        try:
            value = self.scope[path[0]]  # type: ignore[index]  # an unhashable or odd first name is not in it either
            for name in path[1:]:
                value = value[name] if isinstance(value, dict) else self.get_item(value, name)
        except (LookupError, TypeError):
            self.work()
            raise LookupError from None
        self.work(units_of(value))
        return value

    def filter(self, name: str, token: Token | None) -> Callable[..., object]:
        return partial(self.env.filters[name], self)

    def assign(self, key: str, val: object) -> None:
        self.work(units_of(val))
        self._sizes[key] = len(val) if isinstance(val, str | list) else 1
        if len(self._sizes) > MAX_ASSIGNED:
            raise RenderingFailed(f"it gives more than {MAX_ASSIGNED} names to values.")
        if sum(self._sizes.values()) > 4 * MAX_SIZE:
            raise RenderingFailed("the values that it names grow too large.")
        self.locals[key] = val

    def get_buffer(self, buf: TextIO | None = None) -> LimitedStringIO:
        """A buffer for at most MAX_OUTPUT bytes, including the enclosing one's; line endings are kept."""
        used = buf.size if isinstance(buf, LimitedStringIO) else 0
        return LimitedStringIO(MAX_OUTPUT - used, "", "")

    @contextmanager
    def loop(self, namespace: Mapping[str, object], forloop: Any) -> Iterator[RenderContext]:
        forloop.it = self._counted(forloop.it, self.loop_units)
        with super().loop(namespace, forloop) as context:
            yield context

    def _counted(self, items: Iterator[object], units: int) -> Iterator[object]:
        for item in items:
            self.work(units)
            yield item

    def raise_for_loop_limit(self, length: int = 1) -> None:
        self._rounds += length * self.loop_weight
        if self._rounds > MAX_ROUNDS:
            raise RenderingFailed("its loops go round too often.")


def written_name(path: Sequence[object]) -> str:
    """The path as it is noted: `api.payload.items[0]`."""
    first, *rest = path
    return str(first) + "".join(f".{name}" if isinstance(name, str) else f"[{name}]" for name in rest)


def scope_of(context: RenderContext) -> Mapping[str, object]:
    """The scope that a rendering began with."""
    return context.globals
