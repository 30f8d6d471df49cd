"""Connections to providers: resource.py, page.py with form.py, presets/."""
