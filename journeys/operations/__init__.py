"""For those who run the service: retention.py, backlog.py, delays.py, and redaction.py, what is shown to nobody."""
