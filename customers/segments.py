"""Who belongs to a segment: those put into it, and those who meet its conditions."""

from customers.fragment import Fragment
from customers.models import Segment


def members(segment: Segment) -> Fragment:
    """The ids of the segment's customers (column `id`)."""
    return Fragment(
        "SELECT customer_id AS id FROM customers_segmentmembership WHERE segment_id = %s::text", [segment.id]
    )
