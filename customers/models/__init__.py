"""People: customers, segments and events (people.py); what is known of their will, and of addresses (contact.py)."""

from customers.models.contact import Consent, ConsentAct, ContactRing, ContactRules, Suppression, Topic
from customers.models.people import (
    BRIDGE_SOURCES,
    NEXT_SERIAL,
    Alias,
    Customer,
    Event,
    Import,
    Segment,
    SegmentMembership,
    Tombstone,
)

__all__ = [
    "BRIDGE_SOURCES",
    "NEXT_SERIAL",
    "Alias",
    "Consent",
    "ConsentAct",
    "ContactRing",
    "ContactRules",
    "Customer",
    "Event",
    "Import",
    "Segment",
    "SegmentMembership",
    "Suppression",
    "Tombstone",
    "Topic",
]
