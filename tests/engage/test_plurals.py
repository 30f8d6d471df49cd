"""One thing is not told as many."""

import re

from config import ROOT
from engage.notations.plurals import counted

# A number that code has counted, in a text, before a plural: `{len(found)} hosts`. Bounds, in capitals, are never 1.
_COUNT_BEFORE_A_PLURAL = re.compile(
    r"""f(["']).*?\{(?!counted)[a-z_.()]*(?::,)?\} (?:[a-z]+ )?"""
    r"(?:hosts|customers|jobs|seconds|days|pages|attempts|times|calls)\b"
)
# Where the number is known to be more, or the plural does not stand for it alone.
_KNOWN = {
    "{enrollment.attempts} times",  # once, where it is 1
    "{times[run.step_id]} times",
    "{done} of {len(answers)} calls",
    "{len(seeded.customers):,} customers",
}


def test_a_count_has_its_thing_in_the_right_number() -> None:
    assert [counted(number, "host") for number in (0, 1, 2, 1000)] == ["0 hosts", "1 host", "2 hosts", "1,000 hosts"]
    assert [counted(number, "page was", "pages were") for number in (1, 2)] == ["1 page was", "2 pages were"]


def test_no_text_puts_a_plural_behind_whatever_was_counted() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for app in ("bridge", "config", "customers", "engage", "journeys")
        for file in (ROOT / app).rglob("*.py")
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if _COUNT_BEFORE_A_PLURAL.search(line) and not any(one in line for one in _KNOWN)
    ]
    assert found == []
