"""Compressed request bodies: `Content-Encoding: gzip`."""

import zlib

from engage.errors import BodyTooLarge, Refusal
from engage.notations.sizes import KIB

_GZIP_ONLY = 31  # zlib's code for the largest window with a gzip header and trailer

GZIP_TOO_SHORT = "The body is gzip that ends too early."


class InvalidGzip(Refusal):
    """The body is sent as gzip, but is not one complete gzip stream."""

    code = "invalid_gzip"


def inflate(packed: bytes, *, limit: int) -> bytes:
    """The decompressed body. Raises InvalidGzip, or BodyTooLarge once it exceeds the limit; no more is decompressed.

    Accepts one gzip member only, as clients send it: many small members take far more time than their size suggests.
    """
    stream = zlib.decompressobj(wbits=_GZIP_ONLY)
    try:
        body = stream.decompress(packed, limit + 1)
    except zlib.error:
        raise InvalidGzip("The body is not gzip, as its Content-Encoding says.") from None
    if len(body) > limit:
        raise BodyTooLarge(f"The body is larger than {limit // KIB} KiB when it is unpacked.")
    if not stream.eof:
        raise InvalidGzip(GZIP_TOO_SHORT)
    if stream.unused_data:
        raise InvalidGzip("The body goes on after the end of its gzip.")
    return body
