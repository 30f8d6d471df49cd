"""Events: calls.py, servers report what customers do; feed.py, what happens in journeys, read in order."""
