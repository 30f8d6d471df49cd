"""The admin's pages for customers, their segments and their events."""

from customers.admin import customers, events, segments

__all__ = ["customers", "events", "segments"]
