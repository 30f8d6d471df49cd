"""Identifiers in their stored form, and how they lead to a customer."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from customers.identifier_rules import LONGEST, SPELLINGS, comparable_email, one_spelling, stored_phone
from customers.identity.aliases import behind, query_of_alias
from customers.identity.proofs import READ, confirm, take_from_claimants
from customers.models import Customer
from engage.database.sql import Fragment, Statement, Template
from engage.errors import InvalidRequest


@dataclass(frozen=True, kw_only=True)
class Identifiers:
    """Identifiers in their stored form; None if absent. Create them with `identifiers()`.

    `other_phone` is the same number as it was spelled before its workspace had a country, or before that was known.
    """

    user_id: str | None = None
    external_id: str | None = None
    email: str | None = None
    phone: str | None = None
    other_phone: str | None = None

    def present(self) -> dict[str, str]:
        """Field name to value, in the order in which the bridge matches."""
        return {name: value for name, value in vars(self).items() if value is not None and name != "other_phone"}

    def in_country(self, country: str) -> Self:
        """The same with the phone number as one of this country, if it is one."""
        if not country or self.phone is None or (phone := stored_phone(self.phone, country)) == self.phone:
            return self
        return replace(self, phone=phone, other_phone=self.phone)

    def as_known(self, *, workspace_id: str, country: str) -> Self:
        """`in_country`, but for calls that name somebody: with the old spelling where only that is somebody's."""
        own = self.in_country(country)
        if own.phone is None or own.other_phone is None:
            return own
        held = phones_held(workspace_id=workspace_id, phones=[own.phone, own.other_phone])
        return replace(own, phone=own.other_phone, other_phone=own.phone) if held == {own.other_phone} else own


def identifiers(
    *, user_id: str | None = None, external_id: str | None = None, email: str | None = None, phone: str | None = None
) -> Identifiers:
    """The identifiers as they are stored; blank ones count as absent.

    Raises InvalidRequest for a malformed e-mail, and for an identifier too long to store.
    """
    return Identifiers(
        user_id=_stored("userId", user_id, longest=LONGEST["user_id"]),
        external_id=_stored("external_id", external_id, longest=LONGEST["external_id"]),
        email=_stored("email", email, longest=LONGEST["email"], form=stored_email),
        phone=_stored("phone", phone, longest=LONGEST["phone"], form=stored_phone),
    )


_HELD = Statement("""
SELECT sent.phone FROM unnest({phones}::text[]) AS sent (phone) CROSS JOIN LATERAL (
    SELECT FROM customers_customer WHERE workspace_id = {workspace_id} AND phone = sent.phone
    UNION ALL SELECT FROM customers_alias WHERE workspace_id = {workspace_id} AND phone = sent.phone LIMIT 1
) AS known
""")


def phones_held(*, workspace_id: str, phones: Collection[str]) -> set[str]:
    """Those of the stored spellings that lead to somebody."""
    return set(_HELD.column(workspace_id=workspace_id, phones=list(phones)))


def identifiers_of(values: Mapping[str, Any]) -> Identifiers:
    """The identifiers of a call's body, by their names in the API. Raises InvalidRequest as `identifiers` does."""
    return identifiers(
        user_id=values.get("userId"),
        external_id=values.get("external_id"),
        email=values.get("email"),
        phone=values.get("phone"),
    )


def _stored(called: str, text: str | None, *, longest: int, form: Callable[[str], str] = one_spelling) -> str | None:
    if text is None or not text.strip():
        return None
    stored = form(text) if len(text) <= longest else text
    length = max(len(text), len(stored))  # as sent, including spaces; one spelling may be longer than another
    if length > longest:
        raise InvalidRequest(f"{called} must be at most {longest} characters long, not {length}.")
    return stored


def stored_email(email: str) -> str:
    """The address as it is stored. Raises InvalidRequest if it is malformed."""
    address = comparable_email(email)
    try:
        validate_email(email.strip())
        if not email.isascii():
            validate_email(address)
        if not address.isascii():  # Django's check takes the Kelvin sign for a k, and leaves out what is invisible
            raise ValidationError("The name has other letters than ASCII's, or the domain what no domain has.")
    except ValidationError:
        raise InvalidRequest("email must be an e-mail address.") from None
    return address


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """The customer found by identifiers, or created for them.

    Not `kept`: somebody erased had the new one's e-mail address or phone number; the transaction is to be taken back.
    """

    customer: Customer
    created: bool
    kept: bool = True


def find_or_create_customer(*, workspace_id: str, known_by: Identifiers, is_proven: bool = False) -> Resolution:
    """The workspace's customer known by these identifiers (at least one), or a new one who claims all of them.

    userId, external_id, email and phone are tried in this order, and the first that matches a customer wins.

    An existing customer is left as is: no identifier is changed or added. But if `is_proven` (the app's own server says
    so), the identifiers that the customer has are no claims any more, whoever merely claims one is not meant, and loses
    it. Must run in a transaction, which then holds the customer's row lock (FOR NO KEY UPDATE), so that the customer is
    not erased meanwhile. Raises CustomerErased, and TooManyAtOnce for what is proven.

    1. The row found is locked, and no other: a transaction that holds one lock and waits for none cannot deadlock.
    2. If no customer is found: insert. If another call was first with any of the identifiers, PostgreSQL waits for its
       commit, and then inserts nothing.
    3. Look again. The customer found is ours or the other call's; if the latter is gone by then, start over.

    An identifier that nobody has may be an alias. One that has become an alias meanwhile makes no customer: whoever
    makes it one holds a customer who has it before, so the insert here waits, and the look at the aliases sees it.
    """
    while True:
        if is_proven:
            take_from_claimants(workspace_id=workspace_id, proven=known_by.present())
        if found := _lock_best_match(workspace_id=workspace_id, known_by=known_by, is_proven=is_proven):
            if is_proven:
                confirm(found, known_by.present())
            return Resolution(customer=found, created=False)
        known = behind(workspace_id=workspace_id, identifiers=known_by.present(), is_proven=is_proven)
        leads_to = known.customer_id()
        if leads_to and (found := _lock_customer(workspace_id=workspace_id, customer_id=leads_to)):
            return Resolution(customer=found, created=False)
        claimed = [] if is_proven else list(known_by.present())
        fresh = Customer(workspace_id=workspace_id, **known_by.present(), claimed_identifiers=claimed)
        Customer.objects.bulk_create([fresh], ignore_conflicts=True)
        if found := _lock_best_match(
            workspace_id=workspace_id, known_by=known_by, unless_alias=True, is_proven=is_proven
        ):
            return Resolution(customer=found, created=found.id == fresh.id, kept=not known.erased)
        _NAME_NOTHING.execute(id=fresh.id)  # deleted with its names, it would count as somebody who is erased
        _DELETE.execute(id=fresh.id)


_NAME_NOTHING = Statement("UPDATE customers_customer SET external_id = NULL WHERE id = {id}")
_DELETE = Statement("DELETE FROM customers_customer WHERE id = {id}")


def _lock_best_match(
    *, workspace_id: str, known_by: Identifiers, unless_alias: bool = False, is_proven: bool = False
) -> Customer | None:
    """`unless_alias`: finds nobody if one of the identifiers is an alias."""
    query = best_match_query(workspace_id=workspace_id, known_by=known_by, columns=READ, is_proven=is_proven)
    for field, value in known_by.present().items() if unless_alias else ():
        query = _UNLESS_ALIAS.filled(
            match=query, workspace_id=workspace_id, field=Fragment(field), value=value, is_proven=is_proven
        )
    return _locked(query)


_UNLESS_ALIAS = Template("""{match} AND NOT EXISTS (
    SELECT FROM customers_alias alias
    WHERE alias.workspace_id = {workspace_id} AND alias.{field} = {value} AND NOT (alias.claimed AND {is_proven})
)""")
_BY_ID = Template(
    "SELECT {columns} FROM customers_customer WHERE workspace_id = {workspace_id} AND id = {customer_id}",
    columns=", ".join(READ),
)
_LOCK = Statement("{match} FOR NO KEY UPDATE")


def _lock_customer(*, workspace_id: str, customer_id: str) -> Customer | None:
    return _locked(_BY_ID.filled(workspace_id=workspace_id, customer_id=customer_id))


def _locked(match: Fragment) -> Customer | None:
    return next((Customer.from_db(None, READ, row) for row in _LOCK.rows(match=match)), None)


_FIRM = "NOT '{column}' = ANY(claimed_identifiers)"
_NOTHING_FIRM = "NOT (" + " OR ".join(f"{name} IS NOT NULL AND {_FIRM.format(column=name)}" for name in SPELLINGS) + ")"


def best_match_query(
    *, workspace_id: str, known_by: Identifiers, columns: Sequence[str] = ("id",), is_proven: bool = False
) -> Fragment:
    """Selects the columns of the one customer that best matches the identifiers (at least one); ends with its tests.

    Where they are proven, that is whom they mean (`whom_proof_means` of claims.py).

    Written in SQL: the ORM would take ten times as long to build this query as it takes to execute. Each identifier is
    looked up by its unique index, and only if the ones before it found nobody: a plan for all of them at once may read
    the whole of a large workspace, because it is made for one of average size.
    """
    known = known_by.present()
    if not known:
        raise ValueError("Nobody can be found without an identifier.")
    select = f"SELECT {', '.join(columns)} FROM customers_customer WHERE"
    tests, values = [f"{column} = %s" for column in known], list(known.values())
    ranked, times = tests, 1
    if is_proven:
        firm = [f"{test} AND {_FIRM.format(column=column)}" for column, test in zip(known, tests, strict=True)]
        ranked, times = [*firm, *(f"{test} AND {_NOTHING_FIRM}" for test in tests)], 2
        tests = [
            f"{test} AND ({_FIRM.format(column=column)} OR {_NOTHING_FIRM})"
            for column, test in zip(known, tests, strict=True)
        ]
    if len(tests) == 1:  # the usual case; an identifier belongs to one customer at most
        return Fragment(f"{select} workspace_id = %s AND {tests[0]}", [workspace_id, *values])
    owners = [f"(SELECT id FROM customers_customer WHERE workspace_id = %s AND {test})" for test in ranked]
    # The tests once more: whoever waited for the row's lock must not get a customer who has lost all of these.
    best = f"id = coalesce({', '.join(owners)}) AND ({' OR '.join(tests)})"
    return Fragment(f"{select} {best}", [part for value in values * times for part in (workspace_id, value)] + values)


_OR_ALIAS = Template("""({match}) UNION ALL (
    SELECT {columns} FROM customers_customer WHERE workspace_id = {workspace_id} AND id = {alias}
) LIMIT 1""")


def match_or_alias_query(
    *, workspace_id: str, known_by: Identifiers, columns: Sequence[str], is_proven: bool
) -> Fragment:
    """The same; where nobody has the identifiers, of the one to whom they lead as aliases. Nothing is to be added."""
    return _OR_ALIAS.filled(
        match=best_match_query(workspace_id=workspace_id, known_by=known_by, columns=columns, is_proven=is_proven),
        columns=Fragment(", ".join(columns)),
        workspace_id=workspace_id,
        alias=query_of_alias(workspace_id=workspace_id, identifiers=known_by.present(), is_proven=is_proven),
    )
