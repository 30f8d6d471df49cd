"""Conditions: who may enter a journey, who is in a segment, which way a branch goes.

Written as `{"all": […]}`, `{"any": […]}`, `{"not": {…}}` or a test: `{"field", "op", "value"}`, or `"to": "<field>"` in
place of the value. Two evaluators agree on the meaning: `evaluate` for one customer in Python, `compile_condition` for
sets of customers in SQL.

- A field that is absent or null is missing: every test of it, or against it, is false except `ne`, `not_in` and
  `not_exists`. So it is if a field that `in` and `not_in` compare with is no array.
- Values of different types are never equal: true is not 1, "1" is not 1. Numbers are compared as the decimals that
  JSON writes, so 1 and 1.0 are equal; arrays and objects are equal if all that they hold is.
- `gt`, `gte`, `lt`, `lte` compare a number with a number, or a string with a string by code points; all else is false.
- `contains` tests for a part of a string or for a member of an array.
- `before` and `after` compare instants; a value that is not an ISO 8601 instant makes them false. `{"now": "-P7D"}` is
  the instant so far from when the test is made.
- Values beside identifiers are read in the spelling in which those are stored.

tree.py parses them, with fields.py, operands.py and instants.py; evaluate.py (with comparable.py) and sql.py are the
two evaluators; explain.py tells why one holds, and changes.py when that may change by itself.
"""

from customers.conditions.evaluate import CustomerFacts, Facts, evaluate, holds
from customers.conditions.explain import Findings, findings_of, in_words, values_that_decide, why_not
from customers.conditions.fields import ENROLLED, Field, Root
from customers.conditions.operands import FromNow, Op
from customers.conditions.sql import Columns, compile_condition
from customers.conditions.tree import (
    AllOf,
    AnyOf,
    Condition,
    FieldTest,
    InvalidCondition,
    Not,
    parse_condition,
    roots_of,
    tests_of,
    warnings_about,
)

__all__ = [
    "ENROLLED",
    "AllOf",
    "AnyOf",
    "Columns",
    "Condition",
    "CustomerFacts",
    "Facts",
    "Field",
    "FieldTest",
    "Findings",
    "FromNow",
    "InvalidCondition",
    "Not",
    "Op",
    "Root",
    "compile_condition",
    "evaluate",
    "findings_of",
    "holds",
    "in_words",
    "parse_condition",
    "roots_of",
    "tests_of",
    "values_that_decide",
    "warnings_about",
    "why_not",
]
