"""Entering customers, and trying that."""
