"""Calls from 16 connections at once, made by wrk: a client that takes next to nothing from the server's processors."""

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = 16


@dataclass(frozen=True, kw_only=True)
class Load:
    """What wrk saw: `number` answers, of which `refused` were other than 2xx."""

    number: int
    per_second: float
    p50_ms: float
    p99_ms: float
    refused: int

    def all_accepted(self) -> "Load":
        """Itself; raises ValueError where an answer was no 2xx, because a refusal costs less than the work."""
        if self.refused:
            raise ValueError(f"{self.refused} answers were other than 2xx.")
        return self


def load(url: str, *, headers: Mapping[str, str], body: str, customers: int, seconds: int) -> Load:
    """POSTs the body again and again; `{n}` in it is the number of a customer, another one each time."""
    before, _, after = body.partition("{n}")
    lines = [
        "local n = math.floor(os.time() % 7919) * 104729",
        "request = function()",
        f"  n = (n + 7919) % {customers}",
        f"  return wrk.format(nil, nil, nil, [[{before}]] .. {'n' if '{n}' in body else '[[]]'} .. [[{after}]])",
        "end",
    ]
    return _seen(url, lines, headers=headers, seconds=seconds)


def load_of(url: str, *, headers: Mapping[str, str], bodies: Sequence[str], seconds: int) -> Load:
    """POSTs the bodies, each of them one line, in turn."""
    with tempfile.NamedTemporaryFile("w", suffix=".lines") as file:
        file.write("\n".join(bodies))
        file.flush()
        lines = [
            "local bodies, n = {}, 0",
            f"for line in io.lines([[{file.name}]]) do bodies[#bodies + 1] = line end",
            "request = function()",
            "  n = n % #bodies + 1",
            "  return wrk.format(nil, nil, nil, bodies[n])",
            "end",
        ]
        return _seen(url, lines, headers=headers, seconds=seconds)


def _seen(url: str, lines: Sequence[str], *, headers: Mapping[str, str], seconds: int) -> Load:
    """What wrk sees with these lines of Lua, which make its requests."""
    common = ['wrk.method = "POST"', *(f'wrk.headers["{name}"] = "{value}"' for name, value in headers.items())]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "load.lua"
        script.write_text("\n".join([*common, *lines]))
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(script), url]
        seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return Load(
        number=int(_find(r"(\d+) requests in", seen)),
        per_second=float(_find(r"Requests/sec:\s+([\d.]+)", seen)),
        p50_ms=_milliseconds(_find(r"\s50%\s+([\d.]+\w+)", seen)),
        p99_ms=_milliseconds(_find(r"\s99%\s+([\d.]+\w+)", seen)),
        refused=int(_find(r"Non-2xx or 3xx responses: (\d+)", seen, otherwise="0")),
    )


def _find(pattern: str, text: str, *, otherwise: str | None = None) -> str:
    found = re.search(pattern, text)
    if found:
        return found.group(1)
    if otherwise is None:
        raise ValueError(f"wrk did not print {pattern!r}:\n{text}")
    return otherwise


def _milliseconds(written: str) -> float:
    number, unit = float(written.rstrip("mus")), written.lstrip("0123456789.")
    return number * {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}[unit]
