"""Short answers are handed over as a whole, so that no slow reader holds a process; long ones take no memory."""

from collections.abc import Iterator

from django.http import HttpResponse

from engage.http.long_answers import StreamedAnswer, long_answer

MIB = 1024 * 1024


def pieces(number: int, made: list[int]) -> Iterator[str]:
    for one in range(number):
        made.append(one)
        yield str(one) * MIB


def test_up_to_4_mib_it_is_a_whole() -> None:
    made: list[int] = []
    answer = long_answer(pieces(4, made), status=202, facts={"a": 1})
    assert isinstance(answer, HttpResponse)
    assert (len(answer.content), answer.status_code, answer.facts) == (4 * MIB, 202, {"a": 1})


def test_beyond_that_it_is_streamed_and_the_rest_is_made_as_it_is_read() -> None:
    made: list[int] = []
    answer = long_answer(pieces(9, made), status=202, facts={"a": 1})
    assert isinstance(answer, StreamedAnswer)
    assert (len(made), answer.status_code, answer.facts) == (5, 202, {"a": 1})
    assert [(piece[:1], len(piece)) for piece in answer] == [(str(one).encode(), MIB) for one in range(9)]
    assert answer["Content-Type"] == "application/json"
