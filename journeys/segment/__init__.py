"""Segments as definitions: resource.py, calls.py; seeding.py, with the members that a seed file names."""
