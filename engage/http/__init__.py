"""A call, from its bytes to its answer.

1. views.py: the bases of all views, in whose `initial` the order stands.
2. Who calls: authentication.py, credential_memory.py, client_address.py.
3. How often, and how much: limits.py; for how long: budgets.py.
4. What is sent: inflation.py, parsing.py, query_strings.py.
5. Once only: idempotency.py, replays.py; of what was seen: preconditions.py.
6. The answer: envelope.py, near_misses.py, paging.py, long_answers.py; its duration: request_times.py.
"""
