"""A collector of traces and a Sentry, both at the network's edge: one server that keeps what they are sent."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pytest_django import Settings

from engage.process import error_reports, tracing
from tests.support.receiver import Arrived, Receiver, running


class Told(NamedTuple):
    """What the server got; each question first sends what waits to be sent."""

    server: Receiver

    def spans(self) -> list["ToldSpan"]:
        """In the order in which they began."""
        found: list[Any] = []
        for body in self._bodies("/v1/traces"):
            for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                found += [span for of_scope in of_resource.scope_spans for span in of_scope.spans]
        return [_read(span) for span in sorted(found, key=lambda span: int(span.start_time_unix_nano))]

    def events(self) -> list[dict[str, Any]]:
        """Sentry's."""
        return [json.loads(body.splitlines()[2]) for body in self._bodies("/envelope/")]

    def all_text(self) -> str:
        return "\n".join(body.decode(errors="replace") for body in self._bodies(""))

    def _bodies(self, path: str) -> list[bytes]:
        tracing.send_last()
        error_reports.send_last()
        return [_body(one) for one in self.server.arrived if path in one.path]


class ToldSpan(NamedTuple):
    """A span as the collector got it; `ids` are its trace's and its own as a traceparent has them, as in its links."""

    name: str
    kind: int
    ids: str
    parent_id: str
    names: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    links: list[str]
    failed: bool
    seconds: float

    @property
    def trace(self) -> str:
        return self.ids.split("-")[0]

    @property
    def id(self) -> str:
        return self.ids.split("-")[1]


@contextmanager
def telling(settings: Settings) -> Iterator[Told]:
    """Traces and errors are sent, from this process, to a server of its own."""
    tracing.send_last()
    error_reports.send_last()
    with running() as server:
        tracing.destination.endpoint = server.url("/ok")
        settings.SENTRY_DSN = server.url("/ok/7").replace("//", "//a-key@")
        error_reports.load()
        told = Told(server)
        yield told
        told.spans()
        tracing.destination.endpoint = settings.SENTRY_DSN = ""


def _body(request: Arrived) -> bytes:
    return gzip.decompress(request.body) if request.headers.get("content-encoding") == "gzip" else request.body


def _read(span: Any) -> ToldSpan:
    return ToldSpan(
        name=span.name,
        kind=span.kind,
        ids=_ids(span),
        parent_id=span.parent_span_id.hex(),
        names=_names(span.attributes),
        events=[(event.name, _names(event.attributes)) for event in span.events],
        links=[_ids(link) for link in span.links],
        failed=span.status.code == span.status.STATUS_CODE_ERROR,
        seconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
    )


def _ids(of: Any) -> str:
    return f"{of.trace_id.hex()}-{of.span_id.hex()}"


def _names(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
