"""The timeline on a record's page: all that happened to it in one list, the latest first, by kind and time.

Each app says where its part comes from (`tell_on`), because an app may import the apps below it, never those above.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import Any

from django.db.models import Model
from django.http import HttpRequest

from engage.admin.parts.columns import may_view, moment
from engage.admin.parts.filters import time_of

SHOWN = 50


@dataclass(frozen=True, kw_only=True)
class Told:
    """One thing that happened: when, of which kind, what, in a line, and more of it in others."""

    at: datetime
    kind: str
    what: Any
    more: Sequence[Any] = ()
    opens: str = ""

    @property
    def when(self) -> Any:
        return moment(self.at)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked for: kinds (all of a source's if none is named), from and until when, and how many at most."""

    request: HttpRequest
    kinds: frozenset[str]
    since: datetime | None
    before: datetime | None
    most: int = SHOWN + 1

    def span(self, field: str) -> dict[str, datetime]:
        """The times as conditions on this field."""
        given = {f"{field}__gte": self.since, f"{field}__lt": self.before}
        return {name: time for name, time in given.items() if time is not None}


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a part comes from: `read` takes a record and what is asked for, and tells the latest.

    It is asked for staff who may view `model`, and if one of its `kinds` (the names of the filter) is wanted.
    """

    model: type[Model]
    kinds: tuple[str, ...]
    read: Callable[[Any, Asked], Iterable[Told]]


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A page of it, ready for the template. `older` is the time that the next one ends at; "": there is none."""

    told: Sequence[Told]
    kinds: Sequence[tuple[str, bool]]
    since: str
    before: str
    older: str


_sources: dict[type[Model], list[Source]] = defaultdict(list)


def tell_on(page: type[Model], *sources: Source) -> None:
    """Adds what these tell to the timeline of this model's records."""
    _sources[page] += sources


def timeline_of(record: Model, *, request: HttpRequest) -> Timeline | None:
    """What happened to the record as this member of staff may see it; None if nobody tells anything of such records."""
    sources = [source for source in _sources[type(record)] if may_view(source.model, request=request)]
    known = list(dict.fromkeys(kind for source in sources for kind in source.kinds))
    if not known:
        return None
    wanted = frozenset(request.GET.getlist("kind")) & frozenset(known)
    sent = {name: request.GET.get(name, "").strip() for name in ("since", "before")}
    asked = Asked(
        request=request, kinds=wanted or frozenset(known), since=time_of(sent["since"]), before=time_of(sent["before"])
    )
    streams = [sorted(_read(source, record, asked), key=attrgetter("at"), reverse=True) for source in sources]
    found = list(islice(heapq.merge(*streams, key=attrgetter("at"), reverse=True), asked.most))
    shown = found[:SHOWN]
    return Timeline(
        told=shown,
        kinds=[(kind, kind in wanted) for kind in known],
        since=_input(asked.since),
        before=_input(asked.before),
        older=shown[-1].at.isoformat() if len(found) > SHOWN else "",
    )


def _read(source: Source, record: Model, asked: Asked) -> list[Told]:
    if not asked.kinds & frozenset(source.kinds):
        return []
    return [told for told in source.read(record, asked) if told.kind in asked.kinds]


def _input(time: datetime | None) -> str:
    return time.strftime("%Y-%m-%dT%H:%M") if time else ""
