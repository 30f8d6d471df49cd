"""How the service is watched: probes (probes.py, health.py), metrics (metrics.py, exposition.py), and doctor.py.

release.py says which version and commit answers.
"""
