"""Filters of our own, which mean what Liquid's do."""

from typing import Any
from urllib.parse import quote_plus, unquote_plus

from hypothesis import given
from hypothesis import strategies as st

from journeys.rendering import NAMES, parse_template
from journeys.rendering.arguments import TAKES
from journeys.rendering.filters import FILTERS
from journeys.rendering.values import as_text
from tests.journeys.rendering.templates import failure_of, rendered
from tests.support.cases import each

texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=20)
pieces = st.lists(st.sampled_from(["%", "%4", "%41", "%c3%A9", "%FF", "%e2%82", "é", "+", "a", "%00"]), max_size=12)


@given(pieces.map("".join).filter(lambda text: "\0" not in unquote_plus(text)))
def test_url_decode_decodes_what_is_encoded_and_nothing_else(text: str) -> None:
    assert rendered("{{ x | url_decode }}", x=text) == unquote_plus(text)


@given(texts)
def test_url_encode_can_be_decoded(text: str) -> None:
    assert rendered("{{ x | url_encode }}", x=text) == quote_plus(text)
    assert rendered("{{ x | url_encode | url_decode }}", x=text) == text


@given(texts)
def test_escape_once_escapes_as_escape_does_and_a_second_time_nothing(text: str) -> None:
    assert rendered("{{ x | escape | escape_once }}", x=text) == rendered("{{ x | escape }}", x=text)
    once = rendered("{{ x | escape_once }}", x=text)
    assert rendered("{{ x | escape_once }}", x=once) == once
    assert not set("<>\"'") & set(once)


@each(
    "text, result",
    [
        ("1 < 2 & 3", "1 &lt; 2 &amp; 3"),
        ("&lt; &#39; &#x27; &frac12;", "&lt; &#39; &#x27; &frac12;"),
        ("& &; &# &a b; &lt", "&amp; &amp;; &amp;# &amp;a b; &amp;lt"),
    ],
)
def test_escape_once_leaves_entities_as_they_are(text: str, result: str) -> None:
    assert rendered("{{ x | escape_once }}", x=text) == result


def test_escapejs_leaves_nothing_that_ends_a_literal_or_a_script() -> None:
    assert rendered("{{ x | escapejs }}", x="a'b</\n\u2028é") == r"a\u0027b\u003C/\u000A\u2028é"


@given(text=st.text("ab", max_size=12), old=st.text("ab", max_size=3), new=st.text("ab", max_size=3))
def test_the_last_of_several_is_replaced_and_removed(text: str, old: str, new: str) -> None:
    before, found, after = text.rpartition(old) if old else (text, "", "")
    expected = before + new + after if found or not old else text
    assert rendered("{{ x | replace_last: old, new }}", x=text, old=old, new=new) == expected
    assert rendered("{{ x | remove_last: old }}", x=text, old=old) == (before + after if found else text)


@each(
    "items, result",
    [
        (["b", "a", "b", "A"], ["b", "a", "A"]),
        ([1, "1", 1.0, True, 1, True], [1, "1", 1.0, True]),
        ([None, 0, False, "", None], [None, 0, False, ""]),
        ([{"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 1}], [{"a": 1, "b": [2]}, {"a": 1}]),
        ([[1, 2], [2, 1]], [1, 2]),
        ([], []),
    ],
)
def test_uniq_keeps_the_first_of_each(items: list[Any], result: list[Any]) -> None:
    assert rendered("{{ x | uniq }}", x=items) == as_text(result)


def test_uniq_by_a_name_keeps_the_first_with_each_value() -> None:
    orders = [{"of": "hat", "n": 1}, {"of": ["cap"], "n": 2}, {"of": ["cap"]}, {"of": "hat"}, {"n": 3}, {"of": None}]
    assert rendered("{{ x | uniq: 'of' | map: 'n' | join: ',' }}", x=orders) == "1,2,3"
    assert failure_of("{{ x | uniq: 'of' }}", x=[1]) == "the filter uniq cannot work with what it was given."


@each("value", [True, [], {}, "", "abc", "1e3", "1_000", "12 kg", "٣", "nan", "9" * 400])
def test_what_is_no_number_is_no_money(value: Any) -> None:
    assert failure_of("{{ x | money: 2 }}", x=value) == "the filter money cannot work with what it was given."


@given(st.integers(-(2**63), 2**64) | st.floats(-1e300, 1e300), st.integers(0, 9))
def test_money_has_its_digits_and_no_exponent(number: float, digits: int) -> None:
    text = rendered("{{ x | money: y }}", x=number, y=digits)
    whole, _, rest = text.removeprefix("-").partition(".")
    assert whole.isdigit()
    assert len(rest) == digits
    assert abs(float(text) - number) <= 0.5 * 10**-digits + abs(number) * 1e-12


@each(
    "written, takes",
    [
        ("1 | round: 1, 2", "round what it does not take: it takes perhaps a number."),
        ("'a' | upcase: 'x'", "upcase what it does not take: it takes nothing."),
        ("'a' | replace", "replace what it does not take: it takes a text and perhaps a text."),
        ("'a' | truncate: 'long'", "truncate what it does not take: it takes perhaps a number and a text."),
        ("'a' | append: nil", "append what it does not take: it takes a text."),
        ("1 | plus: '3 kg'", "plus what it does not take: it takes a number."),
        (
            "now | date: '%F', 'Mars/Base'",
            "date what it does not take: it takes perhaps a text and a time zone such as",
        ),
        ("now | date: '%F', 2", "date what it does not take: "),
        ("now | concat: 'x'", "concat what it does not take: it takes an array."),
        ("now | size: allow_false: true", "size what it does not take: it takes nothing."),
        ("1 | money: 'two'", "money what it does not take: it takes perhaps a number."),
        ("1 | round: customer.digits | plus: '3.5' | append: 2 | default: nil, allow_false: true", ""),
        ("now | date: '%F', customer.zone", ""),
        ("'a' | truncate: 5, '' | slice: 0, 2 | split: '' | join | default: 0", ""),
    ],
)
def test_arguments_are_checked_with_the_template(written: str, takes: str) -> None:
    for text in (
        f"{{{{ {written} }}}}",
        f"{{% assign x = {written} %}}",
        f"{{% for i in (1..2) %}}{{% echo {written} %}}{{% endfor %}}",
    ):
        mistakes = parse_template(text).mistakes(NAMES)
        assert len(mistakes) == bool(takes)
        assert not takes or mistakes[0].startswith(f"gives the filter {takes}")


def test_it_is_known_of_every_filter_what_it_takes() -> None:
    assert TAKES.keys() == FILTERS.keys()
