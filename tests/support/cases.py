"""Many cases of one sentence as one test: as `parametrize` does it, in one world that is made once."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest
from django.db import connection

from tests.support.tables import taken_back


def each(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """In the place of `pytest.mark.parametrize`, for a test that leaves nothing behind outside of its tables.

    All cases are tried, each on the tables as the fixtures left them, unless the test commits what it writes; what it
    says in the end lists those that failed, and shows each failure.
    """
    wanted, known = [name.strip() for name in names.split(",")], list(cases)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def tried(**fixtures: Any) -> None:
            failed: list[tuple[str, BaseException]] = []
            for case in known:
                values = case if len(wanted) > 1 else [case]
                try:
                    with _apart():
                        test(**dict(zip(wanted, values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - all of them are raised below
                    failed.append((repr(case), failure))
            if failed:
                which, failures = zip(*failed, strict=True)
                raise BaseExceptionGroup(f"{len(failed)} of {len(known)} cases: {', '.join(which)}", failures)

        kept = [one for name, one in inspect.signature(test).parameters.items() if name not in wanted]
        tried.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
        return tried

    return decorate


@contextmanager
def _apart() -> Iterator[None]:
    """Takes back what is written, whose foreign keys hold in the end; what is committed stays."""
    if not connection.in_atomic_block:
        yield
        return
    with taken_back():
        yield
        connection.check_constraints()
