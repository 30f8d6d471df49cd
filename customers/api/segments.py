"""The call about who is in a segment."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from customers.api.path_ids import SEGMENT_ID
from customers.audience.membership import MembersChanged, SegmentNotFound, change_members
from customers.identifier_rules import one_spelling_of_each
from customers.identity.locks import TooManyAtOnce
from engage.calls.asked import Asked
from engage.calls.call import Answered, post
from engage.errors import InvalidRequest, MissingParameter
from engage.json.fields import Items
from engage.json.reading import ArraySizeExceeded, AtLeastOne
from engage.scopes import Scope

_NOBODY = "Send at least one of add, remove: arrays of external ids."


@dataclass(frozen=True, kw_only=True)
class MembersBody:
    """External ids of customers to put into a segment or take out of it."""

    one_of: ClassVar = AtLeastOne(("add", "remove"), _NOBODY)

    add: Annotated[list[str] | None, "The external ids of the customers to add.", Items(most=1000)] = None
    remove: Annotated[list[str] | None, "The external ids of the customers to remove.", Items(most=1000)] = None


def _in_words(changed: MembersChanged) -> str:
    return f"{changed.added} added, {changed.removed} removed."


_CHANGED = MembersChanged(added=1, removed=1, unknown=["nobody"])


@post(
    path="customers/{workspaceId}/segments/{segmentId}/members",
    scope=Scope.SEGMENTS,
    policy="customers",
    tag="Customers",
    ids=[SEGMENT_ID],
    answer="The members were added and removed.",
    requests={"One in, one out": {"add": ["ada", "nobody"], "remove": ["bob"]}},
    examples={"One in, one out": Answered(data=_CHANGED, says=_in_words(_CHANGED))},
    refuses=[
        MissingParameter(_NOBODY),
        InvalidRequest("'ada' stands in both add and remove."),
        ArraySizeExceeded("add holds 1001 items; its maximum is 1000."),
        SegmentNotFound(),
        TooManyAtOnce(),
    ],
)
def change_segment_members(asked: Asked[MembersBody, None], segment_id: str) -> Answered[MembersChanged]:
    """Add or remove segment members

    Adds customers to a segment and removes others: send `add`, `remove` or both. External ids that no customer has are
    skipped and listed in the answer. If an id is in both lists, the call is refused and nothing is changed.
    """
    changed = change_members(
        workspace_id=asked.workspace_id,
        segment_id=segment_id,
        add=one_spelling_of_each(asked.body.add or []),
        remove=one_spelling_of_each(asked.body.remove or []),
    )
    return Answered(data=changed, says=_in_words(changed))
