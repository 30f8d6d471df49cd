"""Heads and chunks, as bytes."""

from contextlib import suppress
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.serving.refusals import Refused
from config.serving.requests import Chunks, parse_head
from tests.support.cases import each


def refusal(raw: bytes) -> HTTPStatus:
    with pytest.raises(Refused) as refused:
        parse_head(raw)
    return refused.value.status


def test_a_head_in_the_spelling_of_wsgi() -> None:
    head = parse_head(
        b"POST /a%20b/%C3%A9?x=%20&y HTTP/1.1\r\nHost: engage.example\r\nContent-Type:application/json\r\n"
        b"content-length: 12\r\nX-App-Id: \t me \r\nX-Two: a\r\nx-two: b\r\nCookie: a=1\r\nCookie: b=2"
    )
    assert (head.method, head.path, head.query) == ("POST", "/a b/\xc3\xa9", "x=%20&y")
    assert (head.protocol, head.length, head.keeps_alive) == ("HTTP/1.1", 12, True)
    assert head.headers == {
        "HTTP_HOST": "engage.example",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "12",
        "HTTP_X_APP_ID": "me",
        "HTTP_X_TWO": "a,b",
        "HTTP_COOKIE": "a=1; b=2",
    }


@each(
    "line, path",
    [
        (b"GET http://engage.example/livez HTTP/1.1", "/livez"),
        (b"GET http://engage.example HTTP/1.1", "/"),
        (b"OPTIONS * HTTP/1.1", "*"),
    ],
)
def test_other_targets(line: bytes, path: str) -> None:
    assert parse_head(line + b"\r\nHost: a").path == path


@each(
    "raw, keeps_alive",
    [
        (b"GET / HTTP/1.1\r\nHost: a", True),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive", True),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close", False),
        (b"GET / HTTP/1.0", False),
    ],
)
def test_whether_the_connection_is_kept(raw: bytes, keeps_alive: bool) -> None:
    assert parse_head(raw).keeps_alive is keeps_alive


def test_no_header_passes_for_another_that_a_proxy_sets() -> None:
    head = parse_head(b"GET / HTTP/1.1\r\nHost: a\r\nX_Forwarded_For: 10.0.0.1\r\nX-Forwarded-For: 192.0.2.7")
    assert head.headers == {"HTTP_HOST": "a", "HTTP_X_FORWARDED_FOR": "192.0.2.7"}


@each(
    "raw",
    [
        b"",
        b"GET /",
        b"GET / HTTP/1.1",
        b"GET / HTTP/1.1\r\nX-A: a",
        b"GET / HTTP/2.0",
        b"GET / HTTP/1.1 ",
        b"GET  / HTTP/1.1",
        b"GET /a b HTTP/1.1",
        b"GET a HTTP/1.1",
        b"CONNECT engage.example:443 HTTP/1.1",
        b"G@T / HTTP/1.1",
        b"GET /\x00 HTTP/1.1",
        b"GET / HTTP/1.1\nHost: a",
        b"GET / HTTP/1.1\r\nHost: a\nX-Other: b",
        b"GET / HTTP/1.1\r\nHost: a\rX-Other: b",
        b"GET / HTTP/1.1\r\nHost : a",
        b"GET / HTTP/1.1\r\n Host: a",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n folded",
        b"GET / HTTP/1.1\r\nHost",
        b"GET / HTTP/1.1\r\nHost: a\r\n: a",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-A: a\x00b",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \xb2",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked",
    ],
)
def test_what_two_readers_could_understand_differently_is_refused(raw: bytes) -> None:
    assert refusal(raw) == HTTPStatus.BAD_REQUEST


@each("coding", [b"gzip, chunked", b"identity", b"chunked, chunked", b"xchunked", b""])
def test_other_codings_are_not_known(coding: bytes) -> None:
    assert refusal(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + coding) == HTTPStatus.NOT_IMPLEMENTED


def test_a_hundred_headers_are_enough() -> None:
    fields = b"\r\nHost: a" + b"".join(b"\r\nX-%d: a" % number for number in range(10, 110))
    assert len(parse_head(b"GET / HTTP/1.1" + fields[: -len(b"\r\nX-109: a")]).headers) == 100
    assert refusal(b"GET / HTTP/1.1" + fields) == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


@given(st.binary(max_size=300))
def test_any_bytes_are_a_head_or_refused(raw: bytes) -> None:
    with suppress(Refused):
        parse_head(raw)


# Chunks -----------------------------------------------------------------------------------------------------------


def taken(raw: bytes, *, most: int = 1000, split: int | None = None) -> tuple[bytes, bytes] | None:
    """The body and what is left over; None where it is not complete. `split`: arrives in two parts."""
    chunks, buffer = Chunks(), bytearray()
    for part in (raw[:split], raw[split:]) if split is not None else (raw,):
        buffer += part
        complete = chunks.take(buffer, most=most)
    return (bytes(chunks.body), bytes(buffer)) if complete else None


WHOLE = b'3\r\nabc\r\nA;note="x"\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n'


def test_chunks_with_extensions_and_trailers() -> None:
    assert taken(WHOLE + b"GET") == (b"abc0123456789", b"GET")


@each("split", range(len(WHOLE)))
def test_however_they_arrive(split: int) -> None:
    assert taken(WHOLE[:split]) is None
    assert taken(WHOLE, split=split) == (b"abc0123456789", b"")


def test_no_more_is_taken_than_a_body_may_have() -> None:
    body, _ = taken(b"5\r\nabcde\r\n" * 3, most=7) or (b"", b"")
    assert len(body) > 7


@each(
    "raw",
    [
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"-3\r\nabc\r\n",
        b"+3\r\nabc\r\n",
        b"0x3\r\nabc\r\n",
        b" 3\r\nabc\r\n",
        b"\r\nabc\r\n",
        b"3 4\r\nabc\r\n",
        b"3\nabc\r\n\r\n",
        b"123456789\r\n",
        b"x" * 1024,
    ],
)
def test_chunks_that_are_none_are_refused(raw: bytes) -> None:
    with pytest.raises(Refused):
        taken(raw)


def test_a_body_of_crumbs_is_refused() -> None:
    with pytest.raises(Refused):
        taken(b"1\r\nx\r\n" * 60_000, most=1_000_000)


@given(st.lists(st.binary(min_size=1, max_size=50)), st.integers(min_value=0))
def test_what_was_sent_is_what_is_taken(pieces: list[bytes], split: int) -> None:
    raw = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    assert taken(raw, most=10_000, split=split % len(raw)) == (b"".join(pieces), b"")
