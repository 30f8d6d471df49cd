"""What definitions name that is not in them: variables.py; connections.py, with form.py."""
