"""Journeys drawn: drawings.py (graphs with words and numbers), map.py (all customers), way.py (one enrollment)."""
