"""What must hold of goals and of who is held out: both are decided once, and no event is missed or counted twice."""

import time
from collections.abc import Iterator

from tests.chaos.early import reported
from tests.chaos.service import Service
from tests.chaos.tenants import GOAL_SECONDS

_GOALS_OF = "journey_id IN (SELECT id FROM journeys_journey WHERE goals IS NOT NULL)"
_DRAWN_TWICE = """
SELECT customer_id, array_agg(DISTINCT result) FROM journeys_enrollmentjob
WHERE status = 'decided' GROUP BY journey_id, customer_id
HAVING bool_or(result = 'held_out') AND bool_or(result <> 'held_out')
"""
_NUMBER = f"""
SELECT customer_id, sum(number) FROM (
    SELECT customer_id, count(*) AS number FROM journeys_enrollmentjob
    WHERE result IN ('enrolled', 'held_out') AND {_GOALS_OF} GROUP BY customer_id
    UNION ALL SELECT customer_id, -count(*) FROM journeys_goalwatch GROUP BY customer_id
) AS both_of
GROUP BY customer_id HAVING sum(number) <> 0
"""
_WATCHES = """
SELECT id, customer_id, event_name, extract(epoch FROM until)::float - %s, reached_at IS NOT NULL, counted,
       CASE WHEN enrollment_id IS NULL THEN '@held_out' ELSE '' END
FROM journeys_goalwatch
"""
_SURE = GOAL_SECONDS - 60  # seconds in which what is sent is recorded in time, whatever breaks
_DONE = "SELECT DISTINCT customer_id, name FROM customers_event"


def held_out_once_and_for_all(service: Service) -> Iterator[str]:
    for customer, results in service.ask(_DRAWN_TWICE):
        yield f"{customer} was held out, and was not: {results}"


def goals_are_reached_by_what_came_in_time(service: Service) -> Iterator[str]:
    """Each who entered or was held out has one goal to reach: reached if its event was sent after that, and only if
    there is such an event. (Who of them was not merged. What was sent before may have been recorded after it.)
    """
    for customer, number in service.ask(_NUMBER):
        yield f"{customer} has {-number:+} goals more than entries and decisions to hold them out"
    since = time.time() - time.monotonic()
    sent: dict[tuple[str, str], list[float]] = {}
    for event in reported(service).values():
        sent.setdefault((event.customer, event.name), []).append(event.began + since)
    done = set(service.ask(_DONE))
    for watch, customer, name, began, is_reached, counted, as_what in service.ask(_WATCHES, GOAL_SECONDS):
        if is_reached and (customer, name) not in done:
            yield f"the goal {watch} was reached without {name!r}"
        elif is_reached and as_what not in counted:
            yield f"the goal {watch} was reached and is counted as {counted}"
        elif not is_reached and any(began < at < began + _SURE for at in sent.get((customer, name), ())):
            yield f"the goal {watch} missed {name!r} of {customer}"
