"""Templates that would run for long, grow without end, or were never templates."""

import inspect
import json
import sys
import time
import traceback
from collections import deque
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeys.rendering import InvalidTemplate, RenderingFailed, parse_template
from tests.journeys.rendering.templates import PROMISED, failure_of, processor_time, refusal_of, rendered, rendering
from tests.support.cases import each

BIG = "a" * 60_000
FULL = "a" * 256 * 1024
MANY = list(range(1000))
GREATEST = 2**1024 - 1
TOO_OFTEN = "its loops go round too often."
TOO_LARGE = "a value grows larger than 256 KiB."
TOO_LONG = "an array grows longer than 1000 items."
TOO_SLOW = "it takes too long: more than 75 ms of processor time."
OUT_OF_RANGE = "a number grows out of range."
LOTS_OF_RANGE = "a range holds more than 1000 numbers."
# What a machine under load may take; alone each of these takes a few milliseconds.
PATIENCE = 2.0

BOMBS = [
    ("{% for a in (1..1000) %}{% for b in (1..1000) %}x{% endfor %}{% endfor %}", TOO_OFTEN),
    ("{% for a in (1..1000) %}{% endfor %}" * 11, TOO_OFTEN),
    ("{% for a in (1..1000) %}" + "{% if true %}{% endif %}" * 100 + "{% endfor %}", TOO_OFTEN),
    ("{% for a in (0..1000) %}{% endfor %}", LOTS_OF_RANGE),
    ("{% for a in (1..1000000000) reversed %}{% endfor %}", LOTS_OF_RANGE),
    ("{% if (1..1000000000000) contains 'x' %}{% endif %}", LOTS_OF_RANGE),
    ("{% assign n = 1000000000 %}{{ (-1..n) | join }}", LOTS_OF_RANGE),
    ("{% assign n = -1000000000 %}{% for a in (n..'x') %}{% endfor %}", LOTS_OF_RANGE),
    ("{% assign a = big %}" + "{% assign a = a | append: a %}" * 30, TOO_LARGE),
    ("{% assign a = big %}" + "{% assign a = a | prepend: a %}" * 30, TOO_LARGE),
    ("{{ full | append: 'a' }}", TOO_LARGE),
    ("{{ big | replace: 'a', big }}", TOO_LARGE),
    ("{{ big | replace: '', big }}", TOO_LARGE),
    ("{{ big | escape | escape | append: big }}" * 3, "its output is larger than 64 KiB."),
    ("{{ many | join: big }}", TOO_LARGE),
    ("{{ big | split: '' | size }}", TOO_LONG),
    ("{{ big | split: 'a' | size }}", TOO_LONG),
    ("{% assign a = many %}{{ a | concat: a | size }}", TOO_LONG),
    ("{% assign a = big | split: '~' %}" + "{% assign a = a | concat: a %}" * 5, "an array grows larger than 256 KiB."),
    ("{{ texts | reverse }}", "an array grows larger than 256 KiB."),
    ("{{ arrays | reverse }}", "an array grows larger than 256 KiB."),
    ("{{ names | reverse }}", "an array grows larger than 256 KiB."),
    ("{{ values | reverse }}", "an array grows larger than 256 KiB."),
    ("{{ more | uniq | size }}", "an array holds more than 1000 items."),
    ("{{ nested | uniq | size }}", "an array holds more than 1000 items."),
    ("{% assign a = 99999999999 %}" + "{% assign a = a | times: a %}" * 30, OUT_OF_RANGE),
    ("{{ greatest | plus: 1 }}", OUT_OF_RANGE),
    ("{{ '%s.5' | plus: 1 }}" % ("9" * 400), OUT_OF_RANGE),
    ("{{ '%s' | plus: 1 }}" % ("9" * 1000), OUT_OF_RANGE),
    ("{{ big }}{{ big }}", "its output is larger than 64 KiB."),
    ("{% for i in (1..100) %}{{ big }}{% endfor %}", "its output is larger than 64 KiB."),
    ("{% capture x %}{{ big }}{{ big }}{% endcapture %}", "its output is larger than 64 KiB."),
    ("{{ big }}{% capture x %}{{ big }}{% endcapture %}", "its output is larger than 64 KiB."),
    ("".join(f"{{% assign a{number} = 1 %}}" for number in range(101)), "it gives more than 100 names to values."),
    ("".join(f"{{% assign a{number} = big %}}" for number in range(50)), "the values that it names grow too large."),
    ("{% for i in (1..1000) %}{% if more contains 'x' %}{% endif %}{% endfor %}", TOO_SLOW),
    ("{% for i in (1..1000) %}{% assign a = many | uniq %}{% endfor %}", TOO_SLOW),
    ("{{ many" + " | uniq" * 200 + " | size }}", TOO_SLOW),
    ("{{ now | date: '" + "%Y" * 50 + "-' }}", "a date's format is longer than 100 characters."),
]


@each("text, reason", BOMBS)
def test_a_bomb_is_stopped_with_its_reason(text: str, reason: str) -> None:
    wide = {"texts": [BIG] * 5, "arrays": [{"a": [BIG]}] * 5, "names": [{BIG: 1}] * 5, "values": [{"a": BIG}] * 5}
    long = {"many": MANY, "more": list(range(100_000)), "nested": [[[1] * 20] * 20] * 20}
    started = time.thread_time()
    assert failure_of(text, big=BIG, full=FULL, greatest=GREATEST, **wide, **long) == reason
    assert time.thread_time() - started < PATIENCE


@each(
    "text, result",
    [
        ("{% for a in (1..1000) %}{% endfor %}" * 10, ""),
        ("{{ (1..1000) | size }}", "1000"),
        ("{{ full | slice: 0, 65536 }}", FULL[:65_536]),
        ("{{ full | append: '' | size }}", "262144"),
        ("{{ full | replace: 'a', 'b' | size }}", "262144"),
        ("{{ many | join: '~' | split: '~' | size }}", "1000"),
        ("{{ one | join: ', ' | size }} {{ one | reverse | size }}", "262144 1"),
        ("{{ greatest | plus: 0 }}", str(GREATEST)),
        ("{{ many | uniq | concat: nobody | size }}", "1000"),
        ("".join(f"{{% assign a{number} = 1 %}}" for number in range(100)), ""),
        ("{% assign a = full %}{% assign b = full %}{% assign c = full %}{% assign d = full %}", ""),
        ("{{ now | date: '" + "%Y" * 50 + "' }}", "2026" * 50),
        ("a" * (16_384 - len("{{ a }}")) + "{{ a }}", "a" * (16_384 - len("{{ a }}"))),
        ("{{" + "a" * 2000 + "}}", ""),
    ],
)
def test_what_is_just_as_large_as_may_be_is_rendered(text: str, result: str) -> None:
    assert rendered(text, full=FULL, one=[FULL], many=MANY, greatest=GREATEST) == result


ALIKE = [json.loads(json.dumps({"a": [1.5] * 60 + [number], **dict.fromkeys("bcdefgh", 0)})) for number in range(1000)]


@pytest.mark.slow
@each(
    "text",
    [
        "{{ alike | uniq | size }}",
        "{{ alike | uniq: 'a' | size }}",
        "{{ alike | sort: 'a' | reverse | sort_natural | uniq | size }}",
        "{{ halves | remove_last: half | size }}",
        "{{ halves | replace_last: half, 'x' | size }}",
        "{{ percents | url_decode | size }}{{ ampersands | escape_once | size }}",
        "{% for i in (1..1000) %}{% case 0 %}{% when " + "1," * 950 + "1 %}{% endcase %}{% endfor %}",
        "{% for i in (1..1000) %}{% if " + "1 == 1 and " * 150 + "1 == 1 %}{% endif %}{% endfor %}",
        "{% if (1..1000) contains 'x' %}{% endif %}" * 380,
        "{% for i in (1..1000) %}{{ alike | sort: 'a' | first | size }}{% endfor %}",
        "{% for i in (1..1000) %}{% if alike == other %}{% endif %}{% endfor %}",
    ],
)
def test_what_is_known_to_take_long_ends_within_the_promised_time(text: str) -> None:
    template = parse_template(text)
    half = "b" + "a" * 60_000
    scope = {
        "alike": ALIKE,
        "other": json.loads(json.dumps(ALIKE)),
        "halves": "a" * 200_000,
        "half": "a" + half,
        "percents": "%\u00e9" * 130_000,
        "ampersands": "&a" * 130_000,
    }

    def render() -> None:
        with suppress(RenderingFailed):
            template.render(rendering(**scope))

    assert processor_time(render) < PROMISED


def test_the_templates_of_a_step_share_their_time() -> None:
    used = rendering(big=BIG)
    template = parse_template("{{ big | escape | replace: 'a', 'b' | upcase | size }}")
    started = time.thread_time()
    with pytest.raises(RenderingFailed, match="it takes too long"):
        deque((template.render(used) for _ in range(5000)), maxlen=0)
    assert time.thread_time() - started < PATIENCE


@each(
    "text, reason",
    [
        ("{{ 'x' | divided_by: 0 }}", "the filter divided_by cannot work with what it was given."),
        ("{{ 'secret' | plus: 'secret' | round: 'x', 3 }}", "the filter round cannot work with what it was given."),
        ("{{ 'x' | truncate: 'many' }}", "the filter truncate cannot work with what it was given."),
        ("{{ 'x' | upcase: 1 }}", "the filter upcase cannot work with what it was given."),
        ("{{ 'é' | base64_decode }}", "the filter base64_decode cannot work with what it was given."),
        ("{{ customer.orders | sort }}", "the filter sort cannot work with what it was given."),
        ("{{ customer.orders | map: customer.tags }}", "the filter map cannot work with what it was given."),
        ("{{ customer.seats | sum: 'x' }}", "the filter sum cannot work with what it was given."),
        ("{% if customer.tags > 1 %}{% endif %}", "it compares or writes what cannot be compared or written."),
        ("{% break %}", "break and continue may stand in a loop only."),
        ("{{ 99999999999999 | date: '%Y' }}", "the filter date cannot work with what it was given."),
        ("{{ 999999999999999999 | date: '%Y' }}", "the filter date cannot work with what it was given."),
    ],
)
def test_a_render_that_fails_says_why_and_quotes_no_value(text: str, reason: str) -> None:
    assert failure_of(text) == reason


@pytest.mark.parametrize(
    "raised", [AssertionError, RecursionError, MemoryError, OverflowError, ValueError, StopIteration, RuntimeError]
)
@pytest.mark.parametrize(
    "text",
    [
        "{{ customer.first_name | upcase }}",
        "{% for tag in customer.tags %}{% assign x = tag | upcase %}{% endfor %}",
        "{% capture x %}{% if true %}{{ customer.tags | upcase }}{% endif %}{% endcapture %}",
    ],
)
def test_whatever_a_filter_or_a_tag_raises_the_rendering_fails_and_quotes_nothing(
    text: str, raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(*values: object) -> object:
        raise raised(f"What came was {values!r}, which is Ada's.")

    template = parse_template(text)
    monkeypatch.setitem(template._parsed.env.filters, "upcase", raising)
    with pytest.raises(RenderingFailed) as failed:
        template.render(rendering())
    assert failed.value.reason in {
        "it compares or writes what cannot be compared or written.",
        "it is nested too deeply.",
    }
    assert "Ada" not in "".join(traceback.format_exception(failed.value))


UNCLOSED = "is no valid template: a {{ is not closed by }}."


@each(
    "text, reason",
    [
        ("{{ customer.name", UNCLOSED),
        ("{{" * 8000, UNCLOSED),
        ("{{" + " " * 16_000, UNCLOSED),
        ("{% if" + " " * 16_000, "is no valid template: a {% is not closed by %}."),
        ("{{ }}", "is no valid template: nothing stands between {{ and }}."),
        ("{{" + " " * 16_000 + "}}", "is no valid template: nothing stands between {{ and }}."),
        ("{% if" + " " * 1000 + "x %}", "is no valid template: between {% and %} is too much blank."),
        ("{{" + "a" * 2001 + "}}", "holds more than 2000 characters between {{ and }}."),
        ("{{ a }}" + "a" * 16_378, "is a template of 16385 characters; the maximum is 16384."),
        ("{{ a | dance }}", "is no valid template: there is no filter 'dance'."),
        ("{% if b %}{% echo a | upcase | dance %}{% endif %}", "is no valid template: there is no filter 'dance'."),
        ("{{ a b }}", "is no valid template: expected end of expression, found word."),
        ("{{ a..b }}", "is no valid template: expected end of expression, found '..'."),
        ("{% if a %}", "is no valid template: expected tag endif, found end of expression."),
        ("{% endif %}", "is no valid template: unexpected tag 'endif'."),
        ("{% dance %}", "is no valid template: unexpected tag 'dance'."),
        ("{% include 'secrets' %}", "is no valid template: unexpected tag 'include'."),
        ("{% render 'secrets' %}", "is no valid template: unexpected tag 'render'."),
        ("{% extends 'secrets' %}", "is no valid template: unexpected tag 'extends'."),
        ("{% tablerow a in b %}{% endtablerow %}", "is no valid template: unexpected tag 'tablerow'."),
        ("{% raw %}{% endraw %}", "is no valid template: the tags raw and doc are not there."),
        ("{% if a %}" * 40 + "{% endif %}" * 40, "is no valid template: block nesting limit reached."),
    ],
)  # fmt: skip
def test_what_is_no_template_is_refused_at_once(text: str, reason: str) -> None:
    started = time.thread_time()
    assert refusal_of(text) == reason
    assert time.thread_time() - started < PATIENCE


def test_a_deep_expression_fails() -> None:
    """How deep one may be depends on the Python, and on how deep the stack is already."""
    template, usual = parse_template("{{ " + "a[" * 200 + "a" + "]" * 200 + " }}"), sys.getrecursionlimit()
    assert template.render(rendering()) == ""
    sys.setrecursionlimit(len(inspect.stack(0)) + 150)
    try:
        with pytest.raises(RenderingFailed, match=r"^it is nested too deeply\.$"):
            template.render(rendering())
    finally:
        sys.setrecursionlimit(usual)


def test_a_long_list_within_the_limits_is_rendered() -> None:
    orders = [{"sum": number, "what": "hat"} for number in range(1000)]
    text = "{{ order.what }}: {{ order.sum }}{% unless forloop.last %}, {% endunless %}"
    assert rendered(f"{{% for order in orders %}}{text}{{% endfor %}}", orders=orders).endswith("hat: 998, hat: 999")


PIECES = [
    "{{", "}}", "{%", "%}", "{%-", "-}}", " ", "a", "customer.tags", ".", "|", ":", ",", "'", '"', "(", "1..3", ")",
    "[", "]", "if", "endif", "for x in", "endfor", "assign x =", "join", "1", "==", "and", "contains", "else", "\n",
]  # fmt: skip


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_whatever_is_written_is_a_text_a_refusal_or_a_failure(pieces: list[str]) -> None:
    with suppress(InvalidTemplate, RenderingFailed):
        assert isinstance(rendered("".join(pieces)), str)
