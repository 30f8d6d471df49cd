"""Who waits for a customer to change looks at each write of the profile, in the writer's transaction.

1. Whoever begins to wait marks the customer, whose row they have locked (`watch`).
2. Each statement that writes a profile knows from the row that it has locked or written whether the customer is marked.
   So a write to anybody else asks nothing, and none that comes after the mark is missed.
3. The mark is taken away by whoever looks and finds that nobody waits any more (`unwatch`).
4. Whoever writes a profile in several statements has those look at what comes of all of them (`looking_once`): what
   a profile is in between, it never was for anybody else.

The other apps add their looks (`LOOKS`), because imports go down only.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from customers.models import Customer
from engage.database.sql import Statement

# Each is given the ids of marked customers, who are locked and have just been written.
LOOKS: list[Callable[[Collection[str]], None]] = []

# The ids of those whom a block of `looking_once` has written so far; None outside of such a block.
_written_so_far: ContextVar[set[str] | None] = ContextVar("written_so_far", default=None)

_WATCH = Statement("UPDATE customers_customer SET watched = true WHERE id = ANY({ids}::text[]) AND NOT watched")
_UNWATCH = Statement("UPDATE customers_customer SET watched = false WHERE id = ANY({ids}::text[]) AND watched")


def let_look(written: Iterable[Customer]) -> None:
    """Lets those look who wait for one of these customers, as they were when they were locked."""
    let_look_at([customer.id for customer in written if customer.watched])


def let_look_at(customer_ids: Collection[str]) -> None:
    """The same for customers who are known to be marked."""
    written = _written_so_far.get()
    if written is not None:
        written.update(customer_ids)
    elif customer_ids:
        for look in LOOKS:
            look(customer_ids)


@contextmanager
def looking_once() -> Iterator[None]:
    """Has all look at the end of the block, once, instead of at each of its writes; not at all if it raises."""
    written: set[str] = set()
    outside = _written_so_far.set(written)
    try:
        yield
    finally:
        _written_so_far.reset(outside)
    let_look_at(written)


def watch(customer_ids: Collection[str]) -> None:
    """Marks customers, who are locked."""
    if customer_ids:
        _WATCH.execute(ids=sorted(customer_ids))


def unwatch(customer_ids: Collection[str]) -> None:
    """Takes the mark from customers, who are locked and for whom nobody waits."""
    if customer_ids:
        _UNWATCH.execute(ids=sorted(customer_ids))
