"""For those who run the service: backlog.py, alerts.py, delays.py.

redaction.py: what is shown to nobody. A restored backup is tried by what stands in invariants.py. sending_once.py sends
a test of a connection, or an alert.
"""
