"""Bodies that were packed on the way: `Content-Encoding: gzip`."""

import zlib

from engage.errors import BodyTooLarge, Refusal

_GZIP_ONLY = 31  # the largest window, and a gzip header and trailer around it

GZIP_TOO_SHORT = "The body is gzip that ends too early."


class InvalidGzip(Refusal):
    """The body says that it is gzip, and is not."""

    code = "invalid_gzip"


def inflate(packed: bytes, *, limit: int) -> bytes:
    """The unpacked body. Raises BodyTooLarge as soon as it passes the limit, which is all that is ever unpacked.

    One member only, as everybody sends it: many small ones cost far more time than their size tells.
    """
    stream = zlib.decompressobj(wbits=_GZIP_ONLY)
    try:
        body = stream.decompress(packed, limit + 1)
    except zlib.error:
        raise InvalidGzip("The body is not gzip, as its Content-Encoding says.") from None
    if len(body) > limit:
        raise BodyTooLarge(f"The body is larger than {limit // 1024} KiB when it is unpacked.")
    if not stream.eof:
        raise InvalidGzip(GZIP_TOO_SHORT)
    if stream.unused_data:
        raise InvalidGzip("The body goes on after the end of its gzip.")
    return body
