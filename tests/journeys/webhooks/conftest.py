from collections.abc import Iterator

import pytest

from tests.support.receiver import Receiver, running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running() as started:
        yield started
