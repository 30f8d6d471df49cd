"""Answers that are written piece by piece, because they may not fit into memory."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.http import HttpResponse, StreamingHttpResponse

from engage.notations.sizes import KIB

_LONGEST_WHOLE = 4 * 1024 * KIB  # characters, which are bytes: what is written is ASCII


class WholeAnswer(HttpResponse):
    """JSON that was short enough to send as a whole; `facts` as in StreamedAnswer."""

    facts: Mapping[str, Any] | None = None


class StreamedAnswer(StreamingHttpResponse):
    """JSON that is streamed. `facts`, if given, are the few values from which the same answer can be produced again."""

    facts: Mapping[str, Any] | None = None


LongAnswer = WholeAnswer | StreamedAnswer
_SENT_AT_ONCE = 64 * KIB


def long_answer(pieces: Iterator[str], *, status: int = 200, facts: Mapping[str, Any] | None = None) -> LongAnswer:
    """An answer from pieces of JSON, sent whole up to 4 MiB, because a slow reader of a stream holds the process."""
    begun: list[str] = []
    size = 0
    answer: LongAnswer
    for piece in pieces:
        begun.append(piece)
        size += len(piece)
        if size > _LONGEST_WHOLE:
            answer = StreamedAnswer(chain(begun, pieces), status=status, content_type="application/json")
            break
    else:
        answer = WholeAnswer("".join(begun), status=status, content_type="application/json")
    answer.facts = facts
    return answer


def while_told(work: AbstractContextManager[Any], pieces: Iterator[str]) -> Iterator[str]:
    """The pieces of a `long_answer`, after whose last one the work ends."""
    with work:
        yield from pieces


def finished_answer(pieces: Iterable[str]) -> LongAnswer:
    """An answer of which every piece is made now, and sent later: for what is read in one transaction.

    Beyond 4 MiB it waits in a file of the system's that has no name.
    """
    made = SpooledTemporaryFile(_LONGEST_WHOLE)  # noqa: SIM115 (closed when it is sent)
    for piece in pieces:
        made.write(piece.encode())
    length = made.tell()
    made.seek(0)
    if length <= _LONGEST_WHOLE:
        with made:
            return WholeAnswer(made.read(), content_type="application/json")
    return StreamedAnswer(_contents(made), content_type="application/json")


def _contents(made: IO[bytes]) -> Iterator[bytes]:
    with made:
        while part := made.read(_SENT_AT_ONCE):
            yield part
