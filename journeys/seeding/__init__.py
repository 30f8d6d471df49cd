"""Seeding: a workspace from a JSON description. seed.py is the whole; the other files read and write a part each."""
