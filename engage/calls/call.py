"""A call of the API, defined once: its address, who may make it, what it takes, what it answers and how it refuses.

    @post(path="journeys/{workspaceId}/{journeyId}/hold", scope=Scope.DEFINITIONS, ids=[JOURNEY_ID], policy="steer", …)
    def hold_journey(asked: Asked[Reason, DryRun], journey: Journey) -> Steered:
        '''Hold a journey

        Nobody advances while …
        '''

The function's name is the operation's id, its docstring the summary and the description, and its annotations say which
typed objects the body, the query string and the answer are. Addresses, scopes, the OpenAPI document, and the tests'
matrices are made from `Call.all()`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from http import HTTPStatus
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Any, ClassVar, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from drf_spectacular.utils import OpenApiParameter

from engage.calls.asked import Asked
from engage.database.keys import is_key
from engage.errors import Refusal
from engage.http.long_answers import LongAnswer
from engage.json.fields import camel_case, snake_case, spellings
from engage.scopes import Scope

Function = TypeVar("Function", bound=Callable[..., Any])
Data = TypeVar("Data")


@dataclass(frozen=True, kw_only=True)
class PathId:
    """An id in a call's path, with one for examples. Functions take it by keyword, beside `workspace_id`.

    `missing` makes the refusal if nothing has the id. `find` finds what has it, which the call's function then takes as
    `finds` in place of the id. `journey_of` finds the id of the journey that it leads to (None: to none), for keys that
    are limited to certain journeys. `id_of_key` finds the id of what has this key, where a key may stand for the id.
    One that callers choose `may_hold_slashes`.
    """

    name: str
    description: str
    example: str
    missing: Callable[[str], Refusal] | None = None
    journey_of: Callable[..., str | None] | None = None
    find: Callable[..., Any] | None = None
    finds: str = ""
    id_of_key: Callable[..., str | None] | None = None
    may_hold_slashes: bool = False

    @property
    def keyword(self) -> str:
        return snake_case(self.name)

    def id_in(self, workspace_id: str, text: str) -> str:
        """The id that the text is or, as a key, stands for. A text that has the form of an id costs no statement."""
        if self.id_of_key is None or not is_key(text):
            return text
        return self.id_of_key(workspace_id=workspace_id, key=text) or text


WORKSPACE_ID = PathId(
    name="workspaceId",
    description="The workspace's id, or its key. Must be the workspace of the API key.",
    example="68a1f0c2e4b0a1d2c3e4f501",
)


@dataclass(frozen=True, kw_only=True)
class Answered(Generic[Data]):
    """An answer that differs from what its call usually says: in its message, status or headers.

    Where something was made whose address is not the call's own, it is `below` that, by this id.
    """

    data: Data
    says: str | None = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    below: str = ""


def as_answered(found: Any) -> Answered[Any]:
    """What a call's function returned, or one of its examples."""
    return found if isinstance(found, Answered) else Answered(data=found)


@dataclass(frozen=True, kw_only=True)
class Signature:
    """What a call's function is declared with. Body and query are None if the call takes none.

    A function that may write its answer itself says so: `-> CustomerExport | LongAnswer`.
    """

    body: type | None
    query: type | None
    answer: Any
    is_of_server: bool

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Signature":
        hints = get_type_hints(function, include_extras=True)
        asked, answer = hints["asked"], hints["return"]
        body, query = (None if part is NoneType else part for part in get_args(asked))
        if get_origin(answer) in {Union, UnionType}:
            (answer,) = (one for one in get_args(answer) if one not in get_args(LongAnswer))
        if get_origin(answer) is Answered:
            (answer,) = get_args(answer)
        return cls(body=body, query=query, answer=answer, is_of_server=get_origin(asked) is Asked)


@dataclass(eq=False, kw_only=True)
class Call:
    """See above. A call of a server needs `scope` (None: any key may make it) and is counted under `policy`.

    `ids` are those in the path behind the workspace's. If the last of them has a refusal for what is missing, a foreign
    workspace gets that as well, once the body is read; otherwise a foreign workspace is refused first.

    `says` is the message of a success, unless each answer has its own. `answer` tells in the document what it holds, by
    status if there are several; its component is called after what it holds, or `answer_name`. `parameters` are headers
    of its own, and `refuses` examples of the refusals of its own. With `once`, it takes an `Idempotency-Key`; with
    `optional_body`, no body at all is an empty one. `max_body_bytes` and `max_inflated_bytes` allow larger bodies than
    elsewhere. Its view inherits from `view`, which says what the call needs of its own (engage/http/views.py). Paths
    that are called `often` are matched before the others. A key that is for certain journeys only may make no call that
    is `of_all_journeys`.
    """

    method: str
    path: str
    scope: Scope | None
    policy: str
    tag: str
    says: str = ""
    answer: str | Mapping[int, str]
    answer_name: str | None = None
    ids: Sequence[PathId] = ()
    parameters: Sequence[OpenApiParameter] = ()
    requests: Mapping[str, Any] = field(default_factory=dict)
    examples: Mapping[str, Any] = field(default_factory=dict)
    refuses: Sequence[Refusal] = ()
    status: int = HTTPStatus.OK
    once: bool = False
    optional_body: bool = False
    max_body_bytes: int | None = None
    max_inflated_bytes: int | None = None
    view: type[Any] | None = None
    often: bool = False
    of_all_journeys: bool = False

    function: Callable[..., Any] = field(init=False)
    signature: Signature = field(init=False)
    _all: ClassVar[list["Call"]] = []

    @classmethod
    def all(cls) -> Sequence["Call"]:
        """Every call, in the order in which the modules were imported."""
        return tuple(cls._all)

    def __call__(self, function: Function) -> Function:
        self.function, self.signature = function, Signature.of(function)
        self._all.append(self)
        return function

    @cached_property
    def merges(self) -> bool:
        """Whether its body is a merge patch, which it takes as it was sent."""
        return self.method == "PATCH"

    @property
    def media_types(self) -> Sequence[str]:
        """What its body may be sent as."""
        return ["application/json", "application/merge-patch+json"] if self.merges else ["application/json"]

    @property
    def operation_id(self) -> str:
        return camel_case(self.function.__name__)

    @property
    def summary(self) -> str:
        return cleandoc(self.function.__doc__ or "").partition("\n")[0]

    @property
    def description(self) -> str:
        return cleandoc(self.function.__doc__ or "").partition("\n")[2].strip()

    @cached_property
    def is_of_workspace(self) -> bool:
        """Whether the path names a workspace."""
        return "{workspaceId}" in self.path

    @cached_property
    def missing(self) -> Callable[[str], Refusal] | None:
        """Makes the refusal for what the path names."""
        return self.names.missing if self.names else None

    @cached_property
    def names(self) -> PathId | None:
        """The id of what the path names: the last one that something has or has not."""
        return next((one for one in reversed(self.ids) if one.missing), None)

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """What may stand in the query string. An app's id may do so in every call of an SDK."""
        own = spellings(self.signature.query) if self.signature.query else []
        return tuple(dict.fromkeys(own if self.signature.is_of_server else [*own, "app"]))

    @property
    def answers(self) -> Mapping[int, str]:
        """What each successful answer holds, by status."""
        return {self.status: self.answer} if isinstance(self.answer, str) else self.answer

    def answered_examples(self) -> list[tuple[str, "Answered[Any]"]]:
        """The examples of answers, by title."""
        return [(title, as_answered(found)) for title, found in self.examples.items()]

    def ids_in(self, workspace_id: str, path: Mapping[str, str]) -> dict[str, str]:
        """The ids in the path: a key that the workspace knows is replaced by its id, and all else is as it was sent."""
        return {**path, **{known.keyword: known.id_in(workspace_id, path[known.keyword]) for known in self.ids}}

    def journey_of(self, workspace_id: str, ids: Mapping[str, str]) -> str | None:
        """The id of the journey that the call is about, by the ids of its path; None: it is about none."""
        for known in self.ids:
            if known.journey_of:
                return known.journey_of(workspace_id=workspace_id, **{known.keyword: ids[known.keyword]})
        return None

    def found(self, workspace_id: str, ids: Mapping[str, str]) -> dict[str, Any]:
        """What the function takes beside `asked`: the ids, or what was found by them. Raises their refusals."""
        return dict(self._found(known, workspace_id, ids[known.keyword]) for known in self.ids)

    @staticmethod
    def _found(known: PathId, workspace_id: str, value: str) -> tuple[str, Any]:
        if known.find is None:
            return known.keyword, value
        return known.finds, known.find(workspace_id=workspace_id, **{known.keyword: value})


get, put, patch, post, delete = (partial(Call, method=one) for one in ("GET", "PUT", "PATCH", "POST", "DELETE"))
