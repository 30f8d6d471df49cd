"""The other machine of the chaos tests, where there can be one."""

import socket
import subprocess
import sys

import pytest

from tests.chaos.__main__ import what_can_run
from tests.chaos.machine import other_machine, what_is_missing

_CALLS_TWICE = """
import socket, sys
one = socket.create_connection((sys.argv[1], int(sys.argv[2])))
one.send(b"1")
input()
one.send(b"2")
two = socket.create_connection((sys.argv[1], int(sys.argv[2])))
two.send(b"3")
input()
"""


def test_packets_of_the_connections_that_it_has_are_lost_and_new_ones_pass() -> None:
    if missing := what_is_missing():
        pytest.skip(missing)
    with other_machine() as machine, socket.create_server((machine.here, 0)) as server:
        port = server.getsockname()[1]
        command = [*machine.command(sys.executable).split(), "-c", _CALLS_TWICE, machine.here, str(port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as caller:
            assert caller.stdin is not None
            one, _ = server.accept()
            assert one.recv(1) == b"1"
            assert machine.lose_connections(port) == 1
            caller.stdin.write(b"\n")
            caller.stdin.flush()
            two, _ = server.accept()
            assert two.recv(1) == b"3"
            one.settimeout(0.3)
            with pytest.raises(TimeoutError):
                one.recv(1)
            machine.mend()
            one.settimeout(10)
            assert one.recv(1) == b"2"
            one.close()
            two.close()


def test_what_cannot_run_here_is_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert what_can_run(["worker-killed", "connections-lost"]) == (["worker-killed"], False)
    assert capsys.readouterr().out == (
        "SKIPPED connections-lost: there can be no other machine here, because no ip and no nft is installed.\n"
    )
