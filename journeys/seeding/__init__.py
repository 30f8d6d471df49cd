"""Seeding: a workspace from a JSON description. seed.py is the whole, in parts that are read by one rule
(journeys/definitions/reading.py).

access.py, customers.py, journeys.py: a part each, and journeys/segment/; resources.py: those that say what they are
themselves; crowd.py: many people; secrets.py: what the environment has.

export.py writes a whole workspace, and plan.py says what a file would do.
"""
