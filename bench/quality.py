"""How well confidence tells what a store can answer: AUROC and the risk–coverage curve.

``python -m bench.quality [DATA]`` asks the questions of `bench/questions.py` with the coefficients
as they are committed, prints what is answered and what is refused, and draws two curves into
``docs/confidence.png``. Coverage is the share of questions that are answered as the threshold
falls. The risk of an answer is to be none: for all questions, that the store cannot have the
answer; for answerable ones, that no relevant text is among the five hits.

Run by hand; needs matplotlib; takes minutes.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.questions import ANSWERABLE, KINDS, UNTELLABLE, Asked, ask_all
from brain_daemon.recall.confidence import THRESHOLD
from tools.fit_confidence import auroc

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "confidence.png"
DRAWN = ("conversation", "cranfield", "scifact", "musique_kg", "vault")

Floats = npt.NDArray[np.float64]


def main() -> None:
    """Ask twice, without and with the second look; print and draw."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("data", type=Path, nargs="?", default=default)
    parser.add_argument("--output", type=Path, default=PICTURE)
    options = parser.parse_args()
    asked = list(ask_all(options.data))
    print(table(asked))
    print("\nwith the second look before abstaining:")
    print(answered(list(ask_all(options.data, rescue=True))))
    draw(asked, options.output)
    print(f"drawn to {options.output}")


def risk_coverage(confidence: Floats, wrong: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Give the curve, the surest answers first.

    Returns
    -------
    coverage : ndarray of float64
        Share answered, ascending to 1; questions of equal confidence are answered together.
    risk : ndarray of float64
        Share of those answered that is wrong.
    """
    order = np.argsort(-confidence, kind="stable")
    last = np.flatnonzero(np.diff(confidence[order], append=-1.0) != 0)
    n_answered = last + 1
    return n_answered / len(wrong), np.cumsum(wrong[order])[last] / n_answered


def table(asked: Sequence[Asked]) -> str:
    """Give AUROC, what is answered of each kind, and hits and tiers of the answerable ones."""
    lines = []
    for setting in dict.fromkeys(one.setting for one in asked):
        of = [one for one in asked if one.setting == setting]
        told = [one for one in of if one.kind not in UNTELLABLE]
        estimate = np.array([_confidence(one) for one in told])
        area = auroc(estimate, np.array([one.kind == ANSWERABLE for one in told]))
        own = [one for one in of if one.kind == ANSWERABLE and _confidence(one) >= THRESHOLD]
        found = [_confidence(one) >= THRESHOLD for one in of if one.found]
        lines.append(
            f"{setting:13} AUROC {area:.4f}, "
            f"{'; '.join(f'{kind} {share:.3f} of {n}' for kind, share, n in _shares(of))}; "
            f"relevant in 5 where answered {np.mean([one.found for one in own]):.3f}, answered "
            f"where relevant in 5 {np.mean(found or [np.nan]):.3f}, tiers of "
            f"the first hit {_tiers(own)}, otherwise "
            f"{_tiers([one for one in told if one.kind != ANSWERABLE])}"
        )
    return "\n".join(lines)


def answered(asked: Sequence[Asked]) -> str:
    """Give what is answered of each kind, the second look included."""
    lines = []
    for setting in dict.fromkeys(one.setting for one in asked):
        shares = []
        for kind in KINDS:
            of = [one for one in asked if one.setting == setting and one.kind == kind]
            if of:
                decided = [one.answer["decision"] == "answered" for one in of]
                shares.append(f"{kind} {np.mean(decided):.3f}")
        lines.append(f"{setting:13} {'; '.join(shares)}")
    return "\n".join(lines)


def draw(asked: Sequence[Asked], output: Path) -> None:
    """Draw both curves, with a mark where the threshold stands."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), dpi=80)
    for setting in DRAWN:
        told = [one for one in asked if one.setting == setting and one.kind not in UNTELLABLE]
        own = [one for one in told if one.kind == ANSWERABLE]
        for axes, chosen, wrong in (
            (left, told, [one.kind != ANSWERABLE for one in told]),
            (right, own, [not one.found for one in own]),
        ):
            estimate = np.array([_confidence(one) for one in chosen])
            coverage, risk = risk_coverage(estimate, np.array(wrong))
            (line,) = axes.plot(coverage, risk, label=setting, linewidth=1.2)
            at = (estimate >= THRESHOLD).mean()
            axes.plot([at], [np.interp(at, coverage, risk)], "o", color=line.get_color())
    left.set_title("own, foreign and nonsense: not answerable")
    right.set_title("own: nothing relevant in five hits")
    for axes in (left, right):
        axes.set_xlabel("coverage: share answered")
        axes.set_ylabel("risk: share of the answers")
        axes.set_ylim(bottom=0.0)
        axes.grid(alpha=0.3)
    left.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(output, metadata={"Software": None})
    pyplot.close(figure)


def _confidence(one: Asked) -> float:
    return float(one.answer["assessment"]["confidence"])


def _shares(of: Sequence[Asked]) -> list[tuple[str, float, int]]:
    shares = []
    for kind in KINDS:
        found = [_confidence(one) >= THRESHOLD for one in of if one.kind == kind]
        if found:
            shares.append((kind, float(np.mean(found)), len(found)))
    return shares


def _tiers(of: Sequence[Asked]) -> str:
    first = [one.answer["hits"][0]["relevance"] for one in of if one.answer["hits"]]
    return "/".join(
        f"{np.mean([t == tier for t in first]):.2f}" for tier in ("high", "medium", "low")
    )


if __name__ == "__main__":
    main()
