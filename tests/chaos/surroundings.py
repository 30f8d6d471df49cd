"""The receivers that behave badly, each alone at its address: circuits are kept per host."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests import receiver
from tests.chaos.mischief import MANNERS, POISON, targets
from tests.chaos.tenants import Course


@contextmanager
def with_bad_receivers() -> Iterator[Sequence[Course]]:
    """The journeys that are there to fail, whose receivers run until the end of the block."""
    with ExitStack() as stack:
        urls = {manner.name: stack.enter_context(receiver.running()).url("") for manner in MANNERS}
        yield [*POISON, *targets(urls)]
