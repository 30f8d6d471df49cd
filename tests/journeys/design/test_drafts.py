"""What a draft changes, in sentences."""

from journeys.journey.draft.drafts import Content, differences

FORTH, BACK = "abcdefgh", "zyxwvuts"


def steps(ids: str) -> Content:
    return Content(steps=[{"id": one, "type": "delay", "for": "P1D"} for one in ids], exit_on=[])


def test_what_comes_and_goes_is_told_in_the_order_of_the_steps() -> None:
    assert differences(steps(FORTH), steps(BACK)) == [
        *(f"The step '{one}' is new (delay)." for one in BACK),
        *(f"The step '{one}' is gone." for one in FORTH),
    ]
