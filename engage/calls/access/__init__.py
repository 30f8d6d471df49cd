"""The calls about access itself: me.py, what a key may do; audit.py, who changed what."""
