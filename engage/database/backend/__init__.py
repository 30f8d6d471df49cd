"""Django's PostgreSQL backend, which also detects a server that was away or is silent."""
