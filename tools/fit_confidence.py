"""Fit the coefficients of `brain_daemon/recall/confidence.py` on the tuning collections.

``python -m tools.fit_confidence [DATA]`` asks every question of `bench/questions.py` of the real
engine, fits a logistic regression to the signals that it reports, and prints the lines to paste.
The figures are held out: a half of the conversations (of the questions, where a collection has no
conversations) is judged by what was fitted on the other half; the printed coefficients are fitted
on all. NumPy only; minutes.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.questions import ANSWERABLE, HELD_OUT, KINDS, UNTELLABLE, Asked, ask_all
from brain_daemon.recall.confidence import THRESHOLD, Signals

SETTINGS = (  # each counts the same, and in each answerable and other questions
    *("conversation", "domain", "tiny", "lower case", "cranfield", "scifact", "musique_kg"),
    *("keywords", "small", "vault"),
)
PENALTY = 1.0  # L2, of signals in units of their deviation and weights of 2,000 a setting

Floats = npt.NDArray[np.float64]


def main() -> None:
    """Ask, fit, print."""
    parser = argparse.ArgumentParser(prog="python -m tools.fit_confidence", description=__doc__)
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("data", type=Path, nargs="?", default=default)
    fit_and_print(list(ask_all(parser.parse_args().data)))


def fit_and_print(asked: Sequence[Asked]) -> None:
    """Fit on what was asked; nothing that was found at all is refused without an estimate."""
    x = np.array([_signals(one) for one in asked])
    y = np.array([one.kind == ANSWERABLE for one in asked])
    settings = np.array([one.setting for one in asked])
    kinds = np.array([one.kind for one in asked])
    fitted = np.isin(settings, SETTINGS) & ~np.isin(kinds, UNTELLABLE) & ~np.isnan(x[:, 0])
    half = _halves(asked)
    estimate = np.zeros(len(asked))
    for held_out in (0, 1):
        chosen = fitted & (half != held_out)
        coefficients = _fit(x[chosen], y[chosen], _weights(y, settings, chosen))
        estimate[half == held_out] = _predict(coefficients, x[half == held_out])
    final = _fit(x[fitted], y[fitted], _weights(y, settings, fitted))
    of_documents = np.char.startswith(settings, HELD_OUT)  # in neither half
    estimate[of_documents] = _predict(final, x[of_documents])
    complete = x[:, Signals._fields.index("coverage")] == 1.0  # never refused, see `confidence`
    answered = complete | (estimate >= THRESHOLD)
    print(f"INTERCEPT = {final[0]:.2f}\nCOEFFICIENTS = Signals(")
    for name, value in zip(Signals._fields, final[1:], strict=True):
        print(f"    {name}={value:.2f},")
    print(f")\n\nheld out: AUROC, and the share answered at {THRESHOLD}:")
    for setting in dict.fromkeys(settings.tolist()):
        shares = []
        for kind in KINDS:
            of = (settings == setting) & (kinds == kind)
            if of.any():
                shares.append(f"{kind} {answered[of].mean():.3f}")
        of = (settings == setting) & ~np.isin(kinds, UNTELLABLE)
        print(f"  {setting:25} {auroc(estimate[of], y[of]):.4f}  {', '.join(shares)}")


def auroc(estimate: Floats, positive: npt.NDArray[np.bool_]) -> float:
    """Probability that a positive is estimated above a negative; ties count half."""
    _, position = np.unique(estimate, return_inverse=True)
    counts = np.bincount(position)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[position]
    n = int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(positive) - n)))


def _signals(one: Asked) -> list[float]:
    signals = one.answer["assessment"]["signals"]
    return [float("nan")] * len(Signals._fields) if signals is None else list(signals.values())


def _halves(asked: Sequence[Asked]) -> npt.NDArray[np.int64]:
    conversations = sorted({one.group for one in asked if one.setting == "conversation"})
    return np.array(
        [
            conversations.index(one.group) % 2 if one.group in conversations else i % 2
            for i, one in enumerate(asked)
        ]
    )


def _weights(
    y: npt.NDArray[np.bool_], settings: npt.NDArray[np.str_], chosen: npt.NDArray[np.bool_]
) -> Floats:
    weights = np.zeros(len(y))
    for setting in SETTINGS:
        for answerable in (False, True):
            of = chosen & (settings == setting) & (y == answerable)
            weights[of] = 1000.0 / max(1, of.sum())
    return weights[chosen]


def _fit(x: Floats, y: npt.NDArray[np.bool_], weights: Floats) -> Floats:
    """Newton's method for L2-penalised logistic regression; the intercept is not penalised."""
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    a = np.column_stack([np.ones(len(x)), (x - mean) / deviation])
    penalty = np.full(a.shape[1], PENALTY)
    penalty[0] = 0.0
    coefficients = np.zeros(a.shape[1])
    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(-a @ coefficients))
        gradient = a.T @ (weights * (p - y)) + penalty * coefficients
        hessian = (a.T * (weights * p * (1.0 - p))) @ a + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        coefficients -= step
        if np.abs(step).max() < 1e-9:
            slopes = coefficients[1:] / deviation
            return np.append(coefficients[0] - slopes @ mean, slopes)
    raise RuntimeError("the fit did not converge")


def _predict(coefficients: Floats, x: Floats) -> Floats:
    p = 1.0 / (1.0 + np.exp(-(coefficients[0] + x @ coefficients[1:])))
    return np.nan_to_num(p, nan=0.0)


if __name__ == "__main__":
    main()
