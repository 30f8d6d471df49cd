"""Webhooks: from a committed delivery to its end. Nothing here walks, and nothing here wakes anybody."""
