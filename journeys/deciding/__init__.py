"""Deciding: queued jobs become enrollments, or end with the reason why not.

1. lanes.py: a worker's turn at a lane, one piece of work after another.
2. chunks.py: a committed claim of a due chunk, and what becomes of those that fail; turns.py: whose turn it is.
3. settling.py: one transaction, in which the customers are locked, the jobs decided and the results written in sets.
4. entry_decisions.py: job by job, by the entry rules (journeys/entry_rules.py); a dry run decides by it as well.
5. waiting_jobs.py, entry_conditions.py, early_exits.py: what that reads, in sets.
"""
