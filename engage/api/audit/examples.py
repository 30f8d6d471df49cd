"""An example answer about the audit, for the OpenAPI document."""

from engage.api.audit.answers import AuditPage

PAGE = AuditPage(
    entries=[
        {
            "entryId": "6b00b1b1aa4223798a14fef0",
            "at": "2026-11-20T19:08:00.000Z",
            "action": "changed",
            "actor": {"kind": "staff", "id": "7", "name": "grace", "address": "203.0.113.7"},
            "object": {"kind": "journey", "id": "6b00b1b1aa4223798a14fee8", "name": "Welcome"},
            "changes": {"active": {"before": False, "after": True}},
            "note": None,
            "requestId": "9f2c4e0d8b7a4c1f8e6d5b3a2c1d0e9f",
        }
    ],
    after=42,
)
