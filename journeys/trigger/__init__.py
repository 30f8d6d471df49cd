"""Triggers: calls for one, many or recipients, and what became of them.

1. calls.py, with bodies.py, answers.py, recipients.py, schedules.py and dry_runs.py; entrances.py: exiting one.
2. jobs.py: what became of a trigger's jobs. page.py, with call_panel.py, and jobs_page.py: the same for staff.
"""
