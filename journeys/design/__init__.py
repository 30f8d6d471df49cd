"""What staff may save: authoring.py, the one way to save a journey; entry_conditions.py, whom it may be for."""
