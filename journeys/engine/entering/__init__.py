"""Entering: customers are queued for journeys, and queued jobs become enrollments, or end with the reason why not.

1. trigger.py: a call's journey and customers. Then one statement commits trigger, jobs and chunks: single.py for one
   customer, bulk.py for an audience, recipients.py for a list with payloads of their own; by_event.py for customers
   whom events enter, in the transaction that records the events; queueing.py is the SQL that these share, and terms.py
   what a call asks beside whom it names. schedules.py reads when that is due; scheduled.py: it
   comes due. payloads.py holds payloads to the journey's schema.
2. lanes.py: a worker's turn at a lane, one piece of work after another.
3. chunks.py: a committed claim of a due chunk, and what becomes of those that fail; claims.py: whose turn it is;
   held_up.py: jobs whose customers others have locked.
4. settling.py: one transaction, in which the customers are locked, the jobs decided and the results written in sets.
5. entry_decisions.py: job by job, by the entry rules (journeys/rules/entry_rules.py); a dry run decides by it as well
   (dry_runs.py, walk_through.py).
6. waiting_jobs.py, entry_conditions.py, entrances.py, draws.py: what that reads, in sets.
"""
