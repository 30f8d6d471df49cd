"""The tables of `make sizing` and `make latency`, and their places in the pages that show them."""

import json
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from config import ROOT
from config.sizing.figures import Figures, read_figures
from tests.benchmarks.figures import written_table

_FOLDER = ROOT / "docs" / "figures"
_PROCESSES = ("web", "worker", "bulk", "walk", "webhooks", "postgresql")
_FOLLOWS = {"answer": "its answer", "decided": "its decision", "webhook": "its first webhook"}


def cost_table(figures: Figures) -> str:
    """Microseconds of a processor, by who spends them, and bytes of log."""
    rows = [["for one", *(f"{name}, µs" for name in _PROCESSES), "log, bytes"]]
    for work, spent in figures.microseconds.items():
        spends = [f"{spent[name]:,.0f}" if name in spent else "" for name in _PROCESSES]
        rows.append([work, *spends, f"{figures.wal_bytes[work]:,.0f}" if figures.wal_bytes.get(work) else ""])
    return written_table(rows)


def byte_table(figures: Figures) -> str:
    rows = [[kind, f"{taken:,.0f}"] for kind, taken in figures.bytes.items()]
    return written_table([["one row of", "bytes with indexes"], *rows])


def rate_table(figures: Figures) -> str:
    rows = [[sets, *(f"{rate:,.0f}" for rate in seen.values())] for sets, seen in figures.per_second.items()]
    return written_table([["sets of processes", *(f"{what} /s" for what in figures.per_second["1"])], *rows])


def latency_table(report: Mapping[str, Any]) -> str:
    percentiles = list(report["loads"][0]["milliseconds"]["answer"])
    rows = [["load", "calls /s", "from a call to", *(f"{name}, ms" for name in percentiles)]]
    for load in report["loads"]:
        for what, named in _FOLLOWS.items():
            seen = load["milliseconds"][what]
            rows.append(
                [f"{load['share']:.0%}", f"{load['perSecond']:,.0f}", named, *(f"{seen[p]:,.0f}" for p in seen)]
            )
    return written_table(rows)


def borne(figures: Figures, report: Mapping[str, Any]) -> str:
    """Three sentences for the README."""
    one, half = figures.per_second["1"], report["loads"][1]
    answer, decided, webhook = (f"{half['milliseconds'][what]['p99']:,.0f} ms" for what in _FOLLOWS)
    cores, _, _ = figures.machine.partition(" (")
    triggers, large, calls = one["triggers"], one["customers of large calls"], half["perSecond"]
    said = (
        f"A machine of {cores}, with PostgreSQL, Redis, all processes and the load on it, bears {triggers:,.0f} "
        f"triggers a second, or decides {large:,.0f} customers of large calls a second. With {calls:,.0f} calls a "
        "second for a journey of one webhook, half of what it bears of these, 99 of 100 are answered within "
        f"{answer} and decided within {decided}, and their first webhook has left within {webhook}. "
        "[Sizing](docs/sizing.md) says what yours needs."
    )
    return textwrap.fill(said, 120, break_on_hyphens=False, break_long_words=False)


def latency_file(version: str) -> Path:
    return _FOLDER / f"latency-{version}.json"


def newest_latency() -> Mapping[str, Any]:
    reports = [json.loads(file.read_text()) for file in sorted(_FOLDER.glob("latency-*.json"))]
    newest: Mapping[str, Any] = max(reports, key=lambda report: str(report["date"]))
    return newest


def renewed() -> dict[Path, str]:
    """The pages with what the data files say."""
    figures, report = read_figures(), newest_latency()
    parts = {
        "docs/sizing.md": {
            "costs": _about(cost_table(figures), figures.version, figures.machine, figures.date),
            "bytes": byte_table(figures),
            "rates": rate_table(figures),
            "latency": _about(latency_table(report), report["version"], report["machine"], report["date"]),
        },
        "README.md": {"borne": borne(figures, report)},
    }
    pages = {}
    for name, places in parts.items():
        pages[ROOT / name] = (ROOT / name).read_text()
        for place, text in places.items():
            pages[ROOT / name] = put(pages[ROOT / name], place, text)
    return pages


def renew() -> None:
    for page, text in renewed().items():
        page.write_text(text)


def put(page: str, place: str, text: str) -> str:
    """The page with the text between the two comments that name the place. Raises ValueError where they are not."""
    found = re.compile(rf"(<!-- {place} -->\n).*?(<!-- /{place} -->)", re.DOTALL)
    if not found.search(page):
        raise ValueError(f"The page has no place {place!r}.")
    return found.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page)


def _about(table: str, version: str, machine: str, date: str) -> str:
    return f"{table}\n\nVersion {version}, {date}: {machine}."
