"""The same words for the same mistake, whichever way a value comes in: every way that can hold the mistake is tried."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import pytest
from django.http import QueryDict

from customers.files.columns import Column, value_of
from engage.calls.queries import read_query, require_known
from engage.errors import InvalidRequest, Refusal
from engage.json.described import read_object, written
from engage.json.documents import Part, Reading
from engage.json.fields import Items, Text, Whole
from engage.json.reading import read
from engage.resources.columns import column_mistakes
from engage.resources.fields import read_item
from journeys.models import Connection
from tests.support.cases import each

COLUMNS = {"text": "name", "choice": "channel"}


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, kw_only=True)
class Typed:
    """As bodies and query strings are read."""

    text: Annotated[str, Text(longest=200)] = ""
    whole: Annotated[int, Whole(200)] = 1
    flag: bool = True
    choice: Colour = Colour.RED
    items: Annotated[list[str] | None, Items(most=2)] = None
    needed: str


@dataclass(frozen=True, kw_only=True)
class Item:
    """As items of definitions and seed files are read."""

    text: str = ""
    whole: Annotated[int, Whole(200)] = 1
    flag: bool = True


@dataclass(frozen=True, kw_only=True)
class Step:
    """As steps are read."""

    text: str = written("text", lambda part: part.text(at_most=200), default="")
    whole: int = written("whole", lambda part: part.whole(most=200), default=1)
    flag: bool = written("flag", Part.flag, default=True)
    choice: str = written("choice", lambda part: part.choice([*Colour]), default="red")
    items: Any = written("items", lambda part: part.items(at_most=2), default=())
    needed: str = written("needed", Part.text)


def body(given: dict[str, Any]) -> None:
    read(Typed, given)


def query(given: dict[str, Any]) -> None:
    asked = QueryDict(mutable=True)
    asked.update(given)
    require_known(asked, ["text", "whole", "flag", "choice", "items", "needed"])
    read_query(Typed, asked)


def item(given: dict[str, Any]) -> None:
    with Reading() as reading:
        read_item(Part({"key": "k", **given}, "", InvalidRequest), Item, reading)


def step(given: dict[str, Any]) -> None:
    read_object(Step, Part(given, "", InvalidRequest))


def column(given: dict[str, Any]) -> None:
    """Of a definition that staff save by a form, too: what its model says."""
    row = Connection(**{"key": "k", "name": "n", **{COLUMNS[name]: value for name, value in given.items()}})
    spellings = {column: name for name, column in COLUMNS.items()}
    for _, message in column_mistakes(row, except_for={"workspace", "url"}, spellings=spellings):
        raise InvalidRequest(message)


def cell(given: dict[str, Any]) -> None:
    """Of a file."""
    for name, value in given.items():
        value_of(Column(name=name, type="number"), value)


WAYS = (body, query, item, step, column, cell)
TYPED = (body, item, step)  # whose values have types, as JSON has
MISTAKES: tuple[tuple[dict[str, Any], str, tuple[Callable[[dict[str, Any]], None], ...]], ...] = (
    ({"text": 7}, "text must be a string, but a number came.", TYPED),
    ({"text": "a" * 201}, "text must be at most 200 characters long, not 201.", (body, step, column)),
    ({"whole": "x"}, "whole must be a whole number from 1 to 200.", (body, query, item, step)),
    ({"whole": "201"}, "whole must be a whole number from 1 to 200.", (query,)),
    ({"whole": 201}, "whole must be a whole number from 1 to 200.", TYPED),
    ({"whole": True}, "whole must be a whole number from 1 to 200.", TYPED),
    ({"score": "x"}, "score must be a number", (cell,)),
    ({"flag": "yes"}, "flag must be true or false, ", (*TYPED, query)),
    ({"choice": "green"}, "choice must be one of red, blue, not 'green'.", (body, query, step)),
    ({"choice": "green"}, "choice must be one of email, sms, push, chat, other, not 'green'.", (column,)),
    ({"items": ["a", "b", "c"]}, "items holds 3 items; its maximum is 2.", (body, step)),
    ({"items": "a"}, "items must be an array", (body, step)),
    ({"text": " "}, "text must not be blank.", (item, step)),
    ({"text": ""}, "text must not be blank.", (item, step, column)),
    ({"other": "x"}, "other is not known; what may stand here is ", (query, item, step)),
    ({"needed": None}, "needed is required.", (body,)),
    ({}, "needed is required.", (body, step)),
)


@each("given, words, ways", MISTAKES)
def test_a_mistake_is_said_in_the_same_words(
    given: dict[str, Any], words: str, ways: tuple[Callable[[dict[str, Any]], None], ...]
) -> None:
    for way in ways:
        whole = {"needed": "x", **given} if given and way in {body, query, step} else given
        with pytest.raises(Refusal) as refused:
            way(whole)
        assert refused.value.message.startswith(words), (way.__name__, refused.value.message)


def test_no_way_is_left_out() -> None:
    assert {way for _, _, ways in MISTAKES for way in ways} == {*WAYS}
