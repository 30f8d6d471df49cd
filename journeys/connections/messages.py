"""Which in-app messages can be shown: the app above this one has them, and says so when it is loaded."""

from collections.abc import Callable, Collection

Named = tuple[str, str]  # a workspace's id and a message's key


class Messages:
    """`shown` gives those of the named messages that are active and have content, in one statement."""

    shown: Callable[[Collection[Named]], Collection[Named]] = staticmethod(lambda _: frozenset())


MESSAGES = Messages()
