"""Redis, which may vanish: whether it is there (availability.py), counters, and calls that nobody waits for."""
