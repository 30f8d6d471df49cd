"""What a journey's counts say."""

from journeys.counts.counting import Key
from journeys.models import Count, CountDelta, Journey


def counted(journey: Journey) -> dict[Key, int]:
    """The journey's counts, folded or not, whatever the hour."""
    sums: dict[Key, int] = {}
    rows: list[CountDelta | Count] = [
        *CountDelta.objects.filter(journey=journey),
        *Count.objects.filter(journey=journey, grain=Count.Grain.HOUR),
    ]
    for row in rows:
        key = row.workspace_id, row.journey_id, row.revision_id, row.kind, row.name, row.outcome
        sums[key] = sums.get(key, 0) + row.number
    return {key: number for key, number in sums.items() if number}
