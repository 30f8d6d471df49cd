"""The calls about each kind of definition that says what they are (`CallTexts`, engage/resources/)."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId
from engage.calls.queries import DryRun
from engage.json.fields import snake_case
from engage.resources.fields import KEY
from engage.resources.resource import CallTexts, Resource
from journeys.definitions.bodies import ConfirmedQuery, DefinitionDeleted, DefinitionRecord, PutDefinitionRecord
from journeys.definitions.calls import Calls

_PATCHED = """Change parts of a {noun}

    What is absent stays, and `null` takes away (RFC 7396): objects are merged into those that a GET answers, and all
    else, such as a list, takes the place of what is there. What comes of that is read and saved as a PUT of it would
    be. It is sent as `application/json` or `application/merge-patch+json`.
    """


def path_id(kind: Resource[Any], texts: CallTexts) -> PathId:
    """How a path names one of them: by its id or its key, or by its name."""
    noun, by_key = kind.noun, kind.named_by == KEY
    return PathId(
        name=f"{noun}Id" if by_key else KEY,
        description=f"The {noun}'s id, or its key." if by_key else f"The {noun}'s {kind.named_by}.",
        example=texts.example_id if by_key else texts.example[KEY],
        missing=kind.missing,
    )


def define(
    kind: Resource[Any], texts: CallTexts, *, named: PathId | None = None, query: type[DryRun] | None = None
) -> Calls:
    """Makes its four calls."""
    calls = Calls(kind=kind, texts=texts, id=named or path_id(kind, texts))
    body: Any = kind.fields
    asks: Any = query or (ConfirmedQuery if kind.confirmable else DryRun)
    asked = Asked[body, asks]

    def put(asked: Any, **ids: str) -> Any:
        return calls.write(asked, calls.named(ids))

    def get(asked: Any, **ids: str) -> Any:
        return calls.read(asked, calls.named(ids))

    def delete(asked: Any, **ids: str) -> Any:
        return calls.take_away(asked, calls.named(ids))

    calls.put()(_named(put, kind, texts.put, asked, Answered[PutDefinitionRecord]))
    calls.get()(_named(get, kind, texts.get, Asked[None, None], Answered[DefinitionRecord]))
    calls.delete()(_named(delete, kind, texts.delete, Asked[None, None], DefinitionDeleted))
    define_patch(calls, asked)
    return calls


def define_patch(calls: Calls, asked: Any) -> None:
    """Makes the call that changes parts of one, which asks as a PUT does."""

    def patch(asked: Any, **ids: str) -> Any:
        return calls.write(asked, calls.named(ids))

    says = _PATCHED.format(noun=calls.kind.noun.replace("_", " "))
    calls.patch()(_named(patch, calls.kind, says, asked, Answered[PutDefinitionRecord]))


def _named(function: Callable[..., Any], kind: Resource[Any], says: str, asked: Any, answer: Any) -> Callable[..., Any]:
    """The function as a call is made from one: with a name, a docstring and annotations of its own."""
    function.__name__ = f"{function.__name__}_{snake_case(kind.noun)}"
    function.__doc__ = says
    function.__annotations__ = {"asked": asked, "return": answer}
    return function


@cache
def calls_of(kind: Resource[Any]) -> Calls:
    """The calls of a kind that says what they are; made once."""
    assert kind.calls
    return define(kind, kind.calls)


def define_all(kinds: Iterable[Resource[Any]]) -> None:
    """Makes the calls of all that say what they are."""
    for kind in kinds:
        if kind.calls is not None:
            calls_of(kind)
