"""For those who run the service: retention.py, backlog.py, delays.py, and redaction.py, what is shown to nobody.

A restored backup is tried by what stands in invariants.py.
"""
