"""The calls about journeys, by subject.

1. `path_ids`: the ids in their paths, and what these find.
2. `steering`: journeys and triggers are held, resumed, closed, activated, aborted and cancelled while they run.
"""

from journeys.api import steering

__all__ = ["steering"]
