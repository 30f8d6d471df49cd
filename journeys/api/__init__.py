"""The calls about journeys, by subject.

1. `path_ids`: the ids in their paths, and what these find.
2. `trigger`: customers enter a journey; `trigger_bodies` and `trigger_answers` are what it takes and answers,
   `recipients` those with payloads of their own, `schedules` when they are due, and `dry_runs` has the answers where
   that is only tried.
3. `events`: servers report what customers do.
4. `jobs`: what became of triggers, and taking a job back.
5. `enrollments`: their history, and ending one early; `customer_journeys`: what queued a customer.
6. `deliveries`: what was sent to a customer. `entrances`: exiting one.
7. `steering`: journeys and triggers are held, resumed, closed, activated, aborted and cancelled while they run.
8. definitions/: journeys, segments, connections, variables and subscriptions are made, read, changed and deleted;
   `subscriptions` has what these have of their own.
9. `lists`: journeys, segments and enrollments, page by page.
10. `statistics`: their steps as a graph, and counts of what they do; `times`: from when until when these are.
11. `feed`: what happens in them.
"""

from journeys.api import (
    customer_journeys,
    definitions,
    deliveries,
    enrollments,
    entrances,
    events,
    feed,
    jobs,
    lists,
    statistics,
    steering,
    subscriptions,
    trigger,
)

__all__ = [
    "customer_journeys",
    "definitions",
    "deliveries",
    "enrollments",
    "entrances",
    "events",
    "feed",
    "jobs",
    "lists",
    "statistics",
    "steering",
    "subscriptions",
    "trigger",
]
