"""Customers and their events in files of comma-separated values: read and written by commands alone.

1. columns.py: what a header names, and what a cell says.
2. reading.py: the rows of a file; sets.py: many customers written with a few statements.
3. importing.py: the whole of a file, from where it was stopped; exporting.py: a workspace's customers.
"""
