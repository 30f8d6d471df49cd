"""What a journey's counts say."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import connection

from journeys.engine.counts.counting import Key
from journeys.models import Count, CountDelta, Journey
from tests.support.short_hours import SHORT_HOURS, SHORT_HOURS_FIRST

InAnHour = tuple[str, str, int, str, str, str, datetime]


def counted(journey: Journey) -> dict[InAnHour, int]:
    """The journey's counts by the hour, folded or not; without events that started nothing, which no history has."""
    sums: Counter[InAnHour] = Counter()
    for delta in CountDelta.objects.filter(journey=journey).exclude(kind="event"):
        sums[*_key(delta), delta.hour] += delta.number
    for count in Count.objects.filter(journey=journey, grain=Count.Grain.HOUR).exclude(kind="event"):
        sums[*_key(count), count.begin] += count.number
    return {key: number for key, number in sums.items() if number}


def _key(row: CountDelta | Count) -> Key:
    return row.workspace_id, row.journey_id, row.revision_id, row.kind, row.name, row.outcome


@contextmanager
def every_moment_an_hour() -> Iterator[None]:
    """In the test's transaction: what is counted to another moment than the history's is counted to another hour."""
    with connection.cursor() as cursor:
        cursor.execute(SHORT_HOURS.format(unit="microseconds"))
        cursor.execute(f"SET LOCAL search_path = {SHORT_HOURS_FIRST}")
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET search_path")
