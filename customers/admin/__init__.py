"""The admin's pages for customers (customers.py), their segments (segments.py) and their events (events.py).

by_hand.py: adding and editing one. search.py: by whom all pages are searched.
condition_help.py: how conditions are written; suggestions.py: what their authors may mean.
"""

from customers.admin import customers, events, segments

__all__ = ["customers", "events", "segments"]
