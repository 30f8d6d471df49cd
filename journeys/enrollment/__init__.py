"""Who went where: calls.py, lists.py and customer_journeys.py; page.py with timeline.py and way.py.

panels.py and history.py show all at a customer.
"""
