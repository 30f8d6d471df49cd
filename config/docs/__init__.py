"""What the service says of itself: openapi.py, the document's settings; documentation.py, its page; landing.py, `/`."""
