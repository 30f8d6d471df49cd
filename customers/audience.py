"""Whom a call means: external ids ∩ segments, less the exclusions, as one query that never leaves the database."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from customers.fragment import Fragment
from customers.models import Segment
from customers.segments import belongs_to_any
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

    def __post_init__(self) -> None:
        if self.external_ids is None and self.segment_ids is None:
            raise ValueError("An audience names external ids, segments or both; it is never the whole workspace.")


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
        conditions.append("customer.external_id = ANY(ARRAY(SELECT jsonb_array_elements_text(%s::jsonb)))")
        params.append(_not_blank(audience.external_ids))
    if audience.segment_ids is not None:
        belongs = belongs_to_any(segments)
        conditions.append(belongs.sql)
        params += belongs.params
    if audience.exclude_external_ids:
        # An anti-join, which is hashed; a prepared statement would compare `<> ALL(…)` item by item.
        conditions.append(
            "NOT EXISTS (SELECT FROM jsonb_array_elements_text(%s::jsonb) AS excluded (external_id)"
            " WHERE excluded.external_id = customer.external_id)"
        )
        params.append(_not_blank(audience.exclude_external_ids))
    return Fragment(f"SELECT customer.id FROM customers_customer customer WHERE {' AND '.join(conditions)}", params)


def _not_blank(external_ids: Sequence[str]) -> str:
    """As a JSON array: to write an array of PostgreSQL's takes ten times as long."""
    return json.dumps([external_id for external_id in external_ids if external_id.strip()])
