"""Enrollments: what those who enter, walk and end them share, and how they are read.

- revisions.py: the steps that they walk; early_events.py: what came before somebody listened; exits.py: ending them.
- states.py, history.py, by_customer.py, exiting.py: one as it stands, with its history; a customer's; ending one.
"""
