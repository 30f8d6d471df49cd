"""The receivers that behave badly, each alone at its address: circuits are kept per host."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.chaos.crowd import CROWD
from tests.chaos.mischief import MANNERS, POISON, targets
from tests.chaos.tenants import Course
from tests.support import receiver


@contextmanager
def with_bad_receivers() -> Iterator[Sequence[Course]]:
    """The journeys of single scenarios. Receivers of those that are there to fail run until the end of the block."""
    with ExitStack() as stack:
        urls = {manner.name: stack.enter_context(receiver.running()).url("") for manner in MANNERS}
        yield [*POISON, *targets(urls), CROWD]
