"""The socket that a server listens on, handed to the next version.

Two sockets on one address would do as well, but for who waits in the queue of the one that is closed: the kernel resets
their connections. So the next version asks for the very same socket, at a name in the network namespace that the
address is of. Who runs as another user is given none, and none is taken from them.
"""

import os
import socket
import struct
import sys
from contextlib import ExitStack, suppress
from ipaddress import ip_address

_SECONDS = 2.0  # for an answer; a server looks several times a second who asks
_PEER = struct.Struct("3i")  # process, user, group


class Handover:
    """Offers the socket `listener` to who asks."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._name = _name(listener)
        self._asked: socket.socket | None = None

    def look(self) -> None:
        """Hands it to all who have asked. While another server has the name, that one is asked: it is one socket."""
        if self._asked is None:
            self._asked = _bound(self._name)
        while self._asked is not None:
            try:
                who, _ = self._asked.accept()
            except OSError:
                return
            with who, suppress(OSError):
                if _is_of_the_same_user(who):
                    socket.send_fds(who, [b"\n"], [self._listener.fileno()])

    def end(self) -> None:
        self.look()
        if self._asked is not None:
            self._asked.close()


def listening(host: str, port: int) -> socket.socket:
    """The socket of the server that has this address, else a new one, on which nobody listens yet.

    Raises OSError where the address cannot be had. A server that hands over nothing, such as one of a version that did
    not, may have a socket of its own on it.
    """
    family = socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET  # noqa: PLR2004
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((host, port))
    handed = _handed(_name(listener))
    if handed is None:
        return listener
    listener.close()
    return handed


def _bound(name: str) -> socket.socket | None:
    if sys.platform != "linux":
        return None
    with suppress(OSError), ExitStack() as unless_bound:  # such as one of another server, or where there may be none
        asked = unless_bound.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        asked.bind(name)
        asked.listen()
        asked.setblocking(False)  # noqa: FBT003 - its only parameter
        unless_bound.pop_all()
        return asked
    return None


def _handed(name: str) -> socket.socket | None:
    if sys.platform != "linux":
        return None
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(_SECONDS)
        asking.connect(name)
        if not _is_of_the_same_user(asking):
            return None
        _, files, _, _ = socket.recv_fds(asking, 1, 1)
        if files:
            return socket.socket(fileno=files[0])
    return None


def _name(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"\0engage web {host} {port}"


def _is_of_the_same_user(peer: socket.socket) -> bool:
    _, user, _ = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return bool(user == os.getuid())
