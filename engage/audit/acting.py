"""Who acts at this moment: a key, a member of staff, a command, or the service itself.

Calls and pages say how to find that out, and only an entry of the audit asks.
"""

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from engage.models import ActorKind, ApiKey


@dataclass(frozen=True, kw_only=True)
class Actor:
    """`id` is the id of a key or of an account, or a command's user; `name` is what it is called.

    `workspace_id` is that of a key.
    """

    kind: ActorKind
    id: str = ""
    name: str = ""
    address: str | None = None
    workspace_id: str | None = None

    @property
    def in_words(self) -> str:
        return f"{self.kind} {self.name}".strip()[:LONGEST_ACTOR]


LONGEST_ACTOR = 200
_SERVICE = Actor(kind=ActorKind.SERVICE)
_current: ContextVar[Callable[[], Actor] | None] = ContextVar("acting", default=None)


def current_actor() -> Actor:
    found = _current.get()
    return found() if found else _SERVICE


def set_actor(find: Callable[[], Actor] | None) -> None:
    """From here on, `find` tells who acts; None: the service itself."""
    _current.set(find)


@contextmanager
def acting(find: Callable[[], Actor]) -> Iterator[None]:
    """In the block, `find` tells who acts."""
    token = _current.set(find)
    try:
        yield
    finally:
        _current.reset(token)


def command(name: str) -> Callable[[], Actor]:
    """For `acting`: a command of manage.py, and who runs it."""
    return lambda: Actor(kind=ActorKind.COMMAND, id=_user_of_the_machine(), name=name)


def key_as_actor(key: ApiKey, address: str | None) -> Actor:
    return Actor(kind=ActorKind.KEY, id=key.id, name=key.name, address=address, workspace_id=key.workspace_id)


def _user_of_the_machine() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an id without a name, as in containers
        return ""


def by_key(key: ApiKey) -> str:
    """The actor of a call."""
    return f"key {key.name} ({key.prefix}…)"[:LONGEST_ACTOR]


def by_staff(username: str) -> str:
    """The actor of something that was done in the admin, or with a command."""
    return f"staff {username}"[:LONGEST_ACTOR]
