"""Who changed what: entries that are written in the transaction of the change, and that nobody changes afterwards.

1. acting.py: who acts at this moment, which calls, pages and commands say.
2. recording.py: an entry, written with the change; facts.py: what is told of a record, without secrets.
3. refusals.py: what was refused, so many an hour.
4. reading.py: a workspace's entries in an order to which none is added later. The call is in calls/access/audit.py,
   the page in admin/pages/audit.py.
"""
