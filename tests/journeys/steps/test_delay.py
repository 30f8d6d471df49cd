"""Delays: for a time, until a time of day, or to a moment that a template gives."""

from datetime import UTC, datetime, timedelta
from typing import Any

from journeys.steps.results import Ended, TimedOut, Wait
from tests.journeys.steps.contexts import NOW, context, course, refusal_of, walk
from tests.support.cases import each
from tests.support.factories import OUT

GONE_ON = Ended(step_id="out", exited=True, reason="Enough.")


def delay(**fields: Any) -> dict[str, Any]:
    return {"id": "wait", "type": "delay", **fields}


@each(
    "fields, due_at",
    [
        ({"for": "PT5S"}, NOW + timedelta(seconds=5)),
        ({"for": "P3650D"}, NOW + timedelta(days=3650)),
        ({"until": "13:00", "timezone": "UTC"}, NOW + timedelta(hours=1)),
        ({"until": "09:00", "timezone": "Europe/Berlin"}, datetime(2026, 11, 21, 8, tzinfo=UTC)),
        ({"at": "2026-12-24"}, datetime(2026, 12, 24, tzinfo=UTC)),
        ({"at": "2036-11-17T12:00Z"}, NOW + timedelta(days=3650)),
        ({"at": " 2026-12-24 "}, datetime(2026, 12, 24, tzinfo=UTC)),
        ({"at": "{{ api.payload.at }}"}, datetime(2026, 11, 20, 17, 30, tzinfo=UTC)),
        ({"at": " {{ api.payload.at }} \n"}, datetime(2026, 11, 20, 17, 30, tzinfo=UTC)),
        ({"at": "2026-12-24 18:30"}, datetime(2026, 12, 24, 18, 30, tzinfo=UTC)),
        ({"at": "2026-12-24 18:30:05", "timezone": "Europe/Berlin"}, datetime(2026, 12, 24, 17, 30, 5, tzinfo=UTC)),
        (
            {"at": "2026-12-24 18:30:05.5+02", "timezone": "Asia/Tokyo"},
            datetime(2026, 12, 24, 16, 30, 5, 500_000, tzinfo=UTC),
        ),
        ({"at": "2026-12-24", "timezone": "Europe/Berlin"}, datetime(2026, 12, 23, 23, tzinfo=UTC)),
        ({"at": "2026-12-24T18:30", "timezone": "Asia/Tokyo"}, datetime(2026, 12, 24, 9, 30, tzinfo=UTC)),
        ({"at": "2026-12-24T18:30Z", "timezone": "Asia/Tokyo"}, datetime(2026, 12, 24, 18, 30, tzinfo=UTC)),
        ({"at": "2026-12-24", "offset": "-P2DT1H"}, datetime(2026, 12, 21, 23, tzinfo=UTC)),
        ({"at": "{{ api.payload.at }}", "offset": "P1D"}, datetime(2026, 11, 21, 17, 30, tzinfo=UTC)),
        ({"at": "9999-12-31", "offset": "-P3650D", "onMissing": "continue"}, None),
        (
            {"until": "09:00", "timezone": {"from": "api.payload.zone", "else": "UTC"}},
            datetime(2026, 11, 21, tzinfo=UTC),
        ),
        ({"until": "09:00", "timezone": "UTC", "days": ["we", "mo"]}, datetime(2026, 11, 23, 9, tzinfo=UTC)),
        ({"until": "13:00", "timezone": "UTC", "days": ["fr"]}, NOW + timedelta(hours=1)),
        ({"until": "11:00", "timezone": "UTC", "days": ["fr"]}, NOW + timedelta(days=7, hours=-1)),
    ],
)
def test_a_delay_waits_until_it_is_due(fields: dict[str, Any], due_at: datetime | None) -> None:
    payload = {"at": "2026-11-20T19:30:00+02:00", "zone": "Asia/Tokyo"}
    walked = walk(course(delay(**fields), OUT), context(payload=payload))
    if due_at is None:
        assert walked.stop == GONE_ON
        return
    assert walked.step_records[0].state == "waiting"
    assert walked.stop == Wait(step_id="wait", due_at=due_at)


@each("day, state", [("2026-12-24", "waiting"), ("2026-11-19", "done")])
def test_a_name_without_a_value_is_noted_whether_the_delay_waits_or_not(day: str, state: str) -> None:
    first = walk(course(delay(at=f"{day}{{{{ customer.nobody }}}}"), OUT)).step_records[0]
    assert (first.state, first.missing) == (state, ("customer.nobody",))


@each("at", ["2026-11-20T12:00:00Z", "2026-11-20", "0001-01-01T00:00:00+14:00", "2026-11-20T13:59+02:00"])
def test_what_is_past_does_not_wait(at: str) -> None:
    walked = walk(course(delay(at="{{ api.payload.at }}"), OUT), context(payload={"at": at}))
    first = walked.step_records[0]
    assert (first.state, first.resumed, first.detail) == ("done", False, "Does not wait: the time is past.")
    assert walked.stop == GONE_ON


def test_no_time_at_all_does_not_wait() -> None:
    assert walk(course(delay(**{"for": "PT0S"}), OUT)).stop == GONE_ON


@each(
    "at, detail",
    [
        (None, "Does not wait: at gives nothing."),
        ("", "Does not wait: at gives nothing."),
        ("tomorrow", "Does not wait: at gives no time in ISO 8601."),
        ("2026-02-30", "Does not wait: at gives no time in ISO 8601."),
        (1795176000, "Does not wait: at gives no time in ISO 8601."),
        ("2036-11-17T12:00:00.000001Z", "Does not wait: at gives a time in more than ten years."),
        ("9999-12-31T23:59:59-14:00", "Does not wait: at gives a time in more than ten years."),
    ],
)
def test_a_moment_that_is_none_fails_the_step_and_ends_the_walk_unless_it_is_to_go_on(at: object, detail: str) -> None:
    for said, stop in (
        ({}, Ended(step_id="wait", exited=True, reason=f"The delay 'wait' has no time to wait for. {detail}")),
        ({"onMissing": "continue"}, GONE_ON),
    ):
        walked = walk(course(delay(at="{{ api.payload.at }}", **said), OUT), context(payload={"at": at}))
        first = walked.step_records[0]
        assert (first.state, first.detail) == ("failed", detail)
        assert first.missing == (("api.payload.at",) if at is None else ())
        assert walked.stop == stop


@each("at", ["0001-01-01T00:00:00+12:00", "0001-01-01T00:00"])
def test_a_moment_before_all_that_utc_can_tell_is_over(at: str) -> None:
    waits = delay(at="{{ api.payload.at }}", timezone="Asia/Tokyo")
    assert walk(course(waits, OUT), context(payload={"at": at})).stop == GONE_ON


def test_a_template_that_fails_fails_the_step() -> None:
    walked = walk(course(delay(at="{{ 1 | divided_by: 0 }}", onMissing="continue"), OUT))
    assert walked.step_records[0].detail == (
        "The template of at failed: the filter divided_by cannot work with what it was given."
    )
    assert walked.stop == GONE_ON


@each("zone", [None, "Mars", 5])
def test_where_a_field_names_no_time_zone_the_other_one_counts(zone: object) -> None:
    named = {"from": "api.payload.zone", "else": "Europe/Berlin"}
    walked = walk(course(delay(until="14:00", timezone=named), OUT), context(payload={"zone": zone}))
    assert walked.stop == Wait(step_id="wait", due_at=NOW + timedelta(hours=1))
    assert walked.step_records[0].detail == (
        "Waits until 2026-11-20T13:00:00Z. In Europe/Berlin: api.payload.zone names no time zone."
    )


def test_a_delay_that_was_begun_is_over_whatever_it_waited_for() -> None:
    walked = walk(course(delay(at="{{ api.payload.at }}"), OUT), arrival=TimedOut())
    first = walked.step_records[0]
    assert (first.state, first.resumed, first.detail) == ("done", True, "The wait is over.")
    assert walked.stop == GONE_ON


def test_the_detail_says_until_when() -> None:
    details = [walk(course(delay(**{"for": text}))).step_records[0].detail for text in ("PT1S", "PT1.5S")]
    assert details == ["Waits until 2026-11-20T12:00:01Z.", "Waits until 2026-11-20T12:00:01.500Z."]


ONE_OF = "steps[0] must hold one of for, until and at."
DIGITS = "\u0660\u0669:\u0660\u0660"
NO_TIME = "must be a time of day such as 09:00 or 18:30:00."
NO_ZONE = "must be an IANA time zone such as Europe/Berlin or UTC."


@each(
    "fields, message",
    [
        ({}, ONE_OF),
        ({"for": "P1D", "at": "2026-11-20"}, ONE_OF),
        ({"until": "09:00", "timezone": "UTC", "for": "P1D"}, ONE_OF),
        ({"timezone": "UTC"}, ONE_OF),
        ({"for": "P1D", "timezone": "UTC"}, "steps[0].timezone may stand beside until and at only."),
        ({"for": "P1D", "onMissing": "exit"}, "steps[0].onMissing may stand beside at only."),
        ({"at": "2026-12-24", "onMissing": "stop"}, "steps[0].onMissing must be one of exit, continue, not 'stop'."),
        ({"at": "2026-12-24", "days": ["mo"]}, "steps[0].days may stand beside until only."),
        ({"at": "2026-12-24", "offset": "P1M"}, "steps[0].offset must not count in years or months, "),
        ({"until": "09:00", "timezone": "UTC", "days": []}, "steps[0].days must hold at least one day."),
        ({"until": "09:00", "timezone": "UTC", "days": ["Mo"]}, "steps[0].days[0] must be one of mo, tu, "),
        ({"until": "09:00", "timezone": {"from": "customer.zone"}}, "steps[0].timezone.else is required."),
        ({"until": "09:00", "timezone": {"from": "zone", "else": "UTC"}}, "steps[0].timezone.from is 'zone', which "),
        ({"until": "09:00"}, "steps[0].timezone is required."),
        ({"until": "09:00", "timezone": "{{ customer.zone }}"}, "steps[0].timezone is a template. For a zone that "),
        *(({"until": text, "timezone": "UTC"}, f"steps[0].until {NO_TIME}") for text in ("9:00", "24:00", "09:60")),
        *(({"until": text, "timezone": "UTC"}, f"steps[0].until {NO_TIME}") for text in ("09:00:60", "09", DIGITS)),
        *(
            ({"until": "09:00", "timezone": name}, f"steps[0].timezone {NO_ZONE}")
            for name in ("Mars", "+25:00", "../../etc/passwd", "America", "localtime", "right/UTC")
        ),
        ({"until": 9, "timezone": "UTC"}, "steps[0].until must be a string, but a number came."),
        ({"at": ""}, "steps[0].at must not be blank."),
        ({"at": "tomorrow"}, "steps[0].at must be a time in ISO 8601 such as 2026-11-20T19:08:00Z, or a template "),
        ({"at": "{{ x | dance }}"}, "steps[0].at is no valid template: there is no filter 'dance'."),
    ],
)
def test_a_bad_delay_is_refused_with_its_place(fields: dict[str, Any], message: str) -> None:
    assert refusal_of(delay(**fields)).startswith(message)


def test_only_what_surely_waits_may_close_a_loop() -> None:
    course(delay(until="09:00", timezone="UTC", next="wait"))
    loop = "steps[0] stands in a loop without a wait: wait → wait."
    assert refusal_of(delay(at="{{ api.payload.at }}", next="wait")) == loop


def test_in_steps_of_before_a_time_zone_that_is_known_no_more_becomes_utc() -> None:
    """An update of the time zones may drop a name; customers wait, and a loop through the delay stays slow."""
    unknown = delay(until="13:00", timezone="Europe/Atlantis", next="wait")
    walked = walk(course(unknown))
    assert walked.stop == Wait(step_id="wait", due_at=NOW + timedelta(hours=1))
    assert walked.step_records[0].detail == (
        "Waits until 2026-11-20T13:00:00Z. In UTC: the time zone 'Europe/Atlantis' is not known any more."
    )
    assert refusal_of(unknown) == f"steps[0].timezone {NO_ZONE}"
