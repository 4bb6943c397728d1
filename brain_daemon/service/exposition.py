"""Figures as Prometheus reads them: the text format, version 0.0.4. Not here: which figures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from brain_daemon.service.metrics import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]


class Family(Struct, frozen=True):
    """One metric with all its samples.

    ``samples`` are (suffix of the name, labels, value), in the order in which they are written.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: list[tuple[str, Labels, float]] = field(default_factory=list)

    def set(self, value: float, **labels: str) -> "Family":
        """Add a sample."""
        self.samples.append(("", tuple(labels.items()), value))
        return self

    def each(self, label: str, values: Mapping[str, float]) -> "Family":
        """Add a sample for each entry, by its key."""
        for key, value in values.items():
            self.set(value, **{label: key})
        return self

    def spread(self, histogram: Histogram, scale: float = 1, **labels: str) -> "Family":
        """Add a histogram, its values divided by ``scale``."""
        pairs = tuple(labels.items())
        # Its thread goes on counting: what is written must be of one moment.
        counts, total = tuple(histogram.counts), histogram.total
        n_values = 0
        for bound, count in zip((*histogram.bounds, None), counts, strict=True):
            n_values += count
            upper = "+Inf" if bound is None else _number(bound / scale)
            self.samples.append(("_bucket", (*pairs, ("le", upper)), n_values))
        self.samples.append(("_sum", pairs, total / scale))
        self.samples.append(("_count", pairs, n_values))
        return self


def render(families: Sequence[Family]) -> str:
    """Write families down."""
    return "".join(line + "\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {family.name} {text}"
    yield f"# TYPE {family.name} {family.kind}"
    for suffix, labels, value in family.samples:
        pairs = ",".join(f'{name}="{_escape(text)}"' for name, text in labels)
        yield f"{family.name}{suffix}{f'{{{pairs}}}' if pairs else ''} {_number(value)}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
