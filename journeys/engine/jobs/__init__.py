"""Jobs and triggers from outside: how they stand, and cancelling those that wait.

- trigger_states.py, of_trigger.py, states.py: a call, its jobs, one job; progress.py: the counts that large calls keep.
- cancellation.py; merged.py: the jobs of a customer who is merged into another one.
- forgetting.py: when nobody needs any more what a call sent.
"""
