"""Values and templates that filters and tags are not prepared for. Each text and name of a customer holds PLANTED."""

import json
import random
import re
from typing import Any

PLANTED = "Ada7e1"
# Numbers that say whom they are from, as texts do.
PLANTED_NUMBER = 70107010701

TEXTS = [
    "", " ", "\n\t ", PLANTED, f"<![{PLANTED}[x]]>", f"<{PLANTED}", f"<script>{PLANTED}", f"{PLANTED}>", "<!--",
    "&#38;",
    f"&{PLANTED};", "&#" + "9" * 5000, "%", "%zz", "%00", "%F0%9F", f"%{PLANTED}", "+", "\x00", "\ud800", "\udfff",
    "\U0001f600", "ß\u0130\u03a3", "\u202e", "1", "-1", "1.5", "1e999", "-1e-999", "nan", "sNaN", "inf", "-Infinity",
    "0x10",
    "1_000", "٣", "9" * 5000, f"{PLANTED_NUMBER}", "2026-11-20", "2026-11-20T23:59:60Z", "0001-01-01T00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59", "now", "today", "999999999999", "%Y", "%s%%", "%", "%99999Y", "%-d%E%O",
    "%q\n", "=",
    "QQ", "====", "w7w=", "true", "nil", "size", "first", "last", "__class__", "[", "a,b,a", "\\", "\\1", "(?P<",
    "{{ x }}",
]  # fmt: skip
NUMBERS: list[Any] = [
    0, -0.0, 1, -1, 2, 3.5, 0.1, -2.5, 1e308, -1e308, 5e-324, 2**31, -(2**31) - 1, 2**63, 2**64 - 1, -(2**63), 10**300,
    PLANTED_NUMBER, PLANTED_NUMBER + 0.5,
]  # fmt: skip
ARRAYS: list[Any] = [
    [], [None], [[]], [{}], [0, 0.0, False, "0", None], [1, True, 1.0, "1"], [PLANTED, 1], [1, PLANTED],
    ["b", "a", "B"],
    [[1, [2, [3, [4, [5, [6, [7]]]]]]]], [{"a": PLANTED}, {"a": 1}, {"b": 2}],
    [{"a": 1}, {"a": 1.0}, {"a": True}, {"a": 1}],
    [{"a": [PLANTED]}, {"a": {"a": PLANTED}}], [{"a": None}, {}], [{PLANTED: PLANTED}], [1e308, 1e308], ["nan", "sNaN"],
    ["1e999", "1"], [2**64 - 1] * 20, [[PLANTED, 1], [1, PLANTED]], ["x" * 300] * 300, [0] * 1000, [0] * 1001,
]  # fmt: skip
OBJECTS: list[Any] = [
    {},
    {"a": 1},
    {"a": None},
    {"size": PLANTED, "first": 1},
    {PLANTED: {PLANTED: PLANTED}},
    {"": [PLANTED]},
]
VALUES: list[Any] = [None, True, False, *TEXTS, *NUMBERS, *ARRAYS, *OBJECTS]

_LARGEST = 256 * 1024
_PIECES = [
    "a", " ", "a ", "<", "<!--", "<script>", "&", "&a", "&#9", "&lt;", "%", "%41", "%41x", "%C3%A9", "\n", "\r\n",
    "\x01", '"',
    "-", "ß", "\u0390", "é", "\U0001f600", "9", "QUFB", "ab" + "a" * 40_000, "+",
]  # fmt: skip
_MANY_MEMBERS = {f"f{number}": 0 for number in range(25)}
# As large as a customer's attributes or a payload may be, or a value within a template.
_LARGE: list[Any] = [
    *(piece * (_LARGEST // len(piece)) for piece in _PIECES),
    [1] * 130_000, [[number] for number in range(60_000)], {f"k{number}": number for number in range(20_000)},
    [{"a": [1.5] * 60 + [number]} for number in range(1000)],
    [{"a": 1, **_MANY_MEMBERS, "z": number} for number in range(1000)],
    [[[[[[[number] * 30]]]]] for number in range(999)], ["a" * 250 + str(number) for number in range(1000)],
    [number * (2**61 - 1) for number in range(8)] * 125, ["9" * 250] * 1000, [{"a": "1e9"}] * 1000,
    ["\x01" * 40] * 1000, {"a": [{"a": ["\x01" * 60_000]}] * 4}, [[1, 2, 3]] * 333, ["ab" * 60_000, "ba" * 60_000],
]  # fmt: skip
LARGE: list[Any] = json.loads(json.dumps(_LARGE))  # equal values are not the same objects

NAMES = ["a", "b", "size", "first", "last", PLANTED, "''", "'a'", "0", "-1", "99"]
LITERALS = [
    "''", "' '", "'a'", "'b'", f"'{PLANTED}'", "0", "1", "-1", "2", "3.5", "1000", "4294967296",
    "99999999999999999999", "true",
    "false", "nil", "empty", "blank", "(1..3)", "(3..1)", "(-5..990)", "'%Y-%m-%d %s'", "'%99999Y'", "'<'", "nobody",
    "forloop",
]  # fmt: skip
# Every tag; X and Y stand for expressions, F for filters, O for an operator.
TAGS = [
    "{{ X F }}",
    "{{ X F F }}{{ Y F F F }}",
    "{% if X O Y %}a{% elsif X and Y or X O Y %}b{% else %}c{% endif %}",
    "{% unless X O Y %}a{% else %}b{% endunless %}",
    "{% case X %}{% when Y, X or Y %}a{% when X %}b{% else %}c{% endcase %}",
    "{% for x in X limit: Y offset: Y %}{{ x F }}{{ forloop.index F }}{% else %}{{ Y }}{% endfor %}",
    "{% for x in X reversed %}{% for y in x %}{{ y F }}{% break %}{% endfor %}{% continue %}{% endfor %}",
    "{% for x in (X..Y) offset: continue %}{{ x F }}{% if forloop O Y %}{% endif %}{% endfor %}",
    "{% for x in X %}{{ forloop F }}{% for y in forloop %}{{ y F }}{{ forloop.parentloop F }}{% endfor %}{% endfor %}",
    "{% for x in (1..900) %}{% if X O Y %}{% endif %}{% assign z = X F F %}{% endfor %}",
    "{% for x in (1..200) %}{% case X %}{% when Y, Y, Y, X %}{% endcase %}{% endfor %}",
    "{% for x in (1..200) %}{% capture z %}{{ X F }}{% endcapture %}{% endfor %}",
    "{% assign x = X F %}{% assign x = x F %}{{ x F }}{{ x.size }}{{ x[Z] }}{{ x[x] }}",
    "{% capture x %}{{ X F }}{% endcapture %}{{ x F F }}",
    "{% increment x %}{% decrement x %}{{ x F }}",
    "{% echo X F %}{% liquid assign x = X F\n echo x F\n if x O Y\n echo Y\n endif %}",
    "{% comment %}{{ X }}{% endcomment %}{% # X %}{{ X F }}",
    "{{ X F }}{% break %}{% continue %}",
]  # fmt: skip
_PLACES = re.compile(r"(?<!\w)[XYFOZ](?!\w)")
OPERATORS = ["==", "!=", "<>", "<", ">", "<=", ">=", "contains"]


class Writer:
    """Writes templates at random; all values are in the scope under `v`, and the large ones under `w`."""

    def __init__(self, seed: int, filters: list[str], *, large: bool) -> None:
        self._draw = random.Random(seed)
        self._filters = filters
        self._large = large

    def template(self, form: str | None = None) -> str:
        """A template of this form, or of any."""
        written = self._draw.choice(TAGS) if form is None else form
        makers = {"X": self._operand, "Y": self._operand, "F": self._filter, "O": self._operator, "Z": self._name}
        return _PLACES.sub(lambda place: makers[place.group()](), written)

    def _operand(self) -> str:
        chosen = self._draw.random()
        if chosen < 0.2:
            return self._draw.choice(LITERALS)
        if self._large and chosen < 0.8:
            return f"w[{self._draw.randrange(len(LARGE))}]"
        value = f"v[{self._draw.randrange(len(VALUES))}]"
        return f"{value}[{self._name()}]" if chosen > 0.95 else value

    def _name(self) -> str:
        name = self._draw.choice(NAMES)
        return name if name[0] in "'-0123456789" else f"'{name}'"

    def _operator(self) -> str:
        return self._draw.choice(OPERATORS)

    def _filter(self) -> str:
        arguments = [self._operand() for _ in range(self._draw.choice([0, 1, 1, 1, 2, 2, 3]))]
        if arguments and self._draw.random() < 0.5:
            arguments[0] = self._draw.choice(["'a'", "'a'", "'b'", "1", "'%Y'", "''"])
        return f"| {self._draw.choice(self._filters)}" + (f": {', '.join(arguments)}" if arguments else "") + " "
