"""What comes of a page's `identify`."""

from customers.models import Customer
from tests.support.calls import data
from tests.support.clients import Answer

SAME_FOR_ALL = (
    "userId belongs to a customer who is not anonymous. "
    "Two customers who have other identifiers than a userId are merged by servers alone."
)


def done(answer: Answer) -> list[str]:
    """What was added."""
    answered = data(answer, status=200)
    added: list[str] = answered.pop("added")
    assert answered == {"identified": True}
    return added


def identifiers_of(customer: Customer) -> dict[str, str | None]:
    customer.refresh_from_db()
    return {name: getattr(customer, name) for name in ("user_id", "external_id", "email", "phone")}
