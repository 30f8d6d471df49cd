"""The calls about each kind of definition that says what they are (`CallTexts`, engage/resources/)."""

from collections.abc import Callable
from typing import Any

from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId
from engage.calls.queries import DryRun
from engage.json.fields import snake_case
from engage.resources.fields import KEY
from engage.resources.resource import CallTexts, Resource
from journeys.api.definitions.bodies import ConfirmedQuery, DefinitionDeleted, DefinitionRecord, PutDefinitionRecord
from journeys.api.definitions.calls import Calls
from journeys.seeding.kinds import KINDS


def path_id(kind: Resource[Any], texts: CallTexts) -> PathId:
    """How a path names one of them: by its id or its key, or by its name."""
    noun, by_key = kind.noun, kind.named_by == KEY
    return PathId(
        name=f"{noun}Id" if by_key else KEY,
        description=f"The {noun}'s id, or its key." if by_key else f"The {noun}'s {kind.named_by}.",
        example=texts.example_id if by_key else texts.example[KEY],
        missing=kind.missing,
    )


def define(kind: Resource[Any], texts: CallTexts) -> Calls:
    """Makes its three calls."""
    named = path_id(kind, texts)
    calls = Calls(
        kind=kind,
        path=f"{kind.section}/{{workspaceId}}/{{{named.name}}}",
        id=named,
        scope=kind.scope,
        of_all_journeys=kind.of_all_journeys,
        example_id=texts.example_id,
        item=texts.example,
    )
    query: Any = ConfirmedQuery if kind.confirmable else DryRun
    body: Any = kind.fields

    def put(asked: Any, **ids: str) -> Any:
        return calls.write(asked, ids[named.keyword], confirmed=getattr(asked.query, "confirm", False))

    def get(asked: Any, **ids: str) -> Any:
        return calls.read(asked, ids[named.keyword])

    def delete(asked: Any, **ids: str) -> Any:
        return calls.take_away(asked, ids[named.keyword])

    bodiless = Asked[None, None]
    put_call = calls.put(requests=texts.requests, changed=texts.changed, refuses=texts.refuses)
    put_call(_named(put, kind, texts.put, Asked[body, query], Answered[PutDefinitionRecord]))
    calls.get()(_named(get, kind, texts.get, bodiless, Answered[DefinitionRecord]))
    calls.delete(*texts.refuses_to_delete)(_named(delete, kind, texts.delete, bodiless, DefinitionDeleted))
    return calls


def _named(function: Callable[..., Any], kind: Resource[Any], says: str, asked: Any, answer: Any) -> Callable[..., Any]:
    """The function as a call is made from one: with a name, a docstring and annotations of its own."""
    function.__name__ = f"{function.__name__}_{snake_case(kind.noun)}"
    function.__doc__ = says
    function.__annotations__ = {"asked": asked, "return": answer}
    return function


OF = {kind.section: define(kind, kind.calls) for kind in KINDS if kind.calls is not None}
