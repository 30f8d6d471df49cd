"""Django's PostgreSQL backend (base.py, sessions.py), which writes arrays in one go (arrays.py) and detects a server
that was away or is silent (unresponsive.py).
"""
