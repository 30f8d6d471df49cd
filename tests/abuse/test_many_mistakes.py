"""However many mistakes a body has, the answer tells the first hundred, within 100 KB, and how many more there are."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from engage.errors import MOST_MISTAKES
from tests.abuse.calls import Call, good_calls
from tests.abuse.service import Service
from tests.support.cases import each
from tests.support.clients import Answer

MANY = 1000
_UNKNOWN: dict[str, Any] = {f"naem{number}": number for number in range(MANY)}
_LONG = "\u0001" * 300_000


def with_many(call: Call) -> Iterator[dict[str, Any]]:
    """The body with unknown members, with a long one, and with lists and objects of such in the place of each field."""
    assert call.body is not None
    many = [{"naem": number, "op": 7, "type": "x", "id": number} for number in range(MANY)]
    yield {**call.body, **_UNKNOWN}
    yield {**call.body, _LONG: 1, f"x{_LONG}": 1}
    for name in call.fields:
        yield {**call.body, name: many}
        yield {**call.body, name: _UNKNOWN}
        yield {**call.body, name: {"any": many}}


@pytest.mark.slow
@each("operation", [call.operation for call in good_calls({}) if call.body is not None])
def test_the_answer_stays_small(service: Service, operation: str) -> None:
    call = service.calls[operation]
    for body in with_many(call):
        answer = service.answer(replace(call, body=body))
        assert answer.succeeded or 400 <= answer.status_code < 500
        if not answer.succeeded:
            assert len(answer.content) <= 100 * 1024
            assert len(answer.json().get("details", [])) <= MOST_MISTAKES


def test_how_many_more_there_are_is_told(service: Service) -> None:
    def put(path: str, body: dict[str, Any]) -> Answer:
        return service.caller_of(service.calls["putJourney"]).put(f"/api/v1/{path}", body, headers={"If-Match": None})

    for kind in ("journeys", "segments", "connections", "variables", "subscriptions"):
        told = put(f"{kind}/acme/new", _UNKNOWN).json()
        assert "details" in told, (kind, told)
        required = len([one for one in told["details"] if "is required" in one["message"]])
        assert (len(told["details"]), required) == (MOST_MISTAKES, 0), "they come after these, and are counted"
        assert told["message"].endswith(" more.")
        assert MANY - MOST_MISTAKES <= int(told["message"].split()[-2].replace(",", "")) <= MANY
    steps = [{"id": f"s{number}", "type": "delay", "for": "P1D", **_UNKNOWN} for number in range(4)]
    told = put("journeys/acme/new", {"steps": steps}).json()
    assert {one["place"].partition(".")[0] for one in told["details"]} == {"steps[0]"}
    assert told["message"].endswith(f" And {4 * MANY - MOST_MISTAKES:,} more.")
    told = put("messages/acme/new", {"content": {"kind": "card", "title": "x", **_UNKNOWN}}).json()
    assert told["message"].endswith(" And 999 more.")
