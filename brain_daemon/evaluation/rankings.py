"""The rows of an evaluation: subsets of the real legs under the real fusion, and ablations.

A leg's list is the one that the fusion gets: made with feedback from the lexical leg, seeded by
its passages, the lexical one after its second pass. A document stands where the first of its
chunks stands, and copies of one text where the best of them does, as in an answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from brain_daemon.evaluation.collection import Query
from brain_daemon.evaluation.loaded import LoadedCollection
from brain_daemon.recall import fusion, operators, pipeline
from brain_daemon.recall.legs import LEGS
from brain_daemon.recall.query import decode_query
from brain_daemon.recall.tuning import TUNED, Tuning
from brain_daemon.timestamps import now_us


@dataclass(frozen=True, slots=True)
class Row:
    """One way to rank: which legs are fused, and with what numbers."""

    name: str
    legs: tuple[str, ...]
    tuning: Tuning = TUNED


FULL = Row("full fusion", LEGS)
NO_FEEDBACK = replace(TUNED, feedback_passages=0)
NO_FLOOR = replace(TUNED, lexical_floor=0.0)
NO_PASSAGE_SEEDS = replace(TUNED, passage_seeds=0)
NO_EXPANSION = replace(TUNED, expansion_passages=0)
PLAIN = Tuning(feedback_passages=0, lexical_floor=0.0, passage_seeds=0, expansion_passages=0)

ROWS: tuple[Row, ...] = (
    *(Row(leg, (leg,)) for leg in LEGS),
    Row("vector, no feedback", ("vector",), NO_FEEDBACK),
    Row("lexical, no expansion", ("lexical",), NO_EXPANSION),
    Row("lexical, plain BM25", ("lexical",), PLAIN),
    Row("graph, no passage seeds", ("graph",), NO_PASSAGE_SEEDS),
    *(Row(" + ".join(pair), pair) for pair in combinations(LEGS, 2)),
    FULL,
    Row("fusion, no feedback", LEGS, NO_FEEDBACK),
    Row("fusion, no floor", LEGS, NO_FLOOR),
    Row("fusion, no passage seeds", LEGS, NO_PASSAGE_SEEDS),
    Row("fusion, no expansion", LEGS, NO_EXPANSION),
    Row("fusion, none of the four", LEGS, PLAIN),
)


def rank(
    collection: LoadedCollection, query: Query, k: int, rows: Sequence[Row] = ROWS
) -> dict[str, list[str]]:
    """Rank the documents for one question in every way.

    Parameters
    ----------
    collection : LoadedCollection
    query : Query
    k : int
        Most documents of a ranking.
    rows : sequence of Row

    Returns
    -------
    dict
        By the row's name, ids of documents, best first, each once.

    Raises
    ------
    BadRequest
        It is no question that ``recall`` would take.
    """
    memory = collection.memory
    snapshot = memory.snapshot
    asked = decode_query({"q": query.text, "domain": query.domain})
    doc = operators.normalize(asked, memory.analyzer)
    visible = operators.restrict(
        doc.lex,
        snapshot.visible(collection.principal, doc.filters(), now_us()),
        snapshot,
        memory.reader(),
        memory.analyzer,
    )
    searched = {}
    for tuning in dict.fromkeys(row.tuning for row in rows):
        legs = pipeline.search(
            doc, snapshot, visible, memory.analyzer, memory.model, memory.settings, tuning
        )
        legs = pipeline.expand(
            doc,
            legs,
            pipeline.fuse(doc, legs),
            visible,
            snapshot,
            memory.reader(),
            memory.analyzer,
            memory.settings,
            tuning,
        )
        searched[tuning] = legs.by_name()
    rankings = {}
    for row in rows:
        of_row = {name: searched[row.tuning][name] for name in row.legs}
        n_listed = sum(len(leg.rows) for leg in of_row.values())
        fused = fusion.fuse(of_row, max(n_listed, 1))
        chunk_ids = [int(snapshot.rows.chunk_id[hit.row]) for hit in fused]
        rankings[row.name] = _documents(collection, chunk_ids)[:k]
    return rankings


def _documents(collection: LoadedCollection, chunk_ids: Sequence[int]) -> list[str]:
    hits: dict[int, list[str]] = {}
    for id_ in chunk_ids:
        hits.setdefault(collection.copies[id_], []).extend(collection.documents[id_])
    return list(dict.fromkeys(document for of_hit in hits.values() for document in of_hit))
