"""Redis, which may vanish: whether it is there (availability.py), counters (limit_counters.py, metric_counters.py), and
calls that nobody waits for (background.py).
"""
