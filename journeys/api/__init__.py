"""The calls about journeys, by subject.

1. `path_ids`: the ids in their paths, and what these find.
2. `steering`: journeys and triggers are held, resumed, closed, activated, aborted and cancelled while they run.
3. `statistics`: their steps as a graph, and counts of what they do.
4. `jobs`: what became of triggers, and taking a job back.
5. `enrollments`: their history, a customer's entries, and ending one early.
"""

from journeys.api import enrollments, jobs, statistics, steering

__all__ = ["enrollments", "jobs", "statistics", "steering"]
