"""The calls about customers, by subject.

1. `path_ids`: the id in their paths; `bodies`: how bodies name customers; `items`: what becomes of one of many.
2. `customers`: they are created, changed, found, erased and exported.
3. `segments`: who is in one.
"""

from customers.api import customers, segments

__all__ = ["customers", "segments"]
