"""Journeys, in the order of an enrollment's life.

1. design/: what staff may save; steps/ and rendering/: what a journey consists of; connections/: what it names that is
   not in it.
2. entering/: a call or an event queues jobs, and workers decide them by entry_rules.py and hold_out.py; jobs/: what
   became of them.
3. walking/: enrollments go on with their steps, and events end or move them; enrollments/: what all know of them.
   failures.py, cut_off.py: what becomes of work that fails; counts/: how many went which way.
4. webhooks/: what steps send; in_app/: what they show on pages; steering/: what is held, resumed, aborted
   and taken back.
5. api/: the calls; feed/: what happens, read in order; subscriptions/: the same, pushed; admin/: the pages of staff;
   tasks.py, wakeups.py, due.py: workers, and how they are woken.
6. models/: the tables; job_ids.py: the ids of jobs; merging.py, personal.py: what is moved, told and erased with
   people; apps.py: for Django.
7. operations/: how long records are kept, what waits, and what nobody may read; seeding/: a workspace from a file.
"""
