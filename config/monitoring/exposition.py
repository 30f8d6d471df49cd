"""Prometheus' text format, version 0.0.4."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One value; `suffix` makes it a part of a histogram."""

    value: float
    labels: Labels
    suffix: str = ""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A name with its samples."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str
    samples: Iterable[Sample]


def exposition(metrics: Iterable[Metric]) -> str:
    """The metrics in the text format, each with its help and its type."""
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.meaning}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for sample in metric.samples:
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
        yield f"{metric.name}{sample.suffix}{{{labels}}} {sample.value:.15g}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def histogram(*, labels: Labels, bounds: Iterable[float], counts: Iterable[int], total: float) -> Iterator[Sample]:
    """The samples of one histogram; `counts` are per bucket, one more than `bounds` for values beyond the last."""
    seen = 0
    for bound, count in zip([*bounds, float("inf")], counts, strict=True):
        seen += count
        le = "+Inf" if bound == float("inf") else f"{bound:g}"
        yield Sample(suffix="_bucket", labels={**labels, "le": le}, value=seen)
    yield Sample(suffix="_sum", labels=labels, value=total)
    yield Sample(suffix="_count", labels=labels, value=seen)
