"""PostgreSQL: its engine (backend/), and what those who write SQL, models and migrations share.

- For statements: sql.py, fragment.py, index_order.py, parts.py, snapshot.py, statement_limit.py, outages.py.
- For models: table.py, object_ids.py, keys.py, tenancy.py, encrypted_fields.py, written_order.py.
- For work on rows: alone.py (one part fails, the others go on), known_values.py (of a later version), positions.py.
- For migrations and pruning: repeatable.py, pruning.py.
"""
