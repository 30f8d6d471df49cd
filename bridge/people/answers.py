"""The answers about who somebody is."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from bridge.people.merging import Moved
from engage.database.object_ids import ObjectId

IDENTIFIED_MESSAGE = "Customer identified."
MERGED_MESSAGE = "Customers merged."
ONE_ALREADY_MESSAGE = "The two were one customer already."


class Identified(TypedDict):
    """The person is who the call says."""

    identified: Literal[True]
    added: Annotated[
        list[str],
        "Those of the call's identifiers that the person with this userId has now and had not before. Others are "
        "not taken: somebody else has them, the person has another one, or a server knows the person and no token "
        "covers them.",
    ]


class MovedNumbers(TypedDict):
    """How much of the anonymous customer has become the other one's."""

    events: int
    interactions: int
    attributes: Annotated[int, "The number of attributes that the other one lacked and has room for."]
    segments: Annotated[int, "The number of segments to which the other one did not belong."]
    jobs: int
    jobsCancelled: Annotated[int, "The number of queued jobs whose call had queued both, or excludes the other one."]
    enrollments: int
    enrollmentsExited: Annotated[int, "The number of enrollments that ended because the other one is in that journey."]


NOTHING_MOVED: MovedNumbers = dict.fromkeys(MovedNumbers.__annotations__, 0)  # type: ignore[assignment]


class CustomersMerged(TypedDict):
    """The result of a merge."""

    customerId: Annotated[ObjectId, "The id of the customer who remains."]
    merged: Annotated[bool, "False if the two were one customer already."]
    moved: MovedNumbers


def identified_answer(added: Sequence[str]) -> tuple[str, Identified]:
    """The message and the data that answer an identification."""
    return IDENTIFIED_MESSAGE, Identified(identified=True, added=list(added))


def merged_answer(customer_id: str, moved: Moved | None) -> tuple[str, CustomersMerged]:
    """The message and the data that answer a merge."""
    message = ONE_ALREADY_MESSAGE if moved is None else MERGED_MESSAGE
    return message, CustomersMerged(customerId=customer_id, merged=moved is not None, moved=_numbers(moved))


def _numbers(moved: Moved | None) -> MovedNumbers:
    if moved is None:
        return NOTHING_MOVED
    return MovedNumbers(
        events=moved.profile.events,
        interactions=moved.interactions,
        attributes=moved.profile.attributes,
        segments=moved.profile.segments,
        jobs=moved.journeys.jobs,
        jobsCancelled=moved.journeys.cancelled,
        enrollments=moved.journeys.enrollments,
        enrollmentsExited=moved.journeys.exited,
    )
