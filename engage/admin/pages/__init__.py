"""A page each: keys.py with key_form.py, staff.py, workspaces.py, memberships.py with inviting.py, audit.py.

global_search.py: what the search above all pages finds.
"""
