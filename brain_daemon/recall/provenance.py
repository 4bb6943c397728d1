"""How an answer came about: what each leg did, and where it had a hit."""

from collections.abc import Mapping
from typing import Any

from brain_daemon.index.snapshot import Snapshot
from brain_daemon.recall.entities import EntityView
from brain_daemon.recall.legs import Judged, Legs

PATH_START = "query"
TRACED = 50  # of each leg's list, in a trace


def report_legs(legs: Legs, view: EntityView) -> dict[str, Any]:
    """Tell what became of each leg."""
    report: dict[str, Any] = {name: leg.report() for name, leg in legs.by_name().items()}
    if legs.vector.skipped is None:
        report["vector"]["feedback"] = view.snapshot.rows.chunk_id[legs.feedback].tolist()
    if legs.lexical.skipped is None:
        report["lexical"]["terms"] = list(legs.terms.terms)
    if legs.graph.skipped is None:
        names = view.names(legs.graph.entities)
        report["graph"]["entities"] = [names[index] for index in legs.graph.entities]
    return report


def ranked(legs: Legs, snapshot: Snapshot) -> dict[str, list[tuple[int, float]]]:
    """Give the head of each leg's list: (chunk id, raw score), best first."""
    return {
        name: list(
            zip(
                snapshot.rows.chunk_id[leg.rows[:TRACED]].tolist(),
                leg.scores[:TRACED].tolist(),
                strict=True,
            )
        )
        for name, leg in legs.by_name().items()
    }


def of_hits(
    judged: Judged, selected: list[int], estimates: list[float], view: EntityView
) -> list[dict[str, Any]]:
    """Tell of hits where each leg had them, and with what scores."""
    legs = judged.legs
    fused = [judged.fused[i] for i in selected]
    paths = [
        legs.graph.path(hit.ranks["graph"] - 1) if "graph" in hit.ranks else [] for hit in fused
    ]
    on_paths = [node // 2 for path in paths for node in path if node % 2]
    names = view.names({*on_paths, *legs.graph.entities})  # those of the report in one look-up
    expanded = legs.expansion.evidence([hit.row for hit in fused], view.snapshot)
    result = []
    for i, hit, path, of_second_pass, estimate in zip(
        selected, fused, paths, expanded, estimates, strict=True
    ):
        ranks = hit.ranks
        of_hit: dict[str, Any] = {"vector": None, "lexical": None, "graph": None}
        if rank := ranks.get("vector"):
            score = float(legs.vector.scores[rank - 1])
            of_hit["vector"] = {"rank": rank, "cosine": score, "query_cosine": judged.cosines[i]}
        if rank := ranks.get("lexical"):
            score = float(legs.lexical.scores[rank - 1])
            held = zip(legs.terms.terms, judged.present[i].tolist(), strict=True)
            terms = [term for term, here in held if here]
            of_hit["lexical"] = {"rank": rank, "bm25": score, "terms": terms}
        if rank := ranks.get("graph"):
            of_hit["graph"] = {
                "rank": rank,
                "score": float(legs.graph.scores[rank - 1]),
                "path": [PATH_START, *_path_names(path, names, view)],
            }
        of_hit["fused"] = hit.score
        of_hit["expansion"] = of_second_pass
        of_hit["confidence"] = estimate
        result.append(of_hit)
    return result


def _path_names(path: list[int], entity_names: Mapping[int, str], view: EntityView) -> list[str]:
    """Names of the nodes on a path, and between two entities that of their relation."""
    names = []
    for position, node in enumerate(path):
        if not node % 2:
            names.append(f"chunk {view.snapshot.rows.chunk_id[node // 2]}")
            continue
        if position and path[position - 1] % 2:
            relation = view.relation_between(path[position - 1] // 2, node // 2)
            names += [relation] if relation else []
        names.append(entity_names[node // 2])
    return names
