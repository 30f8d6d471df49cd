"""Whom a call means: external ids ∩ segments, less the exclusions, as one query that never leaves the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from customers.fragment import Fragment
from customers.models import Segment
from customers.segments import members
from engage.errors import Refusal
from engage.object_ids import is_object_id


class ErrorResolvingSegments(Refusal):
    """A segment is unknown or of another workspace; the answer does not say which."""

    error = "Error resolving segments"
    code = "error_resolving_segments"


@dataclass(frozen=True, kw_only=True)
class Audience:
    """Customers by external ids, by segments, or those in both; None where the caller did not name any."""

    external_ids: tuple[str, ...] | None = None
    segment_ids: tuple[str, ...] | None = None
    exclude_external_ids: tuple[str, ...] = ()


def resolve_segments(*, workspace_id: str, segment_ids: Sequence[str]) -> list[Segment]:
    """The segments, of which every one must exist in the workspace. Raises ErrorResolvingSegments."""
    if not segment_ids:
        return []
    wanted = [segment_id for segment_id in segment_ids if is_object_id(segment_id)]
    found = {segment.id: segment for segment in Segment.objects.filter(workspace_id=workspace_id, id__in=wanted)}
    unknown = [segment_id for segment_id in dict.fromkeys(segment_ids) if segment_id not in found]
    if unknown:
        listed = ", ".join(repr(segment_id[:100]) for segment_id in unknown)
        raise ErrorResolvingSegments(f"These segments do not exist in this workspace: {listed}.")
    return list(found.values())


def audience_query(*, workspace_id: str, audience: Audience, segments: Sequence[Segment]) -> Fragment:
    """The ids of the audience's customers (column `id`, each once); `segments` are those of `audience.segment_ids`.

    Several segments are united; with external ids only those in both remain; exclusions apply whatever the source.
    """
    conditions = ["customer.workspace_id = %s"]
    params: list[Any] = [workspace_id]
    if audience.external_ids is not None:
        conditions.append("customer.external_id = ANY(%s::text[])")
        params.append(list(audience.external_ids))
    if audience.segment_ids is not None:
        united = [members(segment) for segment in segments]
        conditions.append(f"customer.id IN ({' UNION ALL '.join(f.sql for f in united)})" if united else "false")
        params += [param for fragment in united for param in fragment.params]
    if audience.exclude_external_ids:
        conditions.append("(customer.external_id IS NULL OR customer.external_id <> ALL(%s::text[]))")
        params.append(list(audience.exclude_external_ids))
    return Fragment(f"SELECT customer.id FROM customers_customer customer WHERE {' AND '.join(conditions)}", params)
