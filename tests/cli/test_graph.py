"""``graph``, ``link`` and ``unlink``: what is asked of the daemon and what is printed."""

import json
from typing import Any

from brain_daemon.cli import exits
from brain_daemon.errors import NotFound

Stand = Any

WORKS = {
    "subject": "Ana",
    "relation": "works_at",
    "object": "Ini\x1btech",
    "chunk_ids": [3, 4],
    "n_chunks": 5,
}
ENDS = {"subject": "Ana", "relation": "works_at", "object": "Initech"}


def test_relations_are_sentences_with_their_evidence(stand: Stand) -> None:
    answer = {
        "entity": {"name": "Ana", "kind": "span"},
        "relations": [WORKS],
        "n_relations": 1,
    }
    stand.answers["graph.relations"] = lambda params: answer
    assert stand.run("graph", "ana").stdout == (
        "Ana (span)\n  Ana — works_at — Ini\\x1btech  [chunk 3, 4 and 3 more]\n1 relation\n"
    )
    stand.run("graph", "ana", "--relation", "works_at", "--domain", "work")
    assert stand.params("graph.relations") == [
        {"name": "ana"},
        {"name": "ana", "relation": "works_at", "domain": "work"},
    ]
    assert json.loads(stand.run("graph", "ana", "--json").stdout) == answer


def test_a_walk_shows_the_way_to_each_entity(stand: Stand) -> None:
    reached = {"name": "Initech", "kind": "span", "depth": 1, "hops": [WORKS]}
    stand.answers["graph.traverse"] = lambda params: {
        "entity": {"name": "Ana", "kind": "span"},
        "reached": [reached],
        "visited": 2,
        "truncated": True,
    }
    result = stand.run("graph", "ana", "--depth", "2", "--kind", "span")
    assert stand.params("graph.traverse") == [{"name": "ana", "kind": "span", "depth": 2}]
    assert "  Initech\n    Ana — works_at — Ini" in result.stdout
    assert result.stdout.endswith("2 entities visited, and there are more\n")


def test_kind_without_depth_is_a_mistake(stand: Stand) -> None:
    assert stand.run("graph", "ana", "--kind", "span").exit_code == exits.USAGE
    assert not stand.params("graph.relations")


def test_an_unknown_entity_is_exit_code_1(stand: Stand) -> None:
    stand.answers["graph.relations"] = NotFound("there is no entity 'x'")
    assert stand.run("graph", "x").exit_code == exits.NEGATIVE


def test_link_and_unlink(stand: Stand) -> None:
    stand.answers["link"] = {"id": 7, "uri": "link:ana/works_at/initech", "chunk_ids": [9]}
    stand.answers["unlink"] = lambda params: {"document_ids": [7], "chunk_ids": [9]}
    linked = stand.run("link", *ENDS.values(), "--domain", "work", "--access-scope", "team")
    assert "remembered: document 7" in linked.stdout
    assert stand.params("link") == [{**ENDS, "domain": "work", "access_scope": "team"}]
    assert stand.run("unlink", *ENDS.values()).stdout == "unlinked: 7\n"
    stand.run("unlink", *ENDS.values(), "--domain", "work", "--json")
    assert stand.params("unlink") == [ENDS, {**ENDS, "domain": "work"}]
