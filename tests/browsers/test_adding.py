"""What is added by hand: its key is made from its name as that is typed, until somebody edits the key."""

import pytest

from engage.models import Workspace
from tests.browsers.staff import Staff

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


@pytest.mark.parametrize("model", ["customers/segment", "journeys/journey", "journeys/connection", "engage/workspace"])
def test_the_key_follows_the_name_until_it_is_edited(staff: Staff, acme: Workspace, model: str) -> None:
    page = staff.goes_to(f"/admin/{model}/add/")
    key, name = page.locator("#id_key"), page.locator("#id_name")
    name.press_sequentially("Große Freunde & Co")
    assert key.input_value() == "grosse-freunde-co"
    key.fill("friends")
    key.press("Tab")
    name.press_sequentially("mpany")
    assert key.input_value() == "friends"
    assert staff.complaints == []
