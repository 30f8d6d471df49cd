"""The calls about customers, by subject.

1. `path_ids`: the id in their paths; `bodies`: how bodies name customers; `items`: what becomes of one of many.
2. `customers`: one is created, changed, found and erased; `batch`: many; `export`: all that is stored of one.
3. `segments`: who is in one. `consents`: what one wants to be written about; `suppressions`: addresses;
   `contact`: whether they may be.
4. `lists`: customers, members of segments and events, page by page.
"""

from customers.api import batch, consents, contact, customers, export, lists, segments, suppressions

__all__ = ["batch", "consents", "contact", "customers", "export", "lists", "segments", "suppressions"]
