"""A page each: keys.py with key_form.py, staff.py, workspaces.py, memberships.py, audit.py; global_search.py."""
