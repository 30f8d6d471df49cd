"""Lists arrive in PostgreSQL as they were, however they are written."""

from typing import Any

import psycopg
import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from engage.database.backend.arrays import WholeListDumper
from engage.models import App, Workspace
from tests.support.cases import each
from tests.support.factories import AppFactory

STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def sent(values: list[Any], *, kind: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT %s::{kind}[]", [values])
        return cursor.fetchone()[0]


class AnyListTest(TestCase):
    @given(st.lists(STORABLE))
    def test_texts(self, texts: list[str]) -> None:
        assert sent(texts, kind="text") == texts

    @given(st.lists(st.none() | STORABLE))
    def test_texts_and_nothing(self, texts: list[str | None]) -> None:
        assert sent(texts, kind="text") == texts

    @given(st.lists(st.integers(min_value=-(2**63), max_value=2**63 - 1)))
    def test_integers(self, numbers: list[int]) -> None:
        assert sent(numbers, kind="bigint") == numbers


@pytest.mark.django_db
@each(
    "texts", [[""], ["NULL"], ["null", "x"], ["a,b", "{c}", '"', "\\", "\\\"'"], [" a ", "\t\n"], ["ä", "\u2003", "🙂"]]
)
def test_texts_that_mean_something_in_an_array(texts: list[str]) -> None:
    assert sent(texts, kind="text") == texts


@pytest.mark.django_db
@each(
    "values, kind",
    [([True, False], "bool"), ([1, None], "int"), ([["a", "b"], ["c", "d"]], "text"), ([1.5], "float8")],
)  # fmt: skip
def test_other_lists_are_left_to_psycopg(values: list[Any], kind: str) -> None:
    assert sent(values, kind=kind) == values


@pytest.mark.django_db
def test_a_zero_byte_is_refused_and_never_taken_for_a_boundary() -> None:
    with pytest.raises(psycopg.DataError):
        WholeListDumper(list, psycopg.adapt.Transformer(connection.connection)).dump(["a\0b", "c"])


@pytest.mark.django_db
def test_a_statement_of_the_orm_takes_a_list(acme: Workspace) -> None:
    named = AppFactory.create(workspace=acme, allowed_origins=["https://acme.example", 'a"b'])
    AppFactory.create(workspace=acme, allowed_origins=["https://acme.example"])
    assert list(App.objects.filter(allowed_origins__contains=['a"b'])) == [named]
