"""What a process makes for itself is made once, by a forked child anew, and closed by whoever made it."""

import os

from engage.process.per_process import PerProcess


def test_a_forked_child_makes_its_own() -> None:
    closed, made = os.pipe()
    own = PerProcess(os.getpid, close=lambda pid: os.write(made, f"{pid} by {os.getpid()}\n".encode()))
    parent = own.get()
    assert own.get() is parent
    child = os.fork()
    if child == 0:
        own.get()
        own.close()
        own.close()
        os._exit(0)
    os.waitpid(child, 0)
    own.close()
    assert os.read(closed, 1000).decode().split("\n") == [f"{child} by {child}", f"{parent} by {parent}", ""]
    for end in (closed, made):
        os.close(end)
