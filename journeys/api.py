"""The calls about journeys, by the thing that they are about: each registers its own."""

from journeys.definitions.each import define_all
from journeys.delivery import calls as deliveries
from journeys.enrollment import calls as enrollments
from journeys.enrollment import customer_journeys, lists
from journeys.events import calls as events
from journeys.events import feed
from journeys.journey import calls as journeys
from journeys.journey import statistics, steering
from journeys.kinds import KINDS
from journeys.segment import calls as segments
from journeys.subscription import calls as subscriptions
from journeys.trigger import calls as triggers
from journeys.trigger import entrances, jobs

define_all(KINDS)

__all__ = [
    "customer_journeys",
    "deliveries",
    "enrollments",
    "entrances",
    "events",
    "feed",
    "jobs",
    "journeys",
    "lists",
    "segments",
    "statistics",
    "steering",
    "subscriptions",
    "triggers",
]
