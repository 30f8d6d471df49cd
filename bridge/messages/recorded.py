"""What was recorded of a message in the last seven days, for a definition to be learned from it."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from bridge.messages.learning import Recorded
from bridge.messages.usage import DAY_ROWS, DRAWN, KNOWN, draw_of, totals_of
from bridge.models import Message
from engage.database.sql import Statement

LEARNED_FROM = 5_000
_LARGEST = 8_192  # bytes of JSON; what is larger teaches little, and 5,000 of them would fill the memory

_RECORDED = Statement(
    """
WITH {drawn}
SELECT one.kind, one.customer_id, event.name AS event_name, event.properties, one.form_data, (
    SELECT jsonb_object_agg(written.name, customer.attributes -> written.name)
    FROM jsonb_array_elements_text(one.attributes_written) AS written(name)
) AS attributes
FROM {known}
LEFT JOIN LATERAL (
    SELECT known.name, known.properties FROM customers_event known WHERE known.id = one.event_id LIMIT 1
) AS event ON true
LEFT JOIN LATERAL (
    SELECT known.attributes FROM customers_customer known WHERE known.id = one.customer_id LIMIT 1
) AS customer ON true
WHERE one.kind IN ('track_event', 'update_profile', 'capture') AND octet_length(one.form_data::text) <= {largest}
  AND octet_length(coalesce(event.properties::text, '')) <= {largest}
""",
    drawn=DRAWN,
    known=KNOWN,
    days=DAY_ROWS,
)


def recorded_lately(message: Message, *, now: datetime) -> Iterator[Recorded]:
    """Of all that was recorded, or of about LEARNED_FROM drawn from it. Two statements."""
    draw = draw_of(totals_of(message, now=now), now=now, most=LEARNED_FROM)
    rows = _RECORDED.records(
        days=draw.days, key=message.key, workspace_id=message.workspace_id, below=draw.below, largest=_LARGEST
    )
    for row in rows:
        yield Recorded(
            kind=row["kind"],
            customer_id=row["customer_id"],
            event_name=row["event_name"] or "",
            properties=_object(row["properties"]),
            form_data=_object(row["form_data"]),
            attributes=_object(row["attributes"]),
        )


def _object(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}
