"""How the service is watched: probes (probes.py, health.py), metrics (metrics.py, exposition.py), and doctor.py.

Of the metrics, storage.py asks PostgreSQL how it fares, and presence.py Redis which processes run. release.py says
which version and commit answers. standing.py holds the alerts' rules against this moment:
health_page.py shows that to staff, and telling.py tells it to whoever is to be told, by mailing.py.
"""
