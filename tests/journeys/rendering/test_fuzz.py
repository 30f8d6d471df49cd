"""All filters and tags with awkward values: there is a text or a failure, in time, and no failure quotes a value."""

import os
import random
from collections import Counter

import pytest

from journeys.rendering import InvalidTemplate, Rendering, RenderingFailed, Template, parse_template, parse_url_template
from journeys.rendering.environment import TextEnvironment
from journeys.rendering.filters import FILTERS
from tests.journeys.rendering.awkward import LARGE, LITERALS, PLANTED, PLANTED_NUMBER, TAGS, VALUES, Writer
from tests.journeys.rendering.templates import PROMISED, processor_time
from tests.support.cases import each

SCOPE = {"v": VALUES, "w": LARGE, "now": "2026-11-20T12:00:00.000Z"}
ALL = sorted(FILTERS)
UNWRITTEN = {"content", "illegal", "output"}  # what the library calls a text, an unknown tag, and {{ … }}
SPAN = 25
THOROUGH = "FUZZ_EXAMPLES" in os.environ  # make fuzz
SEEDS = range(8 if THOROUGH else 2)
ARGUMENTS_OF_EACH = 6 if THOROUGH else 1


def reason_of_failure(template: Template) -> str | None:
    """None if it was rendered."""
    try:
        template.render(Rendering(lambda: SCOPE))
    except RenderingFailed as failed:
        return failed.reason
    return None


def is_rendered(text: str, *, in_url: bool = True) -> bool:
    """Tries out a text, which may be no template; unless it captures, also as a part of a URL."""
    try:
        templates = [parse_template(text)]
        if in_url and "capture" not in text:
            templates.append(parse_url_template(text))
    except InvalidTemplate:
        return False
    reasons: list[str | None] = []
    for template in reversed(templates):
        assert processor_time(lambda of=template: reasons.append(reason_of_failure(of))) < PROMISED, text  # type: ignore[misc]
    reason = reasons[-1]
    assert PLANTED not in (reason or "")
    assert str(PLANTED_NUMBER) not in (reason or "")
    return reason is None


ARGUMENTS = ["", ": 'a'", ": 1", ": -1, 2", ": 'a', 'b'", ": 1, 'b'", ": '%Y', ''", *(f": {one}" for one in LITERALS)]


@pytest.mark.slow
@each("name", ALL)
def test_a_filter_of_any_value_gives_a_value_or_fails(name: str) -> None:
    draw = random.Random(name)
    results = Counter(
        is_rendered(f"{{{{ v[{number}] | {name}{arguments} }}}}")
        for number in range(len(VALUES))
        for arguments in ["", *draw.sample(ARGUMENTS, ARGUMENTS_OF_EACH)]
    )
    assert results[True] > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_a_filter_of_the_largest_values_ends_in_time(name: str) -> None:
    draw = random.Random(name)
    for number in range(len(LARGE)):
        for arguments in [draw.choice(ARGUMENTS[:5]), f": w[{draw.randrange(len(LARGE))}], 'b'"]:
            # Only a number would come to stand in a URL.
            is_rendered(f"{{{{ w[{number}] | {name}{arguments} | size }}}}", in_url=False)


def test_the_fuzz_knows_every_tag() -> None:
    assert all(any(f"{{% {name} " in form for form in TAGS) for name in set(TextEnvironment().tags) - UNWRITTEN)


@pytest.mark.slow
@each("seed", SEEDS)
def test_any_tags_and_chains_of_filters_give_a_text_or_fail(seed: int) -> None:
    writer = Writer(seed, ALL, large=False)
    texts = [writer.template(form) for form in TAGS for _ in range(SPAN)]
    assert len([text for text in texts if is_rendered(text)]) > len(texts) / 10


@each("seed", SEEDS)
def test_any_tags_and_chains_of_filters_over_the_largest_values_end_in_time(seed: int) -> None:
    writer = Writer(seed, ALL, large=True)
    for form in TAGS:
        for _ in range(SPAN // 5):
            is_rendered(writer.template(form))
