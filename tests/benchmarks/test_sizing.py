"""What `make sizing` and `make latency` go by: moments, percentiles, processor time, and the pages with figures."""

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from statistics import mean
from typing import Any

import pytest

from tests.benchmarks.arrivals import arrivals, call_at, percentile
from tests.benchmarks.pages import latency_table, put, renewed
from tests.benchmarks.processor import Reading, seconds
from tests.support.trees import ROOT


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    known = {0.5: 50.0, 0.9: 90.0, 0.99: 99.0, 0.991: 100.0, 1.0: 100.0, 0.0: 1.0, 0.001: 1.0}
    assert {share: percentile(values, share) for share in known} == known


def test_of_few_values_a_high_percentile_is_the_largest() -> None:
    assert [percentile([3.0, 1.0], share) for share in (0.5, 0.51, 0.99)] == [1.0, 3.0, 3.0]
    with pytest.raises(ValueError, match="nothing to take a percentile of"):
        percentile([], 0.5)


def test_moments_are_known_beforehand_and_as_many_as_were_asked_for() -> None:
    moments = arrivals(per_second=200, seconds=50, seed="one")
    assert (
        moments == arrivals(per_second=200, seconds=50, seed="one") != arrivals(per_second=200, seconds=50, seed="two")
    )
    assert moments == sorted(moments)
    assert moments[0] >= 0
    assert moments[-1] < 50
    assert len(moments) == pytest.approx(10_000, rel=0.05)


def test_gaps_are_those_of_callers_who_know_nothing_of_each_other() -> None:
    moments = arrivals(per_second=100, seconds=100, seed="gaps")
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    average = mean(gaps)
    assert average == pytest.approx(0.01, rel=0.05)
    assert sum(gap > average for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.02)


class Slow:
    """Answers one call after the other, each after a tenth of a second."""

    def __enter__(self) -> str:
        program = (
            "import http.server, socketserver, time\n"
            "class One(http.server.BaseHTTPRequestHandler):\n"
            "    protocol_version = 'HTTP/1.1'\n"
            "    def do_POST(self):\n"
            "        said = self.rfile.read(int(self.headers['Content-Length']))\n"
            "        time.sleep(0.1)\n"
            "        self.send_response(202 if said != b'no' else 429)\n"
            '        body = b\'{"data": {"said": "%s"}}\' % said\n'
            "        self.send_header('Content-Length', str(len(body)))\n"
            "        self.send_header('Connection', 'close')\n"
            "        self.end_headers()\n"
            "        self.wfile.write(body)\n"
            "server = socketserver.TCPServer(('127.0.0.1', 0), One)\n"
            "print(server.server_address[1], flush=True)\n"
            "server.serve_forever()\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.process.stdout is not None
        return f"http://127.0.0.1:{int(self.process.stdout.readline())}/"

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_who_waits_behind_others_is_late_from_the_own_moment_on() -> None:
    with Slow() as url:
        answered = call_at([0.0, 0.01, 0.02], url=url, headers={}, body=str)
    assert [call.data["said"] for call in answered] == ["0", "1", "2"]
    assert [round(later.at - answered[0].at, 6) for later in answered] == [0.0, 0.01, 0.02]
    least = [0.1, 0.19, 0.28]
    assert all(call.seconds >= late for call, late in zip(answered, least, strict=True))


def test_a_refusal_is_no_figure() -> None:
    with Slow() as url, pytest.raises(ValueError, match="429"):
        call_at([0.0], url=url, headers={}, body=lambda _: "no")


def test_processor_time_is_of_children_too_also_of_those_that_have_ended() -> None:
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    before = seconds(os.getpid())
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert seconds(os.getpid()) - before > 0.4  # the kernel counts in ticks
    program = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        assert seconds(parent.pid) > 0.4
        parent.communicate(b"\n")


def test_what_nobodys_session_spent_is_divided_as_the_sessions_time_is() -> None:
    before = Reading(processes={"web": 1.0, "worker": 2.0}, postgresql=10.0, sessions={("web", 1): 1.0, ("", 9): 0.0})
    after = Reading(
        processes={"web": 4.0, "worker": 3.0},
        postgresql=20.0,
        sessions={("web", 1): 4.0, ("worker", 2): 1.0, ("", 9): 2.0},
    )
    spent = before.until(after)
    assert spent.by("web") == {"web": 3.0, "postgresql": pytest.approx(8 * 3 / 4)}
    assert spent.by("worker") == {"worker": 1.0, "postgresql": pytest.approx(8 * 1 / 4)}


# Pages ---------------------------------------------------------------------------------------------------------------


def test_the_pages_show_what_the_data_files_have() -> None:
    assert [page.name for page, text in renewed().items() if page.read_text() != text] == []


def test_a_place_is_filled_between_its_comments() -> None:
    page = "A\n<!-- one -->\nold\n<!-- /one -->\nB\n"
    assert put(page, "one", r"new \1") == "A\n<!-- one -->\nnew \\1\n<!-- /one -->\nB\n"
    with pytest.raises(ValueError, match="no place 'two'"):
        put(page, "two", "new")


def test_each_load_has_a_row_for_answers_decisions_and_webhooks() -> None:
    seen = {"p50": 1.4, "p90": 2.6, "p99": 1234.0}
    loads: list[dict[str, Any]] = [
        {"share": 0.1, "perSecond": 30.0, "milliseconds": dict.fromkeys(("answer", "decided", "webhook"), seen)}
    ]
    lines = latency_table({"loads": loads}).splitlines()
    assert [cell.strip() for cell in lines[3].split("|")[1:-1]] == ["10%", "30", "its decision", "1", "3", "1,234"]
    assert len(lines) == 5


# The measuring itself, with too little work to be of use --------------------------------------------------------------


@pytest.mark.mostly_waits(long=True)
@pytest.mark.parametrize(
    ("module", "option", "rows"),
    [
        ("sizing", "--brief", ("| trigger ", "| decision ", "| step ", "| webhook ", "| event ", "| job ", "| 2 ")),
        ("latency", "--seconds=1", ("| 10% ", "| 50% ", "| 80% ")),
    ],
)
def test_a_brief_measure_prints_all_figures(module: str, option: str, rows: tuple[str, ...]) -> None:
    if not shutil.which("wrk"):
        pytest.skip("wrk is not installed.")
    own = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", option]
    done = subprocess.run(command, cwd=ROOT, env=own, check=False, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    assert [row for row in rows if row not in done.stdout] == [], done.stdout
    assert "nan" not in done.stdout
