"""The calls about definitions, each as the item of a seed file: made, read, changed and deleted.

1. calls.py: what they have in common, from If-Match to a dry run; bodies.py: what they take and answer.
2. journeys.py, segments.py, connections.py, variables.py, subscriptions.py: three calls for each kind.
"""

from journeys.api.definitions import connections, journeys, segments, subscriptions, variables

__all__ = ["connections", "journeys", "segments", "subscriptions", "variables"]
