"""The first page: dashboard.py, with lately.py (what came) and held.py (what is on hold)."""
