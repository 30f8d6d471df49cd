"""The ids in the paths of the calls about customers and segments."""

from customers.audience.membership import segment_id_of_key
from engage.calls.call import PathId

ADA, BOB = "68a1f0c2e4b0a1d2c3e4f5a1", "68a1f0c2e4b0a1d2c3e4f5a2"  # in examples

CUSTOMER_ID = PathId(name="customerId", description="The customer's id in this service.", example=ADA)
SEGMENT_ID = PathId(
    name="segmentId",
    description="The segment's id, or its key.",
    example="68a1f0c2e4b0a1d2c3e4f5b1",
    id_of_key=segment_id_of_key,
)
