"""Customers: who they are, and what is known of them.

1. models/, and the rules that need no database: identifier_rules.py, attribute_rules.py, event_rules.py,
   event_times.py; conditions/: tests of what is known.
2. profile.py, events.py: attributes and events; watching.py: who waits for a change; tombstones.py: what is known of
   those who were erased.
3. identity/: who is who; audience/: whom a call means; contact/: whether they may be written to; preferences/:
   the pages where they leave and choose themselves; listing.py: them and their events, a part at a time.
4. files/: many of them in files. personal.py, erasure.py: all that is known of a person, to be told and erased.
5. api/: the calls; admin/: the pages of staff; apps.py: for Django.
"""
