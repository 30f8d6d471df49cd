"""Calls about access itself: me/, what a key is; audit/, who changed what; urls.py has their addresses."""
