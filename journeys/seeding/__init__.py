"""Seeding: a workspace from a JSON description. seed.py is the whole, in parts that are read by one rule (reading.py).

access.py, customers.py, segments.py, variables.py, connections.py, journeys.py, subscriptions.py: a part each;
sections.py: those of apps above; crowd.py: many people; secrets.py: what the environment has.

written.py writes what is stored as a file's items. definitions.py reads, changes and deletes one item alone, of the
kinds in kinds.py. export.py writes a whole workspace, and plan.py says what a file would do.
"""
