"""One evaluation from a folder to its report, and the verdict on the fusion."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from brain_daemon import __version__
from brain_daemon.errors import BadRequest
from brain_daemon.evaluation import measure, rankings
from brain_daemon.evaluation.collection import Collection, read
from brain_daemon.evaluation.grep import Grep
from brain_daemon.evaluation.loaded import LoadedCollection, loaded
from brain_daemon.evaluation.measure import DEPTH, PRIMARY, Figures

TOLERANCE = 0.01
_UNIMPORTANT = {"store", "socket", "log_level", "slow_call_ms"}


def evaluate(
    folder: Path,
    *,
    cutoffs: Sequence[int] = (5, 10, 20),
    limit_queries: int | None = None,
    kg: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Store a collection, ask all its questions in every way, and measure.

    Parameters
    ----------
    folder : Path
        See `collection`.
    cutoffs : sequence of int
        Of recall, 1 to 100.
    limit_queries : int, optional
    kg : bool
        Whether given relations and entities are stored too.
    say : callable
        Told what is being done.

    Returns
    -------
    dict
        ``collection``, counts, ``unknown`` (by file, what it speaks of and the folder lacks),
        ``not_asked`` (questions that ``recall`` does not take, with the reason; they count 0),
        ``settings`` that differ from the defaults, ``measures`` (names in
        order), ``rows`` (``name``, ``legs``, ``figures``) and ``verdict`` for each of the primary
        measures: ``fusion``, ``best_leg``, ``best``, ``margin``, ``holds``.

    Raises
    ------
    BadRequest, OSError
        The folder is no collection.
    """
    legs = {row.name: list(row.legs) for row in rankings.ROWS}
    collection = read(folder, kg=kg, limit_queries=limit_queries)
    say(f"storing {len(collection.documents):,} documents")
    with loaded(collection.documents) as engine:
        say(f"asking {len(collection.queries):,} questions")
        found, not_asked = _ask(engine, collection)
        figures = {
            name: measure.measure(collection.qrels, ranking, cutoffs)
            for name, ranking in found.items()
        }
        return {
            "collection": collection.name,
            "documents": len(collection.documents),
            "queries": len(collection.queries),
            "relations": collection.n_relations,
            "unknown": dict(collection.unknown),
            "not_asked": not_asked,
            **_engine(engine),
            "measures": measure.names(cutoffs),
            "rows": [
                {"name": name, "legs": legs.get(name, []), "figures": of_row}
                for name, of_row in figures.items()
            ],
            "verdict": {name: verdict(figures, name) for name in PRIMARY},
        }


def _ask(
    engine: LoadedCollection, collection: Collection
) -> tuple[dict[str, dict[str, list[str]]], dict[str, str]]:
    """By row and question, the documents found; and why questions were not taken."""
    grep = Grep(collection.documents)
    found: dict[str, dict[str, list[str]]] = {
        name: {} for name in ("grep", *(row.name for row in rankings.ROWS))
    }
    not_asked = {}
    for query in collection.queries:
        found["grep"][query.id] = grep.rank(query, DEPTH)
        try:
            ranked = rankings.rank(engine, query, DEPTH)
        except BadRequest as error:
            not_asked[query.id] = error.message
            continue
        for name, ranking in ranked.items():
            found[name][query.id] = ranking
    return found, not_asked


def _engine(engine: LoadedCollection) -> dict[str, Any]:
    settings = engine.memory.settings
    return {
        "chunks": engine.memory.snapshot.n_alive,
        "refused": engine.refused,
        "flagged": engine.flagged,
        "product": __version__,
        "model": engine.memory.model.name,
        "model_fingerprint": engine.memory.model.fingerprint,
        "settings": {
            name: settings[name]
            for name, source in settings.sources.items()
            if source != "default" and name not in _UNIMPORTANT
        },
    }


def verdict(figures: Mapping[str, Figures], name: str) -> dict[str, Any]:
    """Compare the full fusion with the best single leg, its ablated forms included."""
    single = [row.name for row in rankings.ROWS if len(row.legs) == 1]
    best_leg = max(single, key=lambda leg: figures[leg][name])
    fusion, best = figures[rankings.FULL.name][name], figures[best_leg][name]
    return {
        "fusion": fusion,
        "best_leg": best_leg,
        "best": best,
        "margin": fusion - best,
        "holds": fusion >= best - TOLERANCE,
    }
