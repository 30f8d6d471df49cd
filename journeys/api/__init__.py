"""The calls about journeys, by subject.

1. `path_ids`: the ids in their paths, and what these find.
2. `steering`: journeys and triggers are held, resumed, closed, activated, aborted and cancelled while they run.
3. `statistics`: their steps as a graph, and counts of what they do.
"""

from journeys.api import statistics, steering

__all__ = ["statistics", "steering"]
