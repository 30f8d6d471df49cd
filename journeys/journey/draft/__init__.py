"""The draft of a journey: drafts.py, what is edited until it is published; checking.py, what is wrong with it."""
