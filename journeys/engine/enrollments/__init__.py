"""Enrollments: what those who enter, walk and end them share, and how they are read.

1. transitions.py: what changes an enrollment's row as it is walked; postponing.py: what puts off one that is claimed;
   transfers.py: what does as it goes over to another revision or customer; locks.py: under which locks; ids.py;
   withdrawing.py: what ends with it.
2. revisions.py: the steps that they walk; knowledge.py: what their conditions may look at, with kept_answers.py;
   drawn_ways.py: which way a customer went before; early_events.py: what came before somebody listened; goals.py: which
   goals they reach. trails.py: what logs name of one that fails.
3. states.py, history.py, by_customer.py, listing.py, exiting.py: one as it stands, with its history; a customer's; a
   journey's; ending one. deliveries.py: what was sent to whom.
"""
