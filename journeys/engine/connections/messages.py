"""Which in-app messages can be shown: the app above this one has them, and says so when it is loaded."""

from collections.abc import Callable, Collection

Named = tuple[str, str]  # a workspace's id and a message's key


class Messages:
    """`shown` gives those of the named messages that are active and have content, in one statement.

    `offered` gives the keys of a workspace's messages that can be shown, and the events that theirs may record.
    """

    offered: Callable[[str], tuple[Collection[str], Collection[str]]] = staticmethod(lambda _: ((), ()))
    shown: Callable[[Collection[Named]], Collection[Named]] = staticmethod(lambda _: frozenset())


MESSAGES = Messages()
