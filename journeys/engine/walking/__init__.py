"""Walking: due enrollments go on with their journey's steps.

A wait is a `due_at` in PostgreSQL. loop.py goes from batch to batch. What happens to one:

1. claims.py: one committed statement claims many due enrollments for some seconds (its update is in
   enrollments/transitions.py). So a worker that dies leaves a trace, and delays no enrollment for long: whoever comes
   by when the time is over counts the attempt.
2. One transaction: the customers' rows are locked in the order of their ids (everything about one customer happens one
   after the other), and what the steps may read is read in sets (positions.py).
3. Each enrollment is walked by the engine (steps/course.py), in memory, to its next stop.
4. The resulting attributes and events, the history and the new stops are written in sets (writing.py), and counted
   (counts.py).

Events that are recorded, by a step or by a call (recording.py), end enrollments, move those that wait for them, and
start journeys (reactions.py); imported_events.py has those of a file, and event_dry_runs.py says what they would do.
Whoever writes a profile ends the waits for a condition that it meets (watching.py). Wishes that have to be confirmed
are told by events (confirmations.py). An opt-out ends what it is about (opted_out.py).

An enrollment whose steps raise is held back and tried again alone; after five attempts it is given up, and its history
says why. A failure that might affect any work (engage/database/outages.py) does not count as an attempt. Webhooks are
only recorded here, for a sender to send outside any transaction.
"""

from journeys.engine.walking.loop import walk_due

__all__ = ["walk_due"]
