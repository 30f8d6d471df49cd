"""How the service is watched: probes (probes.py, health.py), metrics (metrics.py, exposition.py), and doctor.py."""
