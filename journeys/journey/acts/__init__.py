"""Buttons of a journey: steering.py (hold, resume, close, abort …), keeping.py (archive, duplicate, roll back)."""
