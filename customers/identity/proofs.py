"""What a server, or an identity token that it has signed, says of who has an identifier: it is no claim any more.

Whoever merely claimed it loses it, so that nobody is led to them by it (claims.py).
"""

from collections.abc import Mapping

from customers.identifier_rules import SPELLINGS
from customers.identity.claims import dropped_claims, whom_proof_means
from customers.identity.locks import lock_having_any, undisturbed
from customers.identity.lookup import claimed_aliases_of
from customers.models import Alias, Customer
from customers.watching import let_look
from engage.database.sql import Fragment, Statement, Template, compose

# In the order of the model's fields, which `from_db` expects.
READ = ("id", "workspace_id", "external_id", "email", "phone", "user_id", "claimed_identifiers", "watched")


def confirm(customer: Customer, proven: Mapping[str, str]) -> None:
    """The identifiers (model field to value) that the customer has are proven: a claim no more (claims.py).

    Their row is locked.
    """
    named = [field for field, value in proven.items() if getattr(customer, field) == value]
    dropped = dropped_claims(customer, named=named)
    claims = [field for field in customer.claimed_identifiers if field not in {*named, *dropped}]
    if claims != customer.claimed_identifiers:
        for field in dropped:
            setattr(customer, field, None)
        customer.claimed_identifiers = claims
        write_identifiers(customer)


def take_away(customer: Customer, field: str) -> None:
    """Takes an identifier from the customer, whose row is locked, and who may be left with none."""
    setattr(customer, field, None)
    customer.claimed_identifiers = [name for name in customer.claimed_identifiers if name != field]
    write_identifiers(customer)


def write_identifiers(customer: Customer) -> None:
    """Stores which identifiers the customer has, and which of them are claims."""
    _WRITE_IDENTIFIERS.execute(
        id=customer.id, claimed=customer.claimed_identifiers, **{field: getattr(customer, field) for field in SPELLINGS}
    )
    let_look([customer])


_WRITE_IDENTIFIERS = Statement("""
UPDATE customers_customer SET external_id = {external_id}, email = {email}, phone = {phone}, user_id = {user_id},
    claimed_identifiers = {claimed}::text[], updated_at = statement_timestamp()
WHERE id = {id}
""")
_CLAIMED = Template("""EXISTS (
    SELECT FROM customers_customer one
    WHERE one.workspace_id = {workspace_id} AND one.{field} = {value} AND {name} = ANY(one.claimed_identifiers)
)""")
_CLAIMED_ALIAS = Template("""EXISTS (
    SELECT FROM customers_alias alias
    WHERE alias.workspace_id = {workspace_id} AND alias.user_id = {value} AND alias.claimed
)""")
_ASKED = Statement("SELECT {claimed}")


def is_claimed(*, workspace_id: str, identifiers: Mapping[str, str]) -> Fragment:
    """An SQL expression: is one of the identifiers (model field to value) somebody's claim, or a page's alias?"""
    each = [
        _CLAIMED.filled(workspace_id=workspace_id, field=Fragment(field), value=value, name=field)
        for field, value in identifiers.items()
    ]
    if user_id := identifiers.get("user_id"):
        each.append(_CLAIMED_ALIAS.filled(workspace_id=workspace_id, value=user_id))
    return compose(" OR ".join("{}" for _ in each), *each)


def take_from_claimants(*, workspace_id: str, proven: Mapping[str, str]) -> None:
    """Takes the identifiers, which are one person's, away from whoever merely claims them and is not that person.

    So does an alias that a page has made for somebody else; for that person, it is one that a server has made.
    Must run in a transaction, before it locks anybody. Raises TooManyAtOnce.
    """
    if not any(_ASKED.column(claimed=is_claimed(workspace_id=workspace_id, identifiers=proven))):
        return

    def take() -> None:
        named = {field: [value] for field, value in proven.items()}
        people = lock_having_any(workspace_id=workspace_id, identifiers=named, columns=", ".join(READ))
        found = {field: one for field, value in proven.items() for one in people if getattr(one, field) == value}
        meant = whom_proof_means(found)
        for field, one in found.items():
            if one is not meant and field in one.claimed_identifiers:
                take_away(one, field)
        for one in people:
            if name := {*proven.items()} & claimed_aliases_of(one):
                of_page = Alias.objects.filter(workspace_id=workspace_id, claimed=True, **dict(name))
                of_page.update(**({"claimed": False} if one is meant else {"user_id": None}))

    undisturbed(take)
