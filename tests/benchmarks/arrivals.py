"""Calls at moments that are fixed beforehand, so that waiting behind others counts as well; and percentiles."""

import asyncio
import json
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_HEAD_START = 0.2  # seconds


@dataclass(frozen=True, kw_only=True)
class Answered:
    """One call: when it was to be made, by the clock of the day, and the seconds from then until its answer."""

    at: float
    seconds: float
    data: Mapping[str, Any]


def arrivals(*, per_second: float, seconds: float, seed: str) -> list[float]:
    """Seconds from the start, as callers come who know nothing of each other."""
    chance, moments, moment = random.Random(seed), list[float](), 0.0
    while (moment := moment + chance.expovariate(per_second)) < seconds:
        moments.append(moment)
    return moments


def percentile(values: Sequence[float], share: float) -> float:
    """The least of the values that this share of them does not exceed. Raises ValueError where there are none."""
    if not values:
        raise ValueError("There is nothing to take a percentile of.")
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def call_at(
    moments: Sequence[float], *, url: str, headers: Mapping[str, str], body: Callable[[int], str]
) -> list[Answered]:
    """POSTs the n-th body at the n-th moment, whatever became of those before. Raises ValueError if one is refused."""
    return asyncio.run(_call_at(moments, url=url, headers=headers, body=body))


async def _call_at(
    moments: Sequence[float], *, url: str, headers: Mapping[str, str], body: Callable[[int], str]
) -> list[Answered]:
    to, idle = urlsplit(url), list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]()
    head = "".join(f"{name}: {value}\r\n" for name, value in {"Host": to.netloc, **headers}.items())
    began, begin = time.time() + _HEAD_START, time.perf_counter() + _HEAD_START

    async def one(number: int, moment: float) -> Answered:
        await asyncio.sleep(begin + moment - time.perf_counter())
        reader, writer = idle.pop() if idle else await asyncio.open_connection(to.hostname, to.port)
        sent = body(number).encode()
        writer.write(f"POST {to.path} HTTP/1.1\r\n{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        content = await reader.readexactly(length)
        seconds = time.perf_counter() - begin - moment
        if b"connection: close" in answer.lower():
            writer.close()
        else:
            idle.append((reader, writer))
        if not answer.startswith(b"HTTP/1.1 2"):
            raise ValueError(f"An answer was {answer.splitlines()[0].decode()}: {content[:300].decode()}")
        return Answered(at=began + moment, seconds=seconds, data=json.loads(content)["data"])

    try:
        return await asyncio.gather(*(one(number, moment) for number, moment in enumerate(moments)))
    finally:
        for _, writer in idle:
            writer.close()
