"""Every operation, through the real daemon's socket."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.client import Client
from brain_daemon.errors import BadRequest, BrainError, NotFound, TooLarge
from brain_daemon.store import connection
from tests.daemon_process import Daemon


def uris(answer: dict[str, Any]) -> list[str]:
    return [hit["uri"] for hit in answer["hits"]]


def test_memory_is_recallable_by_the_next_request(client: Client) -> None:
    for i in range(50):
        made = client.remember(text=f"The locker number of guest {i} is {i * 7919}")
        (hit,) = client.recall(q=str(i * 7919), k=1)["hits"]
        assert hit["document_id"] == made["document_id"]


def test_hit_carries_evidence_and_provenance(client: Client) -> None:
    client.ingest_markdown(
        uri="file:///notes/boiler.md",
        content="# Boiler\n\n## Service\n\nBled in October.\nPressure was 1.4 bar – naïve guess.\n",
        node_kind="note",
        lawful_basis="consent",
        region="pt",
        pii=True,
    )
    (hit,) = client.recall(q="naive pressure of the boiler", k=1)["hits"]
    assert hit["text"].endswith("Pressure was 1.4 bar – naïve guess.")
    assert hit["snippet"] in hit["text"]
    marked = [hit["snippet"].encode()[a:b].decode() for a, b in hit["highlights"]]
    assert {"Pressure", "naïve"} <= set(marked)
    assert hit["heading_path"] == ["Boiler", "Service"]
    assert hit["lines"][1] == 6
    assert hit["revision"] == 1
    assert hit["untrusted"] is True
    assert (hit["node_kind"], hit["lawful_basis"], hit["region"], hit["pii"]) == (
        "note", "consent", "pt", True,
    )  # fmt: skip
    provenance = hit["provenance"]
    assert provenance["lexical"]["rank"] == provenance["vector"]["rank"] == 1
    assert -1 <= provenance["vector"]["cosine"] <= 1
    assert provenance["lexical"]["bm25"] > 0
    assert {"naiv", "pressur"} <= set(provenance["lexical"]["terms"])
    ranks = [leg["rank"] for name in ("vector", "lexical", "graph") if (leg := provenance[name])]
    assert hit["score"] == pytest.approx(sum(1 / (60 + rank) for rank in ranks), abs=0)


def test_answers_name_the_legs_and_why_one_did_not_run(client: Client) -> None:
    empty = client.recall(q="anything")
    assert empty["decision"] == "empty_store"
    client.remember(text="Marta keeps the spare key", entities=["Marta"])
    answer = client.recall(q="Marta key")
    assert {leg: state["status"] for leg, state in answer["legs"].items()} == {
        "vector": "ran", "lexical": "ran", "graph": "ran",
    }  # fmt: skip
    off = client.recall(q="Marta key", graph=False)
    assert off["legs"]["graph"]["status"] == "skipped"
    assert "request" in off["legs"]["graph"]["reason"]
    assert all(hit["provenance"]["graph"] is None for hit in off["hits"])
    filtered = client.recall(q="Marta key", domain="elsewhere")
    assert (filtered["decision"], filtered["visible"], filtered["hits"]) == ("filtered_out", 0, [])


def test_graph_leg_is_switched_off_by_the_environment(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, BRAIN_RECALL_GRAPH_ENABLED="false").start()
    with daemon.client() as client:
        client.remember(text="Marta keeps the spare key", entities=["Marta"])
        leg = client.recall(q="Marta key")["legs"]["graph"]
    assert leg["status"] == "skipped"
    assert "configuration" in leg["reason"]
    assert daemon.stop() == 0


def test_graph_finds_what_shares_no_word_and_says_by_which_path(client: Client) -> None:
    client.remember(text="Quillon is stored in hall nine", entities=["Quillon", "Project Heron"])
    client.remember(
        text="Delivery slips again until spring", entities=["Project Heron"], uri="slip"
    )
    for i in range(20):
        client.remember(text=f"Canteen menu of week {i}: soup and bread")
    hits = client.recall(q="Quillon", k=20)["hits"]
    (hit,) = [hit for hit in hits if hit["uri"] == "slip"]
    assert hit["provenance"]["lexical"] is None
    path = [str(step).casefold() for step in hit["provenance"]["graph"]["path"]]
    assert any("project heron" in step for step in path)
    without = client.recall(q="Quillon", k=20, graph=False)["hits"]
    rank = [hit["uri"] for hit in hits].index("slip")
    rank_without = [*(hit["uri"] for hit in without), "slip"].index("slip")
    assert rank < rank_without


def test_stored_again_is_a_revision_and_old_words_are_gone(client: Client) -> None:
    first = client.remember(text="The gate code is kumquat", uri="gate")
    again = client.remember(text="The gate code is kumquat", uri="gate")
    assert (again["unchanged"], again["revision"]) == (True, 1)
    second = client.remember(text="The gate code is durian", uri="gate")
    assert second["id"] == first["id"]
    assert (second["revision"], second["created"]) == (2, False)
    assert second["removed_chunk_ids"] == first["chunk_ids"]
    (hit,) = client.recall(q="kumquat", graph=False, abstain=False)["hits"]
    assert hit["provenance"]["lexical"] is None
    assert client.recall(q="kumquat")["decision"] == "low_confidence"
    assert client.recall(q="durian")["hits"][0]["revision"] == 2
    assert client.call("health", deep=True)["reasons"] == []


def test_forget_by_id_document_and_uri(client: Client) -> None:
    made = [client.remember(text=f"Crate {name} is blue", uri=name) for name in ("a", "b", "c")]
    client.forget(id=made[0]["chunk_ids"][0])
    client.forget(document_id=made[1]["document_id"])
    client.forget(uri="c")
    answer = client.recall(q="Crate blue")
    assert answer["decision"] == "empty_store"
    for params in ({"uri": "c"}, {"id": made[0]["chunk_ids"][0]}, {"document_id": 10**12}):
        with pytest.raises(NotFound):
            client.forget(**params)
    for params in ({}, {"uri": "a", "id": 1}):
        with pytest.raises(BadRequest, match="exactly one"):
            client.forget(**params)
    assert client.call("health", deep=True)["reasons"] == []


def test_add_forget_add_the_same_text_again(client: Client) -> None:
    for _ in range(5):
        made = client.remember(text="Mind the low beam in the attic", uri="beam")
        assert made["created"]
        assert uris(client.recall(q="attic beam")) == ["beam"]
        client.forget(uri="beam")
        assert client.recall(q="attic beam")["hits"] == []


def test_get_and_multi_get(client: Client) -> None:
    made = client.remember(text="Tea is in the green tin", title="Tea", uri="tea")
    (chunk_id,) = made["chunk_ids"]
    chunk = client.get(id=chunk_id)
    assert (chunk["text"], chunk["title"], chunk["uri"]) == (
        "Tea is in the green tin",
        "Tea",
        "tea",
    )
    assert chunk["writer"]["uid"] == os.getuid()
    assert chunk["writer"]["pid"] == os.getpid()
    with pytest.raises(NotFound):
        client.get(id=10**9)
    many = client.multi_get(ids=[10**9, chunk_id, chunk_id])
    assert [c["id"] for c in many["chunks"]] == [chunk_id, chunk_id]
    assert many["missing"] == [10**9]


def test_expired_memories_are_not_seen(client: Client) -> None:
    made = client.remember(text="The pass phrase was hollyhock", expires_at="2020-01-01T00:00:00Z")
    assert client.recall(q="hollyhock")["decision"] == "filtered_out"
    assert uris(client.recall(q="hollyhock", include_decayed=True)) == [made["uri"]]


@pytest.mark.parametrize(
    ("value", "fits"),
    [("2026-05-01", True), ("2026-05-01T12:00:00", True), ("2026-05-01T12:00:00Z", True),
     ("2026-05-01T12:00:00+02:00", True), (1_777_000_000, True), ("0001-01-01", True),
     ("9999-12-31T23:59:59Z", True), ("2026-02-30", False), ("", False), ("soon", False),
     (True, False), (float("nan"), False), (1e300, False)],
)  # fmt: skip
def test_timestamps(client: Client, value: object, fits: bool) -> None:
    client.remember(text="anchor")
    for method, field, rest in (
        ("recall", "since", {"q": "anchor"}),
        ("recall", "until", {"q": "anchor"}),
        ("remember", "created_at", {"text": "stamped"}),
        ("remember", "expires_at", {"text": "due"}),
    ):
        if fits:
            client.call(method, **rest, **{field: value})
        else:
            with pytest.raises(BadRequest, match=f"^{field}"):
                client.call(method, **rest, **{field: value})


@pytest.mark.parametrize("k", [0, -1, 101, 4096, 4097, 10**9, "5", 2.5, True, None])
def test_unfit_k_is_refused_with_the_limits(client: Client, k: object) -> None:
    with pytest.raises(BadRequest, match="k"):
        client.call("recall", q="x", k=k)
    assert client.ping() == "pong"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("recall", {}), ("recall", {"q": 1}), ("recall", {"q": "x", "kk": 1}),
        ("recall", {"q": "x", "source": "dream"}), ("recall", {"q": "x", "graph": "no"}),
        ("remember", {}), ("remember", {"text": ""}), ("remember", {"text": "   \n"}),
        ("remember", {"text": "x", "source": "dream"}), ("remember", {"text": "x", "owner": "eve"}),
        ("remember", {"text": "x", "entities": ["", "a"]}),
        ("remember", {"text": "x", "relations": [{"subject": "a"}]}),
        ("ingest_markdown", {"content": "x"}), ("get", {"id": "1"}), ("get", {"id": 2**63}),
        ("multi_get", {"ids": list(range(5000))}), ("documents", {"limit": 0}),
    ],
)  # fmt: skip
def test_unfit_parameters_are_typed_errors(
    client: Client, method: str, params: dict[str, Any]
) -> None:
    with pytest.raises((BadRequest, NotFound)) as caught:
        client.call(method, **params)
    assert caught.value.message
    assert client.ping() == "pong"


def test_unknown_method_names_the_nearest(client: Client) -> None:
    with pytest.raises(NotFound, match="recall"):
        client.call("recal", q="x")


def test_identity_comes_from_the_kernel(client: Client) -> None:
    me = client.whoami()
    assert (me["uid"], me["gid"], me["pid"]) == (os.getuid(), os.getgid(), os.getpid())
    hello = client.hello(client="someone else")
    assert hello["principal"]["name"] == me["name"]
    assert {"recall", "remember", "forget", "export"} <= set(hello["capabilities"])


def test_stats_count_what_is_there(client: Client) -> None:
    client.remember(text="One about Marta", entities=["Marta"])
    client.ingest_markdown(uri="a.md", content="# A\n\ntext\n")
    stats = client.stats()
    assert (stats["documents"], stats["chunks"]) == (2, 2)
    assert stats["by_source"] == {"memory": 1, "markdown": 1}
    assert stats["entities"] >= 1
    assert stats["rss_bytes"] > 10**7
    assert stats["index"]["chunks"] == 2


def test_forgotten_words_leave_file_and_wal_after_compact(daemon: Daemon, client: Client) -> None:
    secret = "xanthophyllous"
    name = "Zebulonia Quix"
    for i in range(30):
        client.remember(text=f"Note {i} about gardening and tools")
    made = client.remember(
        text=f"The {secret} leaf is poisonous", title=f"{secret} title", entities=[name],
        uri=f"memo:{secret}",
    )  # fmt: skip

    def found() -> list[str]:
        words = (secret.encode(), name.encode(), name.lower().encode())
        files = [file for file in daemon.store.iterdir() if file.is_file()]
        return [file.name for file in files if any(w in file.read_bytes().lower() for w in words)]

    assert found()
    client.forget(document_id=made["document_id"])
    held = client.stats()
    sizes = client.call("compact")
    assert sizes["before_bytes"] == held["store_bytes"] + held["wal_bytes"]  # both hold memories
    assert 0 < sizes["after_bytes"] < sizes["before_bytes"]
    assert found() == []
    assert client.recall(q="gardening tools")["hits"]
    assert client.call("health", deep=True)["reasons"] == []


def test_backup_is_a_whole_store(daemon: Daemon, client: Client, tmp_path: Path) -> None:
    for i in range(20):
        client.remember(text=f"Backup subject {i}", uri=f"s{i}")
    made = client.call("backup", path=str(tmp_path / "copy.db"))
    assert made["chunks"] == 20
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(BrainError, match=r"copy\.db"):
        client.call("backup", path=str(tmp_path / "copy.db"))
    with pytest.raises(BadRequest, match="absolute"):
        client.call("backup", path="copy.db")
    before = client.recall(q="subject 7", k=20)
    restored = Daemon(tmp_path / "restored")
    restored.store.mkdir(parents=True, mode=0o700)
    (tmp_path / "copy.db").rename(restored.store / "brain.db")
    restored.start()
    with restored.client() as other:
        assert uris(other.recall(q="subject 7", k=20)) == uris(before)
    assert restored.stop() == 0


def strip(answer: dict[str, Any]) -> list[Any]:
    """What must be the same after a round trip: all but ids, times taken and who wrote it last."""
    sources = ("uri", "title", "heading_path", "source", "owner", "created_at")
    keys = ("uri", "title", "text", "snippet", "highlights", "heading_path", "lines", "score",
            "source", "domain", "owner", "access_scope", "node_kind", "pii", "created_at",
            "expires_at", "revision", "n_sources")  # fmt: skip
    return [
        [{key: hit[key] for key in keys}, hit["provenance"]["vector"], hit["provenance"]["lexical"],
         [[source[key] for key in sources] for source in hit["sources"]]]
        for hit in answer["hits"]
    ]  # fmt: skip


def test_export_import_round_trip_gives_identical_recall(
    daemon: Daemon, client: Client, tmp_path: Path
) -> None:
    client.ingest_markdown(
        uri="garden.md",
        content="---\ntags: [garden]\naliases: [plot]\n---\n# Garden\n\n[[grows::Quince]] here.\n\n"
        "## Tools\n\n```sh\nrake --fast\n```\n",
        source="vault",
    )
    client.remember(text="Quince jam keeps for a year", entities=["Quince"], thread="t", seq=1)
    client.remember(text="The second jar was opened", thread="t", seq=2, expires_at="2099-01-01")
    client.remember(text="Rakes rust outside", relations=[
        {"subject": "rake", "relation": "stored_in", "object": "shed"}])  # fmt: skip
    client.remember(text="The gate code is kumquat", uri="gate", domain="home", pii=True)
    client.remember(text="The gate code is durian", uri="gate", domain="home", pii=True)
    for i in range(150):  # more than a leg lists
        client.remember(text="The nightly run was green", uri=f"run {i}")
    made = client.remember(text="to be forgotten")
    client.forget(document_id=made["document_id"])
    file = tmp_path / "all.ndjson"
    daemon.cli("export", "--output", str(file))
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(records) == 155
    other = Daemon(tmp_path / "other").start()
    other.cli("import", str(file))
    with other.client() as twin:
        for q in ("Quince", "rake shed", "gate code", "when was the jar opened", "garden tools",
                  "green nightly run"):  # fmt: skip
            theirs, ours = twin.recall(q=q, k=20), client.recall(q=q, k=20)
            assert strip(theirs) == strip(ours), q
            assert [h["provenance"]["graph"] and h["provenance"]["graph"]["rank"]
                    for h in theirs["hits"]] == [
                h["provenance"]["graph"] and h["provenance"]["graph"]["rank"]
                for h in ours["hits"]]  # fmt: skip
        assert theirs["hits"][0]["n_sources"] == 150
        again = twin.call("import", records=records)
        assert again["unchanged"] == 155
    assert other.stop() == 0


def test_reindex_changes_no_answer(client: Client) -> None:
    for i in range(30):
        client.remember(text=f"Shelf {i} holds the {['red', 'blue', 'green'][i % 3]} folders")
    before = client.recall(q="green folders", k=30)
    assert client.call("reindex")["chunks"] == 30
    after = client.recall(q="green folders", k=30)
    assert strip(after) == strip(before)


def test_store_survives_a_restart(daemon: Daemon) -> None:
    with daemon.client() as client:
        client.remember(text="Olga plays the viola", entities=["Olga"])
        client.remember(text="Quartet night is on Thursday", entities=["Olga"])
        before = client.recall(q="Olga", k=5)
    assert daemon.stop() == 0
    daemon.start()
    with daemon.client() as client:
        assert strip(client.recall(q="Olga", k=5)) == strip(before)


def test_store_is_readable_with_any_sqlite(daemon: Daemon, client: Client) -> None:
    client.remember(text="Plain SQLite can read this")
    assert daemon.stop() == 0
    with sqlite3.connect(daemon.store / "brain.db") as conn:
        assert conn.execute("SELECT text FROM chunk").fetchone()[0] == "Plain SQLite can read this"
        found = conn.execute("SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH 'plain'")
        assert found.fetchall() == [(1,)]
    conn.close()


def test_newer_schema_is_refused_with_a_clear_message(daemon: Daemon) -> None:
    assert daemon.stop() == 0
    conn = connection.open_writer(daemon.store / "brain.db")
    conn.pragma("user_version", 999)
    conn.close()
    process = daemon.spawn(PIPE="1")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 78
    assert b"999" in errors
    assert b"upgrade" in errors


@pytest.mark.parametrize("text", ["🎉🎉", "   ", "\u200b", "ꙮ ꙮ ꙮ"])
def test_texts_without_direction(client: Client, text: str) -> None:
    """Zero vectors: as a memory and as a question they are never neighbours of anything."""
    client.remember(text="an ordinary memory about boats")
    try:
        client.remember(text=text, uri="odd")
    except BadRequest:
        assert not text.strip()
    for q in (text, "boats"):
        try:
            answer = client.recall(q=q)
        except BadRequest:
            assert not text.strip()
            continue
        for hit in answer["hits"]:
            vector = hit["provenance"]["vector"]
            assert vector is None or vector["cosine"] > 0


def test_largest_document_survives_export_and_import(daemon: Daemon, tmp_path: Path) -> None:
    with daemon.client(timeout_s=120) as client:
        limit = client.hello()["limits"]["max_text_bytes"]
        line = "## Part {i}\n\nNote {i} of Ana Silva on `mod_{i}::run`, 图书馆 #tag{i}.\n\n"
        parts = [line.format(i=i) for i in range(limit // 75)]
        content = "".join(parts)[: limit // 2]
        with pytest.raises(TooLarge, match="bytes, limit"):
            client.remember(text="x " * (limit // 2 + 1))
        with pytest.raises(TooLarge, match="chunks, limit"):
            client.ingest_markdown(content="# a\n\nb\n\n" * 20_000, uri="many.md")
        made = client.ingest_markdown(content="".join(parts[:8000]), uri="dense.md")
        assert len(made["chunk_ids"]) > 2000
        client.remember(text=content, uri="long")
        stats = client.stats()
    file = tmp_path / "all.ndjson"
    daemon.cli("export", "--output", str(file))
    other = Daemon(tmp_path / "other").start()
    other.cli("import", str(file))
    with other.client() as twin:
        for count in ("documents", "chunks", "entities", "mentions", "edges"):
            assert twin.stats()[count] == stats[count], count
    assert other.stop() == 0
