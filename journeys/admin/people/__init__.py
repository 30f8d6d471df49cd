"""Who went where: enrollments.py with timeline.py, jobs.py, triggers.py with call.py; in_app.py: what was
delivered to them; panels.py and history.py show all at a customer.
"""
