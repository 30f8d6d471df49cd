"""How many examples properties are tried with: `make test` tries some of them, and `make check`, which says so, all."""

import os
from typing import Any

from hypothesis import HealthCheck, settings

EXAMPLES = int(os.environ.get("EXAMPLES", "30"))  # of each property that says nothing else
_ALL = 100  # as in .ci/run


def examples(number: int, **others: Any) -> settings:
    """The settings of a property, or of a state machine, of which `make check` tries so many."""
    some = max(2, number * min(EXAMPLES, _ALL) // _ALL)
    return settings(max_examples=some, deadline=None, suppress_health_check=list(HealthCheck), **others)
