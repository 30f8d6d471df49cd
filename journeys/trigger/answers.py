"""What a trigger call for many answers, whole or in pieces."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from engage.database.object_ids import ObjectId
from engage.json.compact import ascii_json
from engage.json.fields import LEFT_OUT, filled
from engage.json.keywords import Keywords
from engage.json.writing import written
from journeys.engine.entering.recipients import QueuedRecipients
from journeys.engine.entering.trigger import DUPLICATES, DuplicateEntrance, QueuedMany
from journeys.models.choices import ScheduledFor
from journeys.trigger.recipients import QueuedRecipientData, RefusedRecipient


@dataclass(frozen=True, kw_only=True)
class QueuedManyData:
    """Many customers, queued. `Prefer: return=minimal` leaves out `customerIds`, `jobIds` and `recipients`."""

    journey_id: Annotated[ObjectId, "The journey's id."]
    status: Literal["queued"] = "queued"
    queued: Literal[True] = True
    customers_enrolled: Annotated[
        int, "The number of customers queued; 0 if the call selects none.", Keywords(minimum=0)
    ]
    trigger_id: Annotated[ObjectId, "The id of this trigger. `GET …/triggers/{triggerId}` returns its progress."]
    note: Annotated[str, "States that a worker creates the enrollments after checking the entry rules."] = (
        "The enrollments are created by a worker after entry-rule validation."
    )
    scheduled_for: ScheduledFor = None
    customer_ids: Annotated[Sequence[ObjectId] | None, "The ids of the customers queued.", LEFT_OUT] = None
    job_ids: Annotated[Sequence[str] | None, "The ids of their jobs, in the same order.", LEFT_OUT] = None
    recipients: Annotated[
        Sequence[QueuedRecipientData] | None,
        "Which job is whose, of a call with `recipients`. Those who are not listed are refused, excluded or unknown.",
        LEFT_OUT,
    ] = None
    duplicates: Annotated[Sequence[DuplicateEntrance] | None, DUPLICATES, LEFT_OUT] = None
    refused: Annotated[
        Sequence[RefusedRecipient] | None, "The recipients that were refused, of a call with `recipients`.", LEFT_OUT
    ] = None

    @classmethod
    def of(cls, queued: QueuedMany) -> "QueuedManyData":
        """Without the two arrays."""
        trigger = queued.trigger
        return cls(
            journey_id=trigger.journey_id,
            customers_enrolled=trigger.customers,
            trigger_id=trigger.id,
            scheduled_for=queued.scheduled_for,
            duplicates=queued.duplicates,
        )

    @classmethod
    def of_recipients(
        cls, queued: QueuedRecipients, refused: Sequence[RefusedRecipient], *, listed: bool = True
    ) -> "QueuedManyData":
        jobs = queued.recipients
        duplicates = [
            DuplicateEntrance(entrance_id=one.entrance, customer_id=one.customer_id, job_id=one.job_id)
            for one in queued.duplicates
        ]
        return cls(
            journey_id=queued.journey_id,
            customers_enrolled=len({one.customer_id for one in jobs}),
            trigger_id=queued.trigger_id,
            customer_ids=[one.customer_id for one in jobs] if listed else None,
            job_ids=[one.job_id for one in jobs] if listed else None,
            recipients=[filled(QueuedRecipientData, one) for one in jobs] if listed else None,
            refused=refused,
            duplicates=duplicates,
        )

    @property
    def says(self) -> str:
        if self.customers_enrolled:
            return "The customers are queued for the journey."
        return "The call selected nobody: nothing is queued."


def pieces(queued: QueuedMany) -> Iterator[str]:
    """The whole answer in pieces: a million customers take no more memory than a thousand."""
    data = QueuedManyData.of(queued)
    envelope = {"success": True, "message": data.says, "data": written(data)}
    yield ascii_json(envelope)[:-2]  # without the braces that close `data` and the envelope
    yield from _array("customerIds", queued.pages_of_customer_ids())
    yield from _array("jobIds", queued.pages_of_job_ids())
    yield "}}"


def _array(name: str, pages: Iterable[list[str]]) -> Iterator[str]:
    yield f',"{name}":['
    for number, page in enumerate(pages):
        yield ("," if number else "") + ascii_json(page)[1:-1]
    yield "]"


def whole(data: QueuedManyData) -> Iterator[str]:
    yield ascii_json({"success": True, "message": data.says, "data": written(data)})
