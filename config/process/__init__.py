"""What a process of the service does for itself.

- At its start: settings_at_start.py, loaded_code.py; command_line.py, for those of `manage.py`.
- A worker, whatever Redis does: receiving.py, reconnecting.py, lookout.py; aside.py: what
  waits for others. The scheduler: ticks.py.
"""
