"""A report as a PNG: the primary measures of each row, side by side (the ``eval`` extra)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from brain_daemon.evaluation.measure import PRIMARY
from brain_daemon.evaluation.rankings import FULL

_COLOURS = {"nDCG@10": "#33608c", "R@10": "#c08a3e"}
_HEIGHT_IN = 0.38  # of a row


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Draw horizontal bars, the rows from top to bottom as in the table.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    rows = report["rows"]
    figure = Figure(figsize=(8, 1.2 + _HEIGHT_IN * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    share = 0.8 / len(PRIMARY)
    for place, name in enumerate(PRIMARY):
        values = [row["figures"][name] for row in rows]
        heights = [position + place * share for position in range(len(rows))]
        bars = axes.barh(heights, values, share, label=name, color=_COLOURS[name])
        axes.bar_label(bars, fmt="%.3f", padding=2, fontsize=7)
    axes.set_yticks(
        [position + share * (len(PRIMARY) - 1) / 2 for position in range(len(rows))],
        [row["name"] for row in rows],
    )
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == FULL.name else "normal")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{report['collection']}: {report['queries']:,} questions", loc="left")
    axes.legend(loc="lower left", bbox_to_anchor=(0.7, 1.0), ncols=2, frameon=False)
    FigureCanvasAgg(figure).print_png(str(path))
