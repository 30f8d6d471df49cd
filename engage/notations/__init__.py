"""How small things are written, and read: pure, and known to all.

countries.py, zones.py, networks.py, origins.py, rates.py, recipients.py, sizes.py: as staff and callers write them.
plurals.py, terminal.py: as they are told.
"""
