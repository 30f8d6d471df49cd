"""Webhooks, from a committed delivery to its end. Nothing here walks enrollments or wakes workers."""
