"""The id in the paths of the calls about customers."""

from engage.calls.call import PathId

ADA, BOB = "68a1f0c2e4b0a1d2c3e4f5a1", "68a1f0c2e4b0a1d2c3e4f5a2"  # in examples

CUSTOMER_ID = PathId(name="customerId", description="The customer's id in this service.", example=ADA)
