"""Traces: one from a call over its decision and walk to the receiver of its webhook, as OpenTelemetry's spans.

1. Off without OTEL_EXPORTER_OTLP_ENDPOINT, and in commands: then each place costs a look at one attribute.
2. What leads from process to process is the `traceparent` that a trigger keeps anyway (request_log.py). With a span for
   the call, it is that span's; a call that is not sampled keeps what its caller sent, mostly nothing.
3. What was done for several at once has a span in the trace of each that is traced, with a link to the first.
4. A trace has at most 200 spans of a process: a call for many would bury the collector, and who reads it.

Spans carry what the log may: ids, routes, hosts, results; of an exception its type. Nothing that people are or send.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Literal, NamedTuple, Protocol, Self

from django.conf import settings

from engage.process.per_process import PerProcess

Kind = Literal["server", "client", "internal"]  # of a call that came, of one that is made, of neither
Names = Mapping[str, str | int | bool | None]
_SDK = "engage.process.tracing_sdk"  # which needs the extra `otel`
_MOST_OF_A_TRACE = 200
_MOST_TRACES = 1000  # of which it is known how many spans they have
_counted: dict[str, int] = {}


class Span:
    """Of work that is not traced. `traceparent` is what those get whose work goes back to it."""

    traceparent: str | None = None

    def note(self, names: Names, *, title: str | None = None, failed: bool = False) -> None:
        """Adds attributes; a `title` in place of the name that it has."""

    def add(self, event: str, names: Names) -> None:
        """Adds something that happened meanwhile."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        """Ends it."""


UNTRACED = Span()


class Work(NamedTuple):
    """What was done for one call: its traceparent, the attributes, and what happened meanwhile."""

    parent: str | None
    names: Names
    events: Sequence[tuple[str, Names]] = ()
    failed: bool = False


class Exported(Protocol):
    """The spans of a process, as tracing_sdk.py sends them. None instead of a span if it is not sampled."""

    def span(
        self, name: str, *, parent: str | None, kind: Kind, since: int | None, linked: str | None
    ) -> Span | None: ...
    def close(self) -> None: ...


class _Destination:
    """Where spans are sent; "" for nowhere. Asked a hundred times as fast as a setting of Django's."""

    endpoint: str = ""


destination = _Destination()


def _make() -> Exported:
    made: Exported = import_module(_SDK).export_to(destination.endpoint)
    return made


_exported = PerProcess(_make, close=lambda made: made.close())
send_last = _exported.close


def load() -> None:
    """Turns traces on, if they are to be. At the start, because it imports much; no thread begins yet.

    Raises what is wrong with the variables of OpenTelemetry.
    """
    destination.endpoint = settings.TRACES_ENDPOINT
    if destination.endpoint:
        import_module(_SDK).exporter(destination.endpoint)


def span(
    name: str,
    *,
    parent: str | None,
    kind: Kind = "internal",
    begins: bool = False,
    since: int | None = None,
    linked: str | None = None,
) -> Span:
    """Of the work of a `with` block, `since` now or a time in nanoseconds; its parent and a link are traceparents.

    Work without a parent that is sampled is not traced, unless a trace `begins` here, as the sampler will have it.
    """
    if not destination.endpoint:
        return UNTRACED
    if not begins and (parent is None or not int(parent[-2:], 16) & 1 or _has_enough(parent)):
        return UNTRACED
    return _exported.get().span(name, parent=parent, kind=kind, since=since, linked=linked) or UNTRACED


def record(name: str, works: Iterable[Work], *, since: int) -> None:
    """Spans of what was done together `since` then (in nanoseconds) and until now."""
    if not destination.endpoint:
        return
    first: str | None = None
    for work in works:
        with span(name, parent=work.parent, since=since, linked=first) as one:
            one.note(work.names, failed=work.failed)
            for event, names in work.events:
                one.add(event, names)
        first = first or one.traceparent


def _has_enough(parent: str) -> bool:
    """Counts a span of the parent's trace; two threads at once may count one."""
    trace = parent[3:35]
    if trace not in _counted and len(_counted) >= _MOST_TRACES:
        _counted.clear()
    _counted[trace] = number = _counted.get(trace, 0) + 1
    return number > _MOST_OF_A_TRACE
