"""Workspaces, their members and settings (workspaces.py), credentials (credentials.py), what happened (records.py)."""

from engage.models.credentials import DEFAULT_RATE_LIMIT, ApiKey, App, IdentityKey
from engage.models.records import ActorKind, Alert, AuditEntry, FeedBatch, IdempotencyRecord
from engage.models.workspaces import MemberAccount, Membership, Phone, Workspace

__all__ = [
    "DEFAULT_RATE_LIMIT",
    "ActorKind",
    "Alert",
    "ApiKey",
    "App",
    "AuditEntry",
    "FeedBatch",
    "IdempotencyRecord",
    "IdentityKey",
    "MemberAccount",
    "Membership",
    "Phone",
    "Workspace",
]
