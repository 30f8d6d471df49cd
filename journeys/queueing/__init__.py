"""Queueing: triggers, jobs and chunks that are committed together, for the workers to decide.

- bulk.py: the audience of one bulk call, in one statement.
- single.py: the one customer of a single call, in one statement that also decides about the call.
- by_event.py: customers who enter journeys by events, in the transaction that records the events.
- inserts.py: what these share.
"""
