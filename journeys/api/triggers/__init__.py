"""Entering customers, trying that, and what became of it."""
