"""Whom a call means: segments.py (their conditions), membership.py (by hand), selection.py (ids and segments, less
exclusions, as one query), recipients.py (one by one).
"""
