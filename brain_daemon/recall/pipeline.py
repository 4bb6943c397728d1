"""One recall: query, legs, fusion, evidence. A straight line over one snapshot."""

import logging
import time
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Protocol, TypeVar

import apsw
import numpy as np
from msgspec.structs import asdict, replace

from brain_daemon._ext import bm25, distance
from brain_daemon.embedding.model import StaticModel
from brain_daemon.index.snapshot import Snapshot
from brain_daemon.index.visibility import EVER, Visible
from brain_daemon.model import Principal
from brain_daemon.recall import (
    confidence,
    duplicates,
    evidence,
    expansion,
    fusion,
    graph,
    lexical,
    operators,
    provenance,
    rescue,
    vector,
)
from brain_daemon.recall.confidence import Assessment, Evidence
from brain_daemon.recall.duplicates import Group
from brain_daemon.recall.entities import EntityView
from brain_daemon.recall.expansion import NOTHING_FOUND, Expansion
from brain_daemon.recall.fusion import FusedHit
from brain_daemon.recall.graph import GraphRanking
from brain_daemon.recall.legs import LEGS, Judged, Legs
from brain_daemon.recall.query import QueryDoc
from brain_daemon.recall.ranking import Ranking
from brain_daemon.recall.tuning import TUNED, Tuning
from brain_daemon.store import chunks
from brain_daemon.text.analyzer import Analyzer
from brain_daemon.text.stopwords import STOP_WORDS
from brain_daemon.timestamps import now_us

log = logging.getLogger(__name__)
R = TypeVar("R", bound=Ranking)
FAILED = "it failed; the daemon's log has the reason"


class Settings(Protocol):
    """The settings by name, as in `config`: ``recall_*`` and ``graph_*`` are read."""

    def __getitem__(self, name: str) -> Any: ...


def recall(
    query: QueryDoc,
    principal: Principal,
    *,
    snapshot: Snapshot,
    conn: apsw.Connection,
    analyzer: Analyzer,
    model: StaticModel,
    settings: Settings,
    leg_ns: MutableMapping[str, int] | None = None,
) -> dict[str, Any]:
    """Answer a query.

    Parameters
    ----------
    query : QueryDoc
    principal : Principal
        Who asks; decides with the query's filters what is visible.
    snapshot : Snapshot
        What is scanned.
    conn : apsw.Connection
        A reader; only the final hits and the names on their paths are fetched.
    analyzer, model
        Those that the store was written with.
    settings : mapping by name
    leg_ns : mutable mapping, optional
        Is given how long each leg took, in nanoseconds, by its name.

    Returns
    -------
    dict
        ``decision`` ("answered", "low_confidence", "no_match", "leg_down", "filtered_out",
        "empty_store"),
        ``reason`` when it is not "answered", ``hits``, ``legs``, ``assessment``, ``visible``
        (rows that could be seen), ``took_us``.

    Raises
    ------
    BadRequest
        If a filter's time is none.
    """
    started = time.perf_counter_ns()
    now = now_us()
    snapshot = snapshot.seen_by(principal, now)
    visible = snapshot.visible(principal, query.filters(), now)
    answer: dict[str, Any] = {"decision": "answered", "hits": [], "legs": {}}
    answer["visible"] = visible.n_visible
    answer["assessment"] = confidence.NOTHING
    query = operators.normalize(query, analyzer)
    answer["lex"] = asdict(query.lex)
    answer["expansion"] = NOTHING_FOUND.report(snapshot)
    fitting = operators.restrict(query.lex, visible, snapshot, conn, analyzer)
    if not visible.n_visible:
        answer |= _nothing_visible(snapshot, principal, now)
        answer["legs"] = dict.fromkeys(LEGS, Ranking(skipped="no chunk is visible").report())
    elif not fitting.n_visible:
        answer |= {"decision": "no_match", "reason": operators.unmet(query.lex, visible.n_visible)}
        skipped = Ranking(skipped="no visible chunk meets lex")
        answer["legs"] = dict.fromkeys(LEGS, skipped.report())
    else:
        legs = search(query, snapshot, fitting, analyzer, model, settings, leg_ns=leg_ns)
        fused = fuse(query, legs)
        legs = expand(query, legs, fused, fitting, snapshot, conn, analyzer, settings)
        answer["expansion"] = legs.expansion.report(snapshot)
        if legs.expansion.fired:
            fused = fuse(query, legs)
        judged = judge(query, legs, fused, fitting, snapshot, analyzer)
        rescued: dict[str, Any] = {"status": "skipped", "reason": "not needed"}
        if judged is not None and query.abstain and not judged.assessment.answers:
            judged, rescued = _rescue(query, judged, fitting, snapshot, analyzer, settings)
        view = EntityView(snapshot, fitting.mask, conn)
        if judged is None:
            answer["decision"] = "no_match"
            answer["reason"] = (
                f"none of the {visible.n_visible} visible chunks has a word of the query, points "
                "its way, or is linked to it"
            )
        else:
            answer["assessment"] = judged.assessment.report() | {"rescue": rescued}
            if query.abstain and not judged.assessment.answers:
                answer["decision"] = "low_confidence"
                answer["reason"] = judged.assessment.why_not()
            elif judged.select(query):
                judged, groups = _group(query, judged, fitting, view, analyzer)
                if len(groups) < query.k and not judged.names_on_paths:
                    judged, groups = _beyond_copies(
                        query, judged, groups, fitting, view, analyzer, model, settings
                    )
                    answer["expansion"] = judged.legs.expansion.report(snapshot)
                groups = duplicates.complete(groups[: query.k], snapshot.rows, fitting.mask, conn)
                answer["hits"] = _hits(query, judged, groups, view, analyzer)
            else:
                answer["decision"] = "filtered_out"
                answer["reason"] = (
                    f"none of the {len(judged.fused)} hits is of relevance "
                    f"{query.min_relevance!r} or above"
                )
        legs = judged.legs if judged else legs
        if query.trace:
            answer["ranked"] = provenance.ranked(legs, snapshot)
        answer["legs"] = provenance.report_legs(legs, view)
        down = [name for name, leg in legs.by_name().items() if leg.failed]
        if down and not answer["hits"]:
            answer["reason"] = f"without the {' and the '.join(down)} leg: {answer['reason']}"
            answer["decision"] = "leg_down"
    answer["took_us"] = (time.perf_counter_ns() - started) // 1000
    return answer


def _nothing_visible(snapshot: Snapshot, principal: Principal, now: int) -> dict[str, str]:
    """Tell an empty store from filters that leave nothing, without telling of others' rows."""
    n_permitted = snapshot.visible(principal, EVER, now).n_visible
    if n_permitted:
        return {
            "decision": "filtered_out",
            "reason": f"the filters and expiry leave none of the {n_permitted} chunks that you "
            "may see",
        }
    return {"decision": "empty_store", "reason": "nothing is stored that you may see"}


def search(
    query: QueryDoc,
    snapshot: Snapshot,
    visible: Visible,
    analyzer: Analyzer,
    model: StaticModel,
    settings: Settings,
    tuning: Tuning = TUNED,
    leg_ns: MutableMapping[str, int] | None = None,
) -> Legs:
    """Run the legs; what `fuse` makes of them is the answer's ranking."""
    mask = visible.mask
    depth = max(settings["recall_leg_depth"], query.k)
    terms = analyzer.query(query.words)
    term_ids = snapshot.vocabulary.lookup(terms.joined)
    worded = _run(
        "lexical",
        Ranking,
        lambda: lexical.search(snapshot, term_ids, mask, depth=depth, floor=tuning.lexical_floor),
        leg_ns,
    )
    feedback = worded.rows[: tuning.feedback_passages]
    asked = np.zeros(model.dim, np.int8), 0.0
    lengths = (0.0,) * len(terms.terms)

    def look_around() -> Ranking:
        nonlocal asked, lengths
        lengths = tuple(map(model.length, terms.terms))
        embedding = model.embed(query.q)
        asked = distance.quantize_int8(embedding)
        if not asked[1]:
            return Ranking(skipped="the query has no known tokens")
        return vector.search(
            snapshot.vectors,
            *vector.add_feedback(embedding, snapshot.vectors, feedback),
            mask,
            depth=depth,
            exact_rows=settings["recall_exact_rows"],
            candidates=settings["recall_bit_candidates"],
        )

    near = _run("vector", Ranking, look_around, leg_ns)
    off = None
    if not query.graph:
        off = "disabled by request"
    elif not settings["recall_graph_enabled"]:
        off = "disabled by configuration"

    def walk() -> GraphRanking:
        stop_words = STOP_WORDS.get(analyzer.language, frozenset())
        hidden = mask if visible.n_visible < snapshot.n_alive else None
        entities = graph.link_entities(snapshot.graph, query.q, hidden, stop_words)
        if off is not None:  # names are names without the leg, too
            return GraphRanking(skipped=off, entities=tuple(entities))
        return graph.search(
            snapshot.graph,
            entities,
            (worded.rows if len(worded.rows) else near.rows)[: tuning.passage_seeds],
            mask,
            n_documents=snapshot.n_alive,
            depth=depth,
            damping=settings["graph_damping"],
            epsilon=settings["graph_epsilon"],
        )

    linked = _run("graph", GraphRanking, walk, leg_ns)
    return Legs(
        terms,
        term_ids,
        asked,
        near,
        worded,
        linked,
        feedback,
        linked.entities,
        lengths,
    )


def _run(
    name: str,
    kind: type[R],
    leg: Callable[[], R],
    leg_ns: MutableMapping[str, int] | None = None,
) -> R:
    """Run a leg; if it fails, the others answer without it, and the answer says so."""
    started = time.perf_counter_ns()
    try:
        return leg()
    except Exception:
        log.exception("the %s leg failed", name)
        return kind(skipped=FAILED, failed=True)
    finally:
        if leg_ns is not None:
            leg_ns[name] = time.perf_counter_ns() - started


def fuse(query: QueryDoc, legs: Legs, *, deep: bool = False) -> list[FusedHit]:
    """Fuse the legs, as far as a recall looks; ``deep``: all that they list."""
    by_name = legs.by_name()
    n_listed = sum(len(leg.rows) for leg in by_name.values())
    if not n_listed:
        return []
    deep = deep or query.min_relevance is not None  # what is filtered must not empty the first k
    n_hits = n_listed if deep else max(query.k + duplicates.SPARE, confidence.ASSESSED)
    return fusion.fuse(by_name, n_hits)


def judge(
    query: QueryDoc,
    legs: Legs,
    fused: list[FusedHit],
    visible: Visible,
    snapshot: Snapshot,
    analyzer: Analyzer,
    *,
    names_on_paths: bool = False,
) -> Judged | None:
    """Assess what leads; None when nothing was found.

    Parameters
    ----------
    fused : list of FusedHit
        Of the legs.
    names_on_paths : bool
        Whether the names on the way to a hit count as its words.
    """
    if not fused:
        return None
    rows = np.array([hit.row for hit in fused], np.int32)
    terms = legs.terms.terms
    present = np.zeros((len(rows), 0), np.bool_)
    if terms:
        present = bm25.term_frequencies(snapshot.postings, legs.term_ids, rows) > 0
    held = present
    if names_on_paths:
        held = rescue.add_names(
            present,
            fused,
            legs.graph,
            legs.linked,
            snapshot.graph,
            visible.mask,
            terms,
            analyzer,
        )
    cosines = distance.score_rows(
        snapshot.vectors.matrix,
        snapshot.vectors.scales,
        *legs.asked,
        rows,
    ).tolist()
    question = confidence.read_question(
        query.words,
        legs.terms,
        legs.term_ids,
        legs.lengths,
        legs.linked,
        snapshot=snapshot,
        n_visible=visible.n_visible,
        analyzer=analyzer,
    )
    weighed = Evidence.of(question, cosines, held, _bm25(legs, fused))
    assessment = Assessment.of(question, weighed)
    return Judged(legs, fused, present, cosines, assessment, names_on_paths)


def _bm25(legs: Legs, hits: Sequence[FusedHit]) -> list[float]:
    """Give the score that each hit has for the query's own words, 0 for what these did not list."""
    first = legs.expansion.first
    if first is None:
        scores = [0.0, *legs.lexical.scores.tolist()]
        return [scores[hit.ranks.get("lexical", 0)] for hit in hits]
    by_row = dict(zip(first.rows.tolist(), first.scores.tolist(), strict=True))
    return [by_row.get(hit.row, 0.0) for hit in hits]


def _rescue(
    query: QueryDoc,
    judged: Judged,
    visible: Visible,
    snapshot: Snapshot,
    analyzer: Analyzer,
    settings: Settings,
) -> tuple[Judged, dict[str, Any]]:
    """Look again with a wider walk; keep what it brings only if that is enough for an answer."""
    legs = judged.legs
    if legs.graph.skipped is not None:
        return judged, {"status": "skipped", "reason": legs.graph.skipped}
    walked = _run(
        "graph",
        GraphRanking,
        lambda: rescue.search(
            snapshot.graph,
            legs.linked,
            legs.lexical.rows if len(legs.lexical.rows) else legs.vector.rows,
            visible.mask,
            n_documents=snapshot.n_alive,
            depth=max(settings["recall_leg_depth"], query.k),
            epsilon=settings["graph_epsilon"],
        ),
    )
    legs = replace(legs, graph=walked)
    if walked.failed:
        return replace(judged, legs=legs), {
            "status": "failed",
            "reason": walked.skipped,
        }
    fused = fuse(query, legs)
    again = judge(query, legs, fused, visible, snapshot, analyzer, names_on_paths=True)
    if again is None:
        return judged, {"status": "ran", "confidence": 0.0}
    rescued = {"status": "ran", "confidence": again.assessment.confidence}
    return (again if again.assessment.answers else judged), rescued


def expand(
    query: QueryDoc,
    legs: Legs,
    fused: Sequence[FusedHit],
    visible: Visible,
    snapshot: Snapshot,
    conn: apsw.Connection,
    analyzer: Analyzer,
    settings: Settings,
    tuning: Tuning = TUNED,
) -> Legs:
    """Let the lexical leg search once more, where the gate opens."""
    if not query.expand:
        return replace(legs, expansion=Expansion("disabled by request"))
    if not tuning.expansion_passages:
        return replace(legs, expansion=Expansion("disabled by tuning"))
    try:
        expanded, second = expansion.expand(
            fused[: tuning.expansion_passages],
            legs.vector,
            legs.lexical,
            legs.terms.terms,
            legs.term_ids,
            legs.asked,
            snapshot=snapshot,
            conn=conn,
            analyzer=analyzer,
            visible=visible.mask,
            depth=max(settings["recall_leg_depth"], query.k),
            floor=tuning.lexical_floor,
        )
    except apsw.Error:
        raise  # what the store has is not for a leg to judge
    except Exception:
        log.exception("the expansion failed")
        return replace(legs, expansion=Expansion(FAILED))
    return replace(legs, lexical=second, expansion=expanded)


def _hits(
    query: QueryDoc,
    judged: Judged,
    groups: Sequence[Group],
    view: EntityView,
    analyzer: Analyzer,
) -> list[dict[str, Any]]:
    selected = [group.position for group in groups]
    wanted = analyzer.highlighter(frozenset(judged.legs.terms.terms))
    estimates = [judged.assessment.of_hit(i) for i in selected]
    told = provenance.of_hits(judged, selected, estimates, view) if query.provenance else None
    hits = []
    for position, (i, group) in enumerate(zip(selected, groups, strict=True)):
        chunk = group.chunks[0]
        record = evidence.chunk_record(chunk)
        record["sources"] = duplicates.sources(group.chunks)
        record["n_sources"] = group.n_copies
        present = wanted if judged.present[i].any() else None
        record["snippet"], record["highlights"] = evidence.excerpt(chunk.text, present)
        record["score"] = judged.fused[i].score
        record["relevance"] = confidence.relevance(estimates[position])
        if told is not None:
            record["provenance"] = told[position]
        hits.append(record)
    return hits


def _group(
    query: QueryDoc, judged: Judged, visible: Visible, view: EntityView, analyzer: Analyzer
) -> tuple[Judged, list[Group]]:
    """Join copies, and let others move up to where they stood: from all that the legs list."""
    selected = judged.select(query)
    groups = _grouped(judged, selected[: query.k], view)
    if len(groups) < query.k < len(selected):
        groups = _grouped(judged, selected, view)
    if len(groups) < query.k < len(selected) and query.min_relevance is None:
        whole = judge(
            query,
            judged.legs,
            fuse(query, judged.legs, deep=True),
            visible,
            view.snapshot,
            analyzer,
            names_on_paths=judged.names_on_paths,
        )
        judged = whole or judged
        groups = _grouped(judged, judged.select(query), view)
    return judged, groups


def _beyond_copies(
    query: QueryDoc,
    judged: Judged,
    groups: list[Group],
    visible: Visible,
    view: EntityView,
    analyzer: Analyzer,
    model: StaticModel,
    settings: Settings,
) -> tuple[Judged, list[Group]]:
    """Search again without all copies but the best, where they fill the list of a leg."""
    snapshot, depth = view.snapshot, max(settings["recall_leg_depth"], query.k)
    rows, mask = snapshot.rows, visible.mask
    for _ in range(duplicates.MAX_ROUNDS):
        is_full = any(len(leg.rows) >= depth for leg in judged.legs.by_name().values())
        copied = duplicates.visible_copies(groups, rows, mask, view.conn) if is_full else {}
        if len(groups) >= query.k or not any(len(of_hash) > 1 for of_hash in copied.values()):
            break
        mask = mask.copy()
        mask[np.concatenate(list(copied.values()))] = 0
        mask[[judged.fused[group.position].row for group in groups]] = 1
        rest = Visible(mask, visible.n_visible)
        legs = search(query, snapshot, rest, analyzer, model, settings)
        fused = fuse(query, legs)
        legs = expand(query, legs, fused, rest, snapshot, view.conn, analyzer, settings)
        again = judge(query, legs, fuse(query, legs, deep=True), rest, snapshot, analyzer)
        if again is None:
            break
        judged, groups = again, _grouped(again, again.select(query), view)
    return judged, groups


def _grouped(judged: Judged, selected: list[int], view: EntityView) -> list[Group]:
    rows = [judged.fused[i].row for i in selected]
    chunk_ids = view.snapshot.rows.chunk_id[rows].tolist()
    stored = {chunk.id: chunk for chunk in chunks.fetch(view.conn, chunk_ids)}
    # None: forgotten since the snapshot was taken.
    groups = duplicates.group([stored.get(chunk_id) for chunk_id in chunk_ids])
    return [replace(group, position=selected[group.position]) for group in groups]
