"""The engine: from a call or an event to the last step. It knows no call, page or command.

1. entering/: customers are queued, and workers decide; jobs/: what became of them.
2. walking/: enrollments go on with their steps, and events end or move them; enrollments/: what all know of them.
3. webhooks/, in_app/: what is sent and shown; connections/: what definitions name that is not in them.
4. steering/: what is held, resumed, aborted and taken back; counts/: how many went which way; feed/: what happens, in
   order.
5. wakeups.py, due.py: how workers are woken; merging.py: what moves with people; operations/: for those who run it.
"""
