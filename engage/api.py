"""The calls about access itself: each registers its own."""

from engage.calls.access import audit, me

__all__ = ["audit", "me"]
