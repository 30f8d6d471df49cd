"""A piece of SQL with its parameters, to be put into a larger statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fragment:
    """`sql` with a `%s` for each of `params`, in order."""

    sql: str
    params: Sequence[Any] = ()


def compose(template: str, *parts: Fragment) -> Fragment:
    """The template with a part for each `{}`, in order."""
    return Fragment(template.format(*(part.sql for part in parts)), [param for part in parts for param in part.params])
