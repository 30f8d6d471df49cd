"""A browser that is killed loses nothing that was written down: it starts anew with what its disk holds."""

import time
from pathlib import Path

import pytest

from customers.models import Event
from tests.browsers.killed import MOMENTS, STEP_SECONDS, preferred, running
from tests.browsers.pages import Shop
from tests.browsers.programs import PROGRAMS
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_browser_killed_at_twenty_moments_loses_and_doubles_nothing(name: str, shop: Shop, tmp_path: Path) -> None:
    preferred(tmp_path)
    for number in range(MOMENTS):
        shop.proxy.fails = 0 if number % 2 else None  # every other time there is no network
        with running(name, f"{shop.url}/clicking?name=t{number}", tmp_path):
            wait_until(lambda clicked=f"/clicked?t{number}": clicked in shop.pages.asked, what="the click")  # type: ignore[misc]
            time.sleep(number * STEP_SECONDS)
    shop.proxy.fails = None
    written = {asked.partition("?")[2] for asked in shop.pages.asked if asked.startswith("/written?")}
    assert len(written) > MOMENTS / 2  # a machine with much to do kills some of them before
    with running(name, f"{shop.url}/clicking", tmp_path):
        wait_until(lambda: written <= set(_recorded()), what="all that was written down")
    assert len(_recorded()) == len(set(_recorded()))


def _recorded() -> list[str]:
    return list(Event.objects.values_list("name", flat=True))
