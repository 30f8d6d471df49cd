"""What volumes need: disk, log and processors. Sums and products, without a database."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from config.sizing.figures import LOGGED, ROWS, WORK, Figures
from engage.notations.plurals import counted

BUSIEST_HOUR = 0.2  # the part of a day's work that comes in its busiest hour
BUSY = 0.5  # how much of a processor may be busy then: the rest is for bursts, vacuum and backups
_KILO = 1000


@dataclass(frozen=True, kw_only=True)
class Volumes:
    customers: int
    triggers: int  # customers entered per day
    steps: int  # of an enrollment, besides webhooks
    webhooks: int  # of an enrollment
    events: int  # per day, from the bridge
    days_kept: int

    @property
    def of_a_day(self) -> dict[str, int]:
        """How often each kind of work is done, or row written."""
        once = dict.fromkeys(("trigger", "decision", "job", "enrollment"), self.triggers)
        steps, webhooks = self.triggers * self.steps, self.triggers * self.webhooks
        return once | {"step": steps, "webhook": webhooks, "event": self.events}

    @property
    def kept(self) -> dict[str, int]:
        """How many rows of each kind there are in the end."""
        daily = self.of_a_day
        return {"customer": self.customers} | {kind: daily[kind] * self.days_kept for kind in ROWS if kind in daily}


@dataclass(frozen=True, kw_only=True)
class Needs:
    disk: dict[str, float]  # bytes after `days_kept`, by the kind of row
    stays_per_year: float  # bytes of completed enrollments, which are not pruned
    wal_per_day: float
    processes_seconds: float  # a day
    postgresql_seconds: float
    peak_per_second: float  # triggers in the busiest hour
    sets: int  # of the processes


def needs(volumes: Volumes, figures: Figures) -> Needs:
    daily = volumes.of_a_day
    peak = volumes.triggers * BUSIEST_HOUR / 3600
    return Needs(
        disk={kind: number * figures.bytes[kind] for kind, number in volumes.kept.items()},
        stays_per_year=volumes.triggers * 365 * figures.bytes["enrollment"],
        wal_per_day=sum(daily[kind] * figures.wal_bytes[kind] for kind in LOGGED),
        processes_seconds=sum(daily[work] * figures.processes_us(work) for work in WORK) / 1e6,
        postgresql_seconds=sum(daily[work] * figures.postgresql_us(work) for work in WORK) / 1e6,
        peak_per_second=peak,
        sets=max(1, math.ceil(peak / (figures.per_second["1"]["triggers"] * BUSY))),
    )


def cores(seconds_per_day: float) -> int:
    """How many are needed for the busiest hour; one at least."""
    return max(1, math.ceil(seconds_per_day * BUSIEST_HOUR / 3600 / BUSY))


def told(volumes: Volumes, figures: Figures) -> Iterator[str]:
    """Line by line."""
    need = needs(volumes, figures)
    yield (
        f"{counted(volumes.customers, 'customer')} and {counted(volumes.triggers, 'trigger')} a day, each with "
        f"{counted(volumes.steps, 'step')} and {counted(volumes.webhooks, 'webhook')}; "
        f"{counted(volumes.events, 'event')} of the bridge a day; all kept for {counted(volumes.days_kept, 'day')}:"
    )
    yield ""
    yield f"Disk        {size(sum(need.disk.values()))} of tables and indexes"
    for kind, number in volumes.kept.items():
        yield f"            {size(need.disk[kind]):>9}  {kind}: {number:,} of {figures.bytes[kind]:,.0f} bytes"
    yield f"            {size(need.stays_per_year):>9}  more each year, if all complete: such enrollments stay"
    yield f"Log         {size(need.wal_per_day)} of WAL a day, times the days that backups keep it"
    yield f"Processors  {_spent('processes', need.processes_seconds)}"
    yield f"            {_spent('PostgreSQL', need.postgresql_seconds)}"
    one = figures.per_second["1"]["triggers"]
    yield (
        f"Processes   {need.peak_per_second:,.1f} triggers a second in that hour: {counted(need.sets, 'set')} of the "
        f"Procfile's; one bore {one:,.0f} where it was measured"
    )
    yield ""
    yield f"The busiest hour has {BUSIEST_HOUR:.0%} of the day; cores are meant to be {BUSY:.0%} busy in it."
    yield f"Measured with version {figures.version} on {figures.date}: {figures.machine}."


def size(number: float) -> str:
    """In decimal units, as disks are sold."""
    if number < _KILO:
        return f"{number:,.0f} bytes"
    for unit in ("kB", "MB", "GB"):
        number /= _KILO
        if number < _KILO:
            return f"{number:,.1f} {unit}"
    return f"{number / _KILO:,.1f} TB"


def _spent(who: str, seconds: float) -> str:
    busiest = seconds * BUSIEST_HOUR
    return f"{who}: {seconds:,.0f} s a day, {busiest:,.0f} s in the busiest hour: {counted(cores(seconds), 'core')}"
