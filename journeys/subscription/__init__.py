"""Subscriptions: resource.py, calls.py, page.py; pushing/: how what happens reaches them."""
