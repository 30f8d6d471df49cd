"""`holdOut` of a journey: a share of those who might enter it is left out, to compare them with those who do.

`{"share": 0.1}`: a tenth, by a hash of the journey and the customer, so that the same customer is always drawn alike.
"""

import hashlib

from engage.errors import Refusal
from engage.json.documents import Part

_HASHED_BYTES = 8


class InvalidHoldOut(Refusal):
    """The hold-out is invalid; the message begins with the place."""

    error = "Invalid hold-out"


def parse_hold_out(value: object) -> float | None:
    """The share that is held out; None for null: nobody is. Raises InvalidHoldOut."""
    if value is None:
        return None
    part = Part(value, "holdOut", InvalidHoldOut).fields(required=["share"])["share"]
    if not 0 < (share := part.number()) < 1:
        part.refuse("must be a number above 0 and below 1.")
    return float(share)


def is_drawn(share: float, *, journey_id: str, customer_id: str) -> bool:
    """Whether the customer is among this share. Who is among a smaller one is among a larger one, too."""
    digest = hashlib.sha256(f"{journey_id}/held out/{customer_id}".encode()).digest()
    return bool(int.from_bytes(digest[:_HASHED_BYTES]) / 256**_HASHED_BYTES < share)
