"""What templates find and how they write it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from liquid.builtin.expressions._tokenize import _keywords

from tests.journeys.rendering.templates import failure_of, missing_in, rendered, rendered_url
from tests.support.cases import each


@each(
    "text, result",
    [
        ("Hi {{ customer.first_name }}!", "Hi Ada!"),
        ("{{ customer['full name'] }}", "Ada Lovelace"),
        ("{{ customer.address.city }}, {{ customer.orders[1].what }}", "Zürich, cap"),
        ("{{ customer.tags.size }} {{ customer.tags.first }} {{ customer.orders.last.sum }}", "3 a 7"),
        ("{{ customer.address.size }}{{ customer.size }}{{ customer.first }}{{ customer.last }}", ""),
        ("{{ customer.address | size }}", "2"),
        ("{{ api.payload.x }}{{ api.properties.x }}", "11"),
        ("{{ customer.seats }} {{ customer.rate }} {{ customer.pro }} {{ customer.left }}", "12 0.5 true false"),
        ("[{{ customer.nothing }}{{ customer.void }}{{ nil }}]", "[]"),
        ("{{ (1..3) }} {{ (1..3) | append: '!' }}", "1..3 1..3!"),
        ("{{ -86400 | date: '%F' }}", "1969-12-31"),
        ("{{ customer.tags }}", '["a","b","a"]'),
        ("{{ customer.address }}", '{"city":"Zürich","lines":["x"]}'),
        ("{% if customer.seats > 5 and customer.pro %}big{% else %}small{% endif %}", "big"),
        ("{% unless customer.left %}here{% endunless %}", "here"),
        ("{% if nil == blank and blank == blank and customer.first_name != blank %}all{% endif %}", "all"),
        ("{% if customer.nothing == empty or customer.nobody == empty %}some{% else %}none{% endif %}", "none"),
        ("{% case customer.first_name %}{% when 'Ada' %}A{% else %}?{% endcase %}", "A"),
        ("{% for tag in customer.tags %}{{ forloop.index }}{{ tag }}{% endfor %}", "1a2b3a"),
        ("{% for tag in customer.tags %}{% if tag == 'b' %}{% break %}{% endif %}{{ tag }}{% endfor %}", "a"),
        ("{% for i in (1..3) reversed %}{{ i }}{% endfor %}", "321"),
        ("{% for pair in customer.address %}{{ pair[0] }} {% endfor %}", "city lines "),
        ("{% assign who = customer.first_name | upcase %}{{ who }}", "ADA"),
        ("{% assign customer = 'Eve' %}{{ customer }}", "Eve"),
        ("{% capture who %}<{{ customer.first_name }}>{% endcapture %}{{ who }}", "<Ada>"),
        ("{% liquid assign x = 2\n echo x %}{% # nothing %}{% comment %}x{% endcomment %}", "2"),
        ("{% increment n %}{% increment n %}{% decrement m %}", "01-1"),
        ("a\r\n{{ customer.first_name }}\r\n", "a\r\nAda\r\n"),
        ("<b>{{ '<i>' }}</b>", "<b><i></b>"),
        ("{{ customer.tags | join: ', ' }} {{ customer.orders | map: 'what' | join }}", "a, b, a hat cap"),
        ("{{ customer.tags | uniq | concat: customer.tags | size }}", "5"),
        ("{{ customer.orders | where: 'what', 'hat' }}", '[{"sum":5,"what":"hat"}]'),
        ("{{ customer.orders | sum: 'sum' | plus: 0.5 | times: 2 }}", "25.0"),
        ("{{ customer.seats | divided_by: 5 }} {{ 7 | modulo: 4 }} {{ 1.25 | round: 1 }}", "2 3 1.3"),
        ("{{ customer.pro | append: '!' }} {{ customer.tags | append: '!' }}", 'true! ["a","b","a"]!'),
        ("{{ 'a-b' | replace: '-', '+' | split: '+' | last }}", "b"),
        ("{{ 'abc' | slice: 1, 2 }}{{ customer.tags | slice: 1, 2 }}", 'bc["b","a"]'),
        ("{{ 'ä b' | url_encode }} {{ 'x' | base64_encode | base64_decode }}", "%C3%A4+b x"),
        ("{{ customer.nothing | default: 'friend' }} {{ customer.void | default: 'x' }}", "friend x"),
        ("{{ customer.left | default: 'x', allow_false: true }}", "false"),
        ("{{ now | date: '%Y-%m-%d %H:%M %z %% %s' }}", "2026-11-20 12:00 +0000 % 1795176000"),
        ("{{ 'now' | date: '%s' | plus: 86400 | date: '%F' }} {{ 'today' | date: '%F' }}", "2026-11-21 2026-11-20"),
        ("{{ '2026-11-20T23:30:00+02:00' | date: '%H %d' }} {{ '2026-01-02' | date: '%j' }}", "23 20 002"),
        ("{{ '2026-11-20T23:30:00+02:00' | date: '%z %s' }}", "+0200 1795210200"),
        ("{{ '2027-03-28T02:30' | date: '%R %z', 'Europe/Berlin' }}", "03:30 +0200"),
        ("{{ '0001-01-01' | date: '%F', 'Europe/Berlin' }}", "1-01-01"),
        ("{{ 'soon' | date: '%Y' }}", "soon"),
        ("{{ customer.tags | date: '%Y' | size }}", "3"),
    ],
)
def test_a_template_renders(text: str, result: str) -> None:
    assert rendered(text) == result


@each("word", sorted(_keywords))  # also those of the library's next version
@each(
    "text, result",
    [
        ("{{ api.payload.WORD.x }}", "V"),
        ("{% if api . payload . WORD.WORD contains 'W' %}{{ api.payload.WORD.WORD | join }}{% endif %}", "W"),
        ("{% for x in api.payload.WORD.WORD limit: 1 %}{{ x }}{% endfor %}", "W"),
        ("{% liquid assign y = api.payload.WORD\n echo y.x %}", "V"),
        ("{{ api.payload.WORD-er }}{{ api.payload.WORDer }}{{ api.payload.WORD? }}", "123"),
        ("{{ 'a.WORD' }}{% liquid # don't\n echo \"b.WORD\" %}c.WORD", "a.WORDb.WORDc.WORD"),
    ],
)
def test_a_word_of_liquid_s_own_is_a_name_like_any_other_after_a_dot(word: str, text: str, result: str) -> None:
    payload = {word: {"x": "V", word: ["W"]}, f"{word}-er": 1, f"{word}er": 2, f"{word}?": 3}
    assert rendered(text.replace("WORD", word), api={"payload": payload}) == result.replace("WORD", word)


BLANK: list[Any] = [None, False, "", " \t\n", [], {}]
FILLED: list[Any] = [True, 0, 0.0, "x", "nil", [None], {"a": None}]


@each(
    "text",
    [
        "{% if api.payload.x == blank %}blank{% else %}filled{% endif %}",
        "{% if blank == api.payload.x and true %}blank{% else %}filled{% endif %}",
        "{% if api.payload.x != blank %}filled{% else %}blank{% endif %}",
        "{% unless blank != api.payload.x %}blank{% else %}filled{% endunless %}",
        "{% case api.payload.x %}{% when 'a', blank %}blank{% else %}filled{% endcase %}",
    ],
)
@each(
    "payload, result",
    [*[({"x": value}, "blank") for value in BLANK], *[({"x": value}, "filled") for value in FILLED], ({}, "blank")],
)
def test_blank_is_what_is_missing_or_holds_nothing_but_white_space(
    text: str, payload: dict[str, Any], result: str
) -> None:
    assert rendered(text, api={"payload": payload}) == result


@each(
    "text, names",
    [
        ("{{ customer.first_name }}", ()),
        ("{{ customer.nobody }} {{ customer.nobody }}", ("customer.nobody",)),
        ("{{ customer.address.street.number }}{{ nowhere }}", ("customer.address.street.number", "nowhere")),
        ("{{ customer.nothing }}", ("customer.nothing",)),
        ("{{ customer['last name'] }} {{ customer.tags[9] }}", ("customer.last name", "customer.tags[9]")),
        ("{{ customer.void }}{{ customer.left }}", ()),
        ("{{ event.name }}", ("event.name",)),
        ("{{ customer.nobody | upcase }}{{ customer.points | plus: 1 }}", ("customer.nobody", "customer.points")),
        ("{{ 'x' | append: customer.nobody }}", ("customer.nobody",)),
        ("{{ customer.nobody | first }}{{ customer.none | join }}", ("customer.nobody", "customer.none")),
        ("{{ customer.nobody | date: '%Y' }}", ("customer.nobody",)),
        ("{% for x in customer.nobody %}{% endfor %}", ("customer.nobody",)),
        ("{% assign x = customer.nobody %}", ()),
        ("{% assign x = customer.nobody %}{{ x }}", ("customer.nobody",)),
        ("{% if customer.nobody %}x{% endif %}{% unless customer.nobody == 'x' %}{% endunless %}", ()),
        ("{% case customer.nobody %}{% when 1 %}{% endcase %}", ()),
        ("{{ customer.nobody | default: 'friend' }}{{ customer.nobody | size }}", ()),
        ("{{ customer.nobody | default: customer.noone }}", ("customer.noone",)),
    ],
)
def test_a_value_that_is_missing_is_noted_once_unless_it_is_only_tested(text: str, names: tuple[str, ...]) -> None:
    assert missing_in(text) == names


def test_not_every_missing_name_of_a_bad_template_is_kept() -> None:
    many = missing_in("{% for i in (1..500) %}{{ customer[i] }}{% endfor %}")
    assert len(many) == 100
    (long,) = missing_in("{{ customer.%s }}" % ("x" * 500))
    assert len(long) == 200


def test_a_missing_name_can_be_stored_whatever_the_template_makes_it_of() -> None:
    assert missing_in("{% assign k = 'a%00b' | url_decode %}{{ customer[k] }}") == ("customer.a\ufffdb",)


@each("text", ["{{ 'today' }}", "{{ today }}", "{{ now }}"])
def test_no_template_reads_a_clock(text: str) -> None:
    assert rendered(text) in {"today", "", "2026-11-20T12:00:00.000Z"}


@each(
    "text",
    ["{{ customer.__class__ }}", "{{ customer.keys }}", "{{ customer.tags.append }}", "{{ customer.x.__init__ }}"],
)
def test_nothing_but_values_can_be_reached(text: str) -> None:
    assert rendered(text) == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(value=json_values)
def test_a_value_is_written_as_json_unless_it_is_a_string_or_null(value: Any) -> None:
    text = rendered("{{ value }}", value=value)
    if value is None or isinstance(value, str):
        assert text == (value or "")
    else:
        assert json.loads(text) == value


@pytest.mark.slow
@given(value=json_values)
def test_a_value_in_a_url_is_nothing_but_text(value: Any) -> None:
    assert set(rendered_url("{{ value }}", value=value)) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%"
    )


def test_a_nul_that_a_filter_makes_is_refused() -> None:
    assert failure_of("{{ '%00' | url_decode }}") == "its output holds a NUL character."
