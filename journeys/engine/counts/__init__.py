"""Counts: how many entered a journey, went which way, and ended where; exact at any committed moment.

1. counting.py: what a transaction adds, in one statement, beside the history that it writes; and how it is summed up.
2. recounting.py: the same counts, taken from the history itself: for what was there before, and to compare.
3. stats.py: a journey's sums, as its statistics tell them; buckets.py: how time is divided for them; shares.py: how
   sure they are; hourly.py: all journeys, lately.
"""
