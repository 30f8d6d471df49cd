"""The calls about journeys, by subject.

1. `path_ids`: the ids in their paths, and what these find.
2. `steering`: journeys and triggers are held, resumed, closed, activated, aborted and cancelled while they run.
3. `statistics`: their steps as a graph, and counts of what they do.
4. `enrollments`: their history, a customer's entries, and ending one early.
"""

from journeys.api import enrollments, statistics, steering

__all__ = ["enrollments", "statistics", "steering"]
