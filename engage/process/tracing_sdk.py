"""OpenTelemetry's own packages, of the extra `otel`: imported only where traces are on (tracing.py).

Sampler, headers, timeout and queue are what its variables say, OTEL_TRACES_SAMPLER and others.
"""

import logging
import os
from random import getrandbits, random, randrange

from django.conf import settings
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span as RecordedSpan
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from engage.process.tracing import Kind, Names, Span

_LAST_MILLISECONDS = 3000  # for what is left when the process ends
_NO_CONTEXT = Context()
# A line for each batch that was given up, not for each try.
logging.getLogger("opentelemetry.exporter").setLevel(logging.ERROR)


def exporter(endpoint: str) -> OTLPSpanExporter:
    return OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")


def export_to(endpoint: str) -> "Exporting":
    """Begins a thread that sends what is recorded, in batches."""
    return Exporting(BatchSpanProcessor(exporter(endpoint)))


class Exporting:
    """Fulfils `tracing.Exported`."""

    def __init__(self, processor: BatchSpanProcessor) -> None:
        self._processor = processor
        named = {"service.version": settings.COMMIT or "unknown"}
        if "OTEL_SERVICE_NAME" not in os.environ:
            named["service.name"] = "engage"
        ids = RandomIdGenerator()
        provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False, id_generator=ids)
        provider.add_span_processor(processor)
        self._share = share = _share(provider.sampler)
        # What is not sampled costs a random number, and no more: the sampler is asked only for ids that it takes.
        bound = max(1, TraceIdRatioBased.get_bound_for_rate(share))
        ids.generate_trace_id = lambda: getrandbits(64) << 64 | randrange(bound)  # noqa: S311
        self._follows = _follows(provider.sampler)
        self._tracer = provider.get_tracer("engage")

    def span(self, name: str, *, parent: str | None, kind: Kind, since: int | None, linked: str | None) -> Span | None:
        """None if it is not sampled."""
        if parent is None:
            if random() >= self._share:  # noqa: S311 - no secret
                return None
        elif self._follows and not int(parent[-2:], 16) & 1:
            return None
        begun = self._tracer.start_span(
            name,
            context=set_span_in_context(NonRecordingSpan(_context(parent)), _NO_CONTEXT) if parent else _NO_CONTEXT,
            kind=SpanKind[kind.upper()],
            links=[Link(_context(linked))] if linked else None,
            start_time=since,
        )
        return _Recorded(begun) if begun.is_recording() else None

    def close(self) -> None:
        """Sends what is left. The public way would wait half a minute for a collector that is away."""
        self._processor._batch_processor.shutdown(timeout_millis=_LAST_MILLISECONDS)  # noqa: SLF001


def _share(sampler: Sampler) -> float:
    """How many of the traces that begin here are sampled, where that goes by their ids alone; 1 leaves it to it."""
    first = sampler._root if isinstance(sampler, ParentBased) else sampler  # noqa: SLF001
    return first.rate if isinstance(first, TraceIdRatioBased) else 1.0


def _follows(sampler: Sampler) -> bool:
    """Whether nothing is sampled whose parent is not."""
    return isinstance(sampler, ParentBased) and sampler._remote_parent_not_sampled is ALWAYS_OFF  # noqa: SLF001


class _Recorded(Span):
    def __init__(self, begun: RecordedSpan) -> None:
        self._begun = begun
        known = begun.get_span_context()
        self.traceparent = f"00-{known.trace_id:032x}-{known.span_id:016x}-{known.trace_flags:02x}"

    def note(self, names: Names, *, title: str | None = None, failed: bool = False) -> None:
        self._begun.set_attributes(_without_none(names))
        if title:
            self._begun.update_name(title)
        if failed:
            self._begun.set_status(StatusCode.ERROR)

    def add(self, event: str, names: Names) -> None:
        self._begun.add_event(event, _without_none(names))

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        if raised is not None:
            self.note({"error.type": raised.__qualname__}, failed=True)
        self._begun.end()


def _context(traceparent: str) -> SpanContext:
    _, trace, span, flags = traceparent.split("-")
    return SpanContext(int(trace, 16), int(span, 16), is_remote=True, trace_flags=TraceFlags(int(flags, 16)))


def _without_none(names: Names) -> dict[str, str | int | bool]:
    return {name: value for name, value in names.items() if value is not None}
