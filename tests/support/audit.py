"""What the audit says."""

from engage.admin.parts.audited import in_words
from engage.models import AuditEntry


def told(*kinds: str) -> list[tuple[str, str, str]]:
    """Who did what to which object, in order; only to objects of these kinds, if any are given."""
    entries = AuditEntry.objects.order_by("at", "id")
    chosen = entries.filter(object_kind__in=kinds) if kinds else entries
    return [(entry.actor_name, entry.object_id, in_words(entry)) for entry in chosen]


def written() -> str:
    """All that it holds."""
    return repr(list(AuditEntry.objects.values()))
