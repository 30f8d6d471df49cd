"""Statements with named values, put together from parts."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection

from engage.database.sql import Fragment, Rows, Statement, Template
from tests.support.cases import each


@dataclass(frozen=True)
class Pair:
    name: str
    number: int


def test_values_stand_where_they_are_named_as_often_as_they_are() -> None:
    template = Template("SELECT {b}, {a} WHERE {b} = '{}' OR x = '{A}'")
    filled = template.filled(a=1, b=2)
    assert (filled.sql, list(filled.params)) == ("SELECT %s, %s WHERE %s = '{}' OR x = '{A}'", [2, 1, 2])


def test_a_value_may_be_sql_with_values_of_its_own() -> None:
    inner = Template("SELECT {id} AS id").filled(id="x")
    filled = Template("WITH one AS ({one}) SELECT {number}").filled(one=inner, number=1)
    assert (filled.sql, list(filled.params)) == ("WITH one AS (SELECT %s AS id) SELECT %s", ["x", 1])
    assert Template("a {empty} b").filled(empty=Fragment("")).sql == "a  b"


def test_parts_are_put_in_at_once_with_the_names_that_they_have() -> None:
    rows = Rows("row", {"id": "text", "n": "int"}, place="place")
    template = Template("{part} FROM {rows}", part="SELECT {number}", rows=rows)
    filled = template.filled(number=7, rows=[("a", 1), ("b", 2)])
    assert filled.sql == "SELECT %s FROM unnest(%s::text[], %s::int[]) WITH ORDINALITY AS row(id, n, place)"
    assert list(filled.params) == [7, ["a", "b"], [1, 2]]
    assert list(template.filled(number=7, rows=[]).params) == [7, [], []]


@each("values", [{}, {"a": 1, "b": 2}, {"b": 2}])
def test_a_value_too_few_or_too_many_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"values for \['a'\]"):
        Template("{a}").filled(**values)


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Rows("row", {"id": "text", "n": "int"}).of([("a", 1), ("b",)])


@pytest.mark.django_db
def test_rows_come_back_as_what_they_stand_for() -> None:
    statement = Statement(
        "SELECT name, number + {more} AS number FROM {pairs} ORDER BY place",
        pairs=Rows("pair", {"name": "text", "number": "int"}, place="place"),
    )
    pairs = [("b", 1), ("a", 2), ("%s {more}", 3)]
    found = [Pair("b", 11), Pair("a", 12), Pair("%s {more}", 13)]
    assert statement.fetch(Pair, more=10, pairs=pairs) == found
    assert statement.records(more=0, pairs=pairs[:1]) == [{"name": "b", "number": 1}]
    assert statement.rows(more=0, pairs=pairs[:1]) == [("b", 1)]
    assert statement.column(more=0, pairs=pairs[1:]) == ["a", "%s {more}"]
    assert Statement("SELECT 1 AS number, 'a' AS name").fetch(Pair) == [Pair("a", 1)], "by name, in whatever order"
    with pytest.raises(TypeError, match="number"):
        Statement("SELECT 'a' AS name").fetch(Pair)


@pytest.mark.django_db
def test_executing_says_how_many_rows_were_written() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE kept (id text) ON COMMIT DROP")
    insert = Statement("INSERT INTO kept SELECT id FROM {rows}", rows=Rows("row", {"id": "text"}))
    assert insert.execute(rows=[("a",), ("b",)]) == 2
    assert Statement("DELETE FROM kept WHERE id = {id}").execute(id="c") == 0
