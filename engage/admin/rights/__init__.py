"""Who may do what: roles.py (what a role may), reach.py (in which workspaces), key_rights.py (what its keys may)."""
