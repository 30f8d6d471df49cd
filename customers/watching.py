"""Who waits for a customer to change looks at each write of the profile, in the writer's transaction.

1. Whoever begins to wait marks the customer, whose row they have locked (`watch`).
2. Each statement that writes a profile knows from the row that it has locked or written whether the customer is marked.
   So a write to anybody else asks nothing, and none that comes after the mark is missed.
3. The mark is taken away by whoever looks and finds that nobody waits any more (`unwatch`).

The other apps add their looks (`LOOKS`), because imports go down only.
"""

from collections.abc import Callable, Collection, Iterable

from customers.models import Customer
from engage.database.sql import Statement

# Each is given the ids of marked customers, who are locked and have just been written.
LOOKS: list[Callable[[Collection[str]], None]] = []

_WATCH = Statement("UPDATE customers_customer SET watched = true WHERE id = ANY({ids}::text[]) AND NOT watched")
_UNWATCH = Statement("UPDATE customers_customer SET watched = false WHERE id = ANY({ids}::text[]) AND watched")


def let_look(written: Iterable[Customer]) -> None:
    """Lets those look who wait for one of these customers, as they were when they were locked."""
    let_look_at([customer.id for customer in written if customer.watched])


def let_look_at(customer_ids: Collection[str]) -> None:
    """The same for customers who are known to be marked."""
    if customer_ids:
        for look in LOOKS:
            look(customer_ids)


def watch(customer_ids: Collection[str]) -> None:
    """Marks customers, who are locked."""
    if customer_ids:
        _WATCH.execute(ids=sorted(customer_ids))


def unwatch(customer_ids: Collection[str]) -> None:
    """Takes the mark from customers, who are locked and for whom nobody waits."""
    if customer_ids:
        _UNWATCH.execute(ids=sorted(customer_ids))
