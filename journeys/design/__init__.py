"""What staff may save: authoring.py, the one way to save a journey; keeping.py and opening.py, what else is done."""
