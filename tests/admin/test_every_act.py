"""Acts are declared, and are by that addresses and buttons: no admin has addresses, buttons or refusals of its own."""

from typing import Any

from django.test import Client
from django.urls import reverse

from tests.admin.staff import staff_with
from tests.browsers.admin_pages import acts
from tests.support.trees import ROOT

ACTS = {one.named(act.name): act for one, act in acts()}
# What may be done by those who may look at everything: pages, files, and what a text comes to.
LOOKS = {
    "customers_customer_export", "engage_auditentry_csv", "journeys_journey_preview", "journeys_journey_steps",
    "journeys_journey_try", "journeys_webhookdelivery_sending_again", "journeys_webhookdelivery_sent",
}  # fmt: skip
_VALUES: dict[str, Any] = {"act": "hold", "delivery_id": 1}


def address(name: str) -> str:
    act = ACTS[name]
    own = {} if act.of_list else {"object_id": "f" * 24}
    asked = {word: value for word, value in _VALUES.items() if f":{word}>" in act.route}
    return reverse(f"admin:{name}", kwargs=own | asked)


def test_each_act_is_refused_to_who_lacks_its_right(onlooker: Client) -> None:
    nobody = staff_with()
    assert {name for name in ACTS if nobody.post(address(name)).status_code != 403} == set()
    allowed = {name for name in ACTS if onlooker.post(address(name)).status_code != 403}
    assert allowed == LOOKS | {"journeys_journey_send"}  # who may send depends on the journey, and is asked there


def test_what_is_posted_is_done_by_no_link(staff: Client) -> None:
    refused = {name for name in ACTS if staff.get(address(name)).status_code == 405}
    assert refused == {name for name, act in ACTS.items() if act.is_posted}


def test_no_admin_has_addresses_or_buttons_of_another_making() -> None:
    words = ("def get_urls", "unfold.decorators import action", "actions_row", "actions_detail", "actions_list")
    found = {
        str(file.relative_to(ROOT)): word
        for app in ("engage", "customers", "journeys", "bridge", "config")
        for file in (ROOT / app).rglob("*.py")
        for word in words
        if word in file.read_text()
    }
    assert found == {"engage/admin/parts/acts.py": "def get_urls"}
