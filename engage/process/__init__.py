"""What processes are made of, and what they tell.

1. per_process.py: what does not survive a fork; bounded_cache.py: what a process keeps; budget.py: how long what
   tenants have written may take; middleware.py: the base of ours.
2. request_log.py: lines of the log; tracing.py, tracing_sdk.py, error_reports.py: what others are told.
"""
