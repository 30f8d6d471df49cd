"""How an author works in the editor of journeys: by mouse alone, or by keyboard alone."""

from typing import Any

from playwright.sync_api import Locator, Page

from journeys.models import Journey
from tests.browsers.staff import Staff


def opened(staff: Staff, journey: Journey) -> Page:
    page = staff.goes_to(f"/admin/journeys/journey/{journey.id}/steps/")
    page.wait_for_selector("#studio .studio-status")
    return page


# Never past the end: Firefox without a screen tells a page nothing of its focus once it has left it.
_TURN = """(one) => one === document.activeElement ? "" :
  one.compareDocumentPosition(document.activeElement) & Node.DOCUMENT_POSITION_FOLLOWING ? "Shift+Tab" : "Tab"
"""


class Mouse:
    """Clicks, and types into what was clicked."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, where: Locator) -> None:
        where.click()

    def write(self, where: Locator, text: str) -> None:
        where.click(click_count=3)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose(self, where: Locator, label: str) -> None:
        where.click()
        where.select_option(label=label)

    def choose_first(self, where: Locator, begins: str) -> None:
        found = where.locator("option").all_inner_texts()
        self.choose(where, next(text for text in found if text.startswith(begins)))

    def tick(self, where: Locator) -> None:
        where.click()


class Keyboard:
    """Goes by Tab to whatever is next wanted, forwards or backwards; no mouse is there."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def _reach(self, where: Locator) -> None:
        wanted = where.first
        wanted.wait_for()
        for _ in range(200):
            turn = wanted.evaluate(_TURN)
            if not turn:
                return
            self.page.keyboard.press(turn)
        raise AssertionError(f"{where} cannot be reached")

    def press(self, where: Locator) -> None:
        self._reach(where)
        self.page.keyboard.press("Enter")

    def write(self, where: Locator, text: str) -> None:
        self._reach(where)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose(self, where: Locator, label: str) -> None:
        """By the first letter, as often as it takes: on a busy machine several letters are several searches."""
        self._reach(where)
        for _ in range(20):
            self.page.keyboard.press(label[0])
            if where.evaluate("(one) => one.selectedOptions[0].label").startswith(label):
                return
        raise AssertionError(f"{label} is not offered")

    def choose_first(self, where: Locator, begins: str) -> None:
        self.choose(where, begins)

    def tick(self, where: Locator) -> None:
        self._reach(where)
        self.page.keyboard.press("Space")


Hand = Mouse | Keyboard


def add(hand: Hand, where: str, title: str) -> None:
    hand.press(hand.page.get_by_role("button", name=f"Add a step {where}", exact=True))
    hand.press(hand.page.locator("dialog button", has=hand.page.get_by_text(title, exact=True)))
    hand.page.wait_for_selector(".studio-heading")


def named(hand: Hand, name: str) -> None:
    hand.write(hand.page.get_by_label("Name of the step"), name)
    hand.page.keyboard.press("Tab")
    hand.page.wait_for_selector(f".studio-step[data-step={name}]")


def members(hand: Hand, group: str, values: dict[str, Any]) -> None:
    page = hand.page
    for at, (name, value) in enumerate(values.items(), start=1):
        hand.press(page.get_by_role("button", name=f"Add to {group}", exact=True))
        hand.write(page.get_by_label(f"Name {at} in {group}"), name)
        page.keyboard.press("Tab")
        label = f"{group} {name}"
        if isinstance(value, str):
            hand.write(page.locator(f'textarea[aria-label="{label}"]'), value)
        else:
            kind = "Value of" if isinstance(value, dict) else "Yes or no"
            hand.choose(page.get_by_label(f"Kind of {label}", exact=True), kind)
            page.wait_for_selector(f':is(input, select)[aria-label="{label}"]')
            if isinstance(value, dict):
                hand.write(page.locator(f'input[aria-label="{label}"]'), value["$value"])
        page.keyboard.press("Tab")


def duration(hand: Hand, label: str, number: str, unit: str) -> None:
    hand.write(hand.page.get_by_label(label, exact=True), number)
    hand.choose(hand.page.get_by_label(f"{label}: unit"), unit)


def published(hand: Hand) -> None:
    hand.press(hand.page.get_by_role("button", name="Publish…"))
    hand.page.wait_for_selector("text=What changes")
    hand.press(hand.page.get_by_role("button", name="Publish", exact=True))
    hand.page.wait_for_selector("text=Published as revision")
