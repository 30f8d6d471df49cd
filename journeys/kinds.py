"""The kinds of definitions of journeys, as resources (engage/resources/), in the order of writing."""

from collections.abc import Sequence
from typing import Any

from customers.contact.saving import CONTACT_POLICY
from customers.contact.topics import TOPICS
from engage.resources.resource import Resource
from journeys.connection.resource import CONNECTIONS
from journeys.journey.resource import JOURNEYS
from journeys.segment.resource import SEGMENTS
from journeys.subscription.resource import SUBSCRIPTIONS
from journeys.variable.resource import VARIABLES

KINDS: Sequence[Resource[Any]] = (SEGMENTS, TOPICS, CONTACT_POLICY, VARIABLES, CONNECTIONS, JOURNEYS, SUBSCRIPTIONS)
