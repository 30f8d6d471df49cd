"""A plugin of pytest, which asks only plugins about fixtures of the whole run: one that fails ends the run."""

from collections.abc import Generator
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Ends the run where something fails that every test needs, instead of telling it with each of them."""
    try:
        return (yield)
    except (Exception, SystemExit) as error:
        if fixturedef.scope == "session" and fixturedef.baseid in {"", "tests"}:
            request.session.shouldfail = f"No test can run: {fixturedef.argname} failed: {error}".strip()
        raise
