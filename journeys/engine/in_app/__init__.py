"""In-app messages that journeys have delivered: what becomes of them, and the events that tell it.

A delivery is `due`, then `shown`, then over: `acted`, `closed`, `expired` or `withdrawn`. A walk makes it
(walking/writing.py), and an exit may withdraw it (enrollments/withdrawing.py). Each change is a conditional update of
its row, so of two who end it one does, and what is over never comes back.

1. transitions.py: what people do; with the events that this records, in the transaction of whoever says it.
2. expiring.py: what nobody has ended in time, in sets; withdrawing.py: what staff take back.
3. figures.py: how often a message was delivered, shown and acted on.
"""
