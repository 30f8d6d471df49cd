"""Who went where: enrollments.py with timeline.py, jobs.py, triggers.py with call.py; panels.py shows
them at a customer.
"""
