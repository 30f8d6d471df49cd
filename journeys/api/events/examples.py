"""Requests and answers of a report, as the OpenAPI document shows them."""

from customers.answers import item_failed
from customers.examples import ADA
from journeys.api.events.answers import EventItemRecorded, ReportedEventData, ReportedEventsData
from journeys.walking.recording import unknown_customer

EVENT = "6a0b1c2de4b0a1d2c3e4f5e1"
_ORDERED = {"external_id": "ada", "eventName": "ordered", "eventProperties": {"orderId": "A-1042", "total": 59.9}}

REPORTS = {
    "One event": {**_ORDERED, "occurredAt": "2026-11-20T19:07:58Z"},
    "Many events": {"events": [_ORDERED, {"email": "nobody@example.com", "eventName": "ordered"}]},
}
UNKNOWN = unknown_customer("email")
RECORDED = ReportedEventData(eventId=EVENT, customerId=ADA)
MANY_RECORDED = ReportedEventsData(
    recorded=1,
    failed=1,
    results=[EventItemRecorded(status="recorded", eventId=EVENT, customerId=ADA), item_failed(UNKNOWN)],
)
