"""What definitions name that is not in them: variables.py."""
