"""From a click or a form to what it does: actions.py and capture.py say what is asked for, recording.py does it, and
delivered.py what it means for a delivered message."""
