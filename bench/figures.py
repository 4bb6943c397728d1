"""Summaries of samples. Not here: measuring, printing."""

from collections.abc import Sequence
from typing import Any


def percentile(ordered: Sequence[float], share: float) -> float:
    """Give the nearest-rank percentile of ascending values."""
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def summarize(samples: Sequence[float], unit: str, digits: int = 3) -> dict[str, Any]:
    """Give min, median, p50 (nearest rank), p95, mean and n of samples, rounded."""
    ordered = sorted(samples)
    n = len(ordered)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    figures = {
        "min": ordered[0],
        "median": middle,
        "p50": percentile(ordered, 0.50),
        "p95": percentile(ordered, 0.95),
        "mean": sum(ordered) / n,
    }
    return {"unit": unit, "n": n, **{name: round(value, digits) for name, value in figures.items()}}
