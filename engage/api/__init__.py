"""Calls about access itself.

1. `me`: what a key is.
2. `audit`: who changed what.
"""

from engage.api import audit, me

__all__ = ["audit", "me"]
