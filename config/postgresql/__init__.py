"""Django's PostgreSQL, which also notices a server that was away or is silent."""
