"""Who is held out of a journey (hold_out.py), and stays so: what was once drawn about a customer is kept.

A draw is written with the first decision that it makes: `enrolled` or `held_out`. Another share draws nobody again.
Who entered the journey before it held anybody out is in it.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from engage.database.sql import Rows, Statement
from journeys.engine.entering.waiting_jobs import EnteredJourney, WaitingJob
from journeys.rules.entry_rules import Decision, Verdict
from journeys.rules.hold_out import is_drawn


class Draw(NamedTuple):
    """What was drawn about a customer in a journey."""

    workspace_id: Annotated[str, "text"]
    customer_id: Annotated[str, "text"]
    journey_id: Annotated[str, "text"]
    held_out: Annotated[bool, "boolean"]


_KNOWN = Statement(
    """
SELECT asked.customer_id, asked.journey_id, coalesce((
    SELECT held_out FROM journeys_draw known
    WHERE known.customer_id = asked.customer_id AND known.journey_id = asked.journey_id LIMIT 1
), CASE WHEN EXISTS (
    SELECT FROM journeys_enrollment past
    WHERE past.customer_id = asked.customer_id AND past.journey_id = asked.journey_id LIMIT 1
) THEN false END)
FROM {asked}
""",
    asked=Rows("asked", {"customer_id": "text", "journey_id": "text"}),
)


class Draws:
    """What is drawn about the customers of jobs; `fresh` are the draws that have to be kept.

    No statement if none of the journeys holds anybody out.
    """

    def __init__(self, jobs: Sequence[WaitingJob], journeys: Mapping[str, EnteredJourney]) -> None:
        holding_out = {journey.id for journey in journeys.values() if journey.hold_out is not None}
        asked = {(job.customer_id, job.journey_id) for job in jobs if job.journey_id in holding_out}
        rows = _KNOWN.rows(asked=sorted(asked)) if asked else []
        self._known: dict[tuple[str, str], bool] = {
            (customer, journey): held_out for customer, journey, held_out in rows if held_out is not None
        }
        self.fresh: list[Draw] = []

    def hold_out(self, job: WaitingJob, share: float) -> bool:
        """Whether the job's customer is among the share that its journey holds out, should they be let in otherwise."""
        drawn = self._known.get((job.customer_id, job.journey_id))
        return is_drawn(share, journey_id=job.journey_id, customer_id=job.customer_id) if drawn is None else drawn

    def note(self, job: WaitingJob, decision: Decision) -> None:
        """Of a job of a journey that holds out a share."""
        if decision.verdict not in (Verdict.ENROLLED, Verdict.HELD_OUT):
            return
        key = job.customer_id, job.journey_id
        if key not in self._known:
            self._known[key] = decision.verdict is Verdict.HELD_OUT
            self.fresh.append(Draw(job.workspace_id, *key, self._known[key]))


_KEEP = Statement(
    """
INSERT INTO journeys_draw (workspace_id, customer_id, journey_id, held_out)
SELECT * FROM {draws} ORDER BY customer_id, journey_id
ON CONFLICT (customer_id, journey_id) DO NOTHING
""",
    draws=Rows.like("fresh", Draw),
)


def keep_draws(draws: Sequence[Draw]) -> None:
    """Keeps them, within the transaction of the decisions; the customers are locked."""
    if draws:
        _KEEP.execute(draws=draws)
