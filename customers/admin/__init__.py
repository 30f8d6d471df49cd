"""The admin's pages for customers (customers.py), their segments (segments.py) and their events (events.py);
and for what they are written to about (contact.py).

by_hand.py: adding and editing one. search.py: by whom all pages are searched.
condition_help.py: how conditions are written; suggestions.py: what their authors may mean.
"""

from customers.admin import contact, customers, events, segments

__all__ = ["contact", "customers", "events", "segments"]
