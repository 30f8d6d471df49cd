"""Seeding: a workspace from a JSON description. seed.py is the whole, in parts that are read by one rule (reading.py).

access.py, customers.py, segments.py, journeys.py: a part each; resources.py: those that say what they are themselves;
sections.py: those of apps above; crowd.py: many people; secrets.py: what the environment has.

written.py writes what is stored as a file's items. kinds.py lists the kinds of definitions (engage/resources/) in the
order in which they are saved, and has two of them. export.py writes a whole workspace, and plan.py says what a file
would do.
"""
