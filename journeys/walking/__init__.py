"""Walking: enrollments that are due go on with their journey's steps.

A wait is a `due_at` in PostgreSQL. What happens to one batch:

1. claims.py: one committed statement claims many due enrollments. It counts the attempt and puts them off for some
   seconds, so that a worker that dies leaves a trace and delays nobody for long.
2. One transaction: the customers' rows are locked in the order of their ids (everything about one customer happens one
   after the other), and what the steps may read is read in sets (standings.py).
3. Each enrollment is walked by the engine (steps/course.py), in memory, to its next stop.
4. The attributes and events that this came to, the history and the new stops are written in sets (history.py).

An enrollment whose steps raise is put off and tried again alone; after five attempts it is given up, and its history
says why. What might befall any work (engage/outages.py) counts as no attempt. Webhooks are only written down here, for
a sender to send outside any transaction.
"""

from journeys.walking.loop import walk_due

__all__ = ["walk_due"]
