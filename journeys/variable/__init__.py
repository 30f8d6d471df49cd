"""Variables: resource.py, page.py."""
