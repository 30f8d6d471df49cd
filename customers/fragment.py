"""A piece of SQL with its parameters, to be put into a larger statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fragment:
    """`sql` with a `%s` for each of `params`, in order."""

    sql: str
    params: Sequence[Any] = ()
