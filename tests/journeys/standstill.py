"""Workers that stand still for longer than their claim holds, as those of a machine that was suspended do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from tests.support.clock import time_passes
from tests.support.simultaneous import all_at_once


@contextmanager
def standing_still_while(another: Callable[[], object]) -> Iterator[None]:
    """The first claim that is made here lapses, and another worker does this, before anything is done with it."""
    others = [another]

    def stand_still(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        claimed = execute(sql, *rest)
        if others and "attempts = attempts + " in sql:
            time_passes(seconds=6)
            all_at_once([others.pop()])
        return claimed

    with connection.execute_wrapper(stand_still):
        yield
    assert not others
