"""HTTP/1.1 requests from bytes, strictly: what two readers could understand differently is refused."""

import re
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

from config.serving.refusals import Refused

_REQUEST_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([!-~\x80-\xff]+) HTTP/1\.([01])")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_LENGTH = re.compile(r"[0-9]{1,15}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(;[\t -~\x80-\xff]*)?")
_MOST_FIELDS = 100
_LONGEST_LINE = 1024  # bytes of a chunk's size with its extensions, and of all trailers
_MOST_FRAMING = 256 * 1024  # bytes around the chunks of one body
_ONCE = frozenset({"CONTENT_LENGTH", "HTTP_HOST", "HTTP_TRANSFER_ENCODING"})


@dataclass(frozen=True, slots=True)
class Head:
    """A request but for its body. `headers` are in WSGI's spelling; `length` is in bytes, None if chunked."""

    method: str
    path: str  # decoded, each byte as a character, as in WSGI
    query: str
    protocol: str
    headers: dict[str, str]
    length: int | None
    keeps_alive: bool
    expects_continue: bool


def parse_head(raw: bytes) -> Head:
    """The head from its bytes, without the empty line. Raises Refused.

    Fields whose names hold an underscore are dropped: in WSGI's spelling they pass for others, which a proxy may set.
    """
    text = raw.decode("latin-1")
    first, *lines = text.split("\r\n")
    line = _REQUEST_LINE.fullmatch(first)
    if line is None or _CONTROL.search(text.replace("\r\n", "")):
        raise _bad("The request's head is no HTTP/1.1.")
    if len(lines) > _MOST_FIELDS:
        raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"The request has more than {_MOST_FIELDS} headers.")
    headers: dict[str, str] = {}
    for field in lines:
        name, colon, value = field.partition(":")
        spelt = _in_wsgi(name)
        if not colon or spelt is None:
            raise _bad("A header of the request is none.")
        if spelt in headers:
            if spelt in _ONCE:
                raise _bad("A header came twice that may come only once.")
            headers[spelt] += ("; " if spelt == "HTTP_COOKIE" else ",") + value.strip(" \t")
        elif spelt:
            headers[spelt] = value.strip(" \t")
    method, target, minor = line.groups()
    if minor == "1" and "HTTP_HOST" not in headers:
        raise _bad("The request has no Host.")
    path, _, query = _from_root(target).partition("?")
    connection = headers.get("HTTP_CONNECTION", "").lower()
    return Head(
        method=method,
        path=unquote_to_bytes(path.encode("latin-1")).decode("latin-1") if "%" in path else path,
        query=query,
        protocol=f"HTTP/1.{minor}",
        headers=headers,
        length=_length(headers, minor),
        keeps_alive=minor == "1" and "close" not in connection,
        expects_continue=minor == "1" and headers.get("HTTP_EXPECT", "").lower() == "100-continue",
    )


def _bad(message: str) -> Refused:
    return Refused(HTTPStatus.BAD_REQUEST, message)


@lru_cache(maxsize=1024)
def _in_wsgi(name: str) -> str | None:
    """The field's name in WSGI's spelling: "" if it is to be dropped, None if it is no name."""
    if not _TOKEN.fullmatch(name):
        return None
    if "_" in name:
        return ""
    spelt = name.upper().replace("-", "_")
    return spelt if spelt in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{spelt}"


def _from_root(target: str) -> str:
    """The target as a path; proxies may send a whole URL."""
    if target.startswith(("http://", "https://")):
        target = f"/{target.partition('://')[2].partition('/')[2]}"
    if target[0] != "/" and target != "*":
        raise _bad("The request's target is no path.")
    return target


def _length(headers: dict[str, str], minor: str) -> int | None:
    coding, length = headers.pop("HTTP_TRANSFER_ENCODING", None), headers.get("CONTENT_LENGTH")
    if coding is not None:
        if coding.lower() != "chunked":
            raise Refused(HTTPStatus.NOT_IMPLEMENTED, "The only Transfer-Encoding is chunked.")
        if length is not None or minor == "0":
            raise _bad("Transfer-Encoding stands beside Content-Length, or in HTTP/1.0.")
        return None
    if length is None:
        return 0
    if not _LENGTH.fullmatch(length):
        raise _bad("The Content-Length is no number.")
    return int(length)


class Chunks:
    """A chunked body, taken from what arrives."""

    def __init__(self) -> None:
        self.body = bytearray()
        self._left = 0  # bytes of the current chunk
        self._framing = 0
        self._in_chunk = self._at_trailers = False

    def take(self, buffer: bytearray, *, most: int) -> bool:
        """Moves what it can from the buffer into `body`; whether that is complete, or longer than `most`.

        Raises Refused.
        """
        while len(self.body) <= most:
            if self._in_chunk:
                if not self._take_data(buffer):
                    return False
            elif (line := self._take_line(buffer)) is None:
                return False
            elif self._at_trailers:
                if not line:
                    return True
            else:
                self._begin(line)
        return True

    def _take_data(self, buffer: bytearray) -> bool:
        """Whether the chunk has ended."""
        if self._left:
            piece = buffer[: self._left]
            del buffer[: len(piece)]
            self.body += piece
            self._left -= len(piece)
        if self._left or len(buffer) < len(b"\r\n"):
            return False
        if not buffer.startswith(b"\r\n"):
            raise _bad("A chunk of the body is longer than it says.")
        del buffer[:2]
        self._in_chunk = False
        return True

    def _take_line(self, buffer: bytearray) -> bytes | None:
        end = buffer.find(b"\r\n", 0, _LONGEST_LINE)
        if end < 0:
            if len(buffer) >= _LONGEST_LINE:
                raise _bad("The chunks of the body are not to be understood.")
            return None
        line = bytes(buffer[:end])
        del buffer[: end + 2]
        self._framing += end + 4
        if self._framing > _MOST_FRAMING:
            raise _bad("The body comes in too many small chunks.")
        return line

    def _begin(self, line: bytes) -> None:
        said = _CHUNK.fullmatch(line)
        if said is None:
            raise _bad("The chunks of the body are not to be understood.")
        self._left = int(said[1], 16)
        self._in_chunk, self._at_trailers = self._left > 0, self._left == 0
