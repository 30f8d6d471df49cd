"""PostgreSQL: its engine (backend/), and what those who write SQL, models and migrations share.

- For statements: sql.py, fragment.py, index_order.py, parts.py, snapshot.py, statement_limit.py, outages.py.
- For models: object_ids.py, keys.py, tenancy.py, encrypted_fields.py, written_order.py.
- For migrations and pruning: repeatable.py, pruning.py.
"""
