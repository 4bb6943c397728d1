"""FTS5 is the oracle of the lexical leg: the same scores and order on the same store."""

import random

import numpy as np
import pytest

from brain_daemon.recall import lexical
from brain_daemon.store import fulltext
from tests.index.stores import ANALYZER, MirroredStore, chunk, document
from tests.recall.memories import Memories

RARE = [f"rare{i}" for i in range(40)]
PLAIN = ["the", "river", "runs", "past", "and", "Łódź", "naïve", "Straße", "don't"]
COMMON = [*PLAIN, "C++", "foo_bar.baz", "成语接龙", "🎉", "--flag"]


def random_text(rng: random.Random) -> str:
    words = rng.choices(COMMON, k=rng.randint(1, 60)) + rng.choices(RARE, k=rng.randint(0, 5))
    rng.shuffle(words)
    return " ".join(words)


def assert_like_fts5(store: MirroredStore, q: str) -> None:
    snapshot = store.snapshot
    terms = ANALYZER.query(q)
    term_ids = snapshot.vocabulary.lookup(terms.joined)
    ranking = lexical.search(snapshot, term_ids, snapshot.rows.alive, depth=1000, floor=0.0)
    expected = fulltext.rank_bm25(store.conn, fulltext.match_any(terms.terms), 1000)
    assert len(expected) == len(ranking.rows)
    found = dict(zip(store.ids(ranking.rows), ranking.scores.tolist(), strict=True))
    for chunk_id, score in expected:
        assert found[chunk_id] == pytest.approx(score, rel=1e-6, abs=1e-9)
    # FTS5 adds up in another order: where it is 1e-9 apart, so may the order be.
    rounded = sorted(found, key=lambda chunk_id: (-round(found[chunk_id], 9), chunk_id))
    by_oracle = sorted(dict(expected), key=lambda c: (-round(dict(expected)[c], 9), c))
    assert rounded == by_oracle
    assert list(found) == sorted(found, key=lambda chunk_id: (-found[chunk_id], chunk_id))


@pytest.mark.parametrize("seed", range(3))
def test_scores_and_order_are_those_of_fts5(memories: Memories, seed: int) -> None:
    rng = random.Random(seed)
    queries = [random_text(rng) for _ in range(4)] + ["rare1", "rare2 rare2 river", "Lodz STRASSE"]
    for step in range(6):
        made = [
            document(
                *(
                    chunk(random_text(rng), title=random_text(rng)[:40], dim=memories.dim)
                    for _ in range(rng.randint(1, 4))
                ),
                uri=f"u{rng.randrange(60)}" if step else f"u{i}",
                title=f"{step} {i}",
            )
            for i in range(25)
        ]
        memories.put(*made)
        alive = memories.ids(np.flatnonzero(memories.snapshot.rows.alive))
        memories.forget(*rng.sample(alive, 7))
        for q in queries:
            assert_like_fts5(memories, q)
    assert memories.snapshot.n_rows > memories.snapshot.n_alive
    memories.snapshot = memories.loaded()
    for q in queries:
        assert_like_fts5(memories, q)


def test_without_words_the_leg_says_so(memories: Memories) -> None:
    memories.add("a text (with brackets)")
    report = memories.recall("( * ) ^")["legs"]["lexical"]
    assert report == {"status": "skipped", "reason": "no searchable words in q"}


@pytest.mark.parametrize(
    ("q", "text"),
    [
        ("When did Ana move to Lisbon?", "Ana moved to Lisbon in May"),
        ("DEC-0054", "as decided in DEC-0054, we wait"),
        ("C++", "written in C++ mostly"),
        ("20.04", "the box runs Ubuntu 20.04"),
        ("don't", "they don't care"),
        ('status: done AND "', "status: done"),
        ("NEAR(moon", "near the moon"),
        ("-foo", "foo fighters"),
        ("col:x", "col:x"),
        ("--error-on-warnings", "pass --error-on-warnings to it"),
        ("Downloads/transcripts", "see Downloads/transcripts"),
        ("grammar::fa", "grammar::fa is the name"),
        ("bar", "call foo_bar.baz twice"),
        ("成语 missingword", "他喜欢成语接龙"),
        ("naive", "a naïve idea"),
        ("STRASSE", "die Straße"),
        ("🎉", "party 🎉 tonight"),
    ],
)
def test_ordinary_text_finds_its_text(memories: Memories, q: str, text: str) -> None:
    nowhere = np.zeros(memories.dim, np.float32)
    wanted = memories.add(text, embedding=nowhere)
    memories.add("nothing of interest here, C is a letter", embedding=nowhere)
    assert memories.found(q, graph=False)[:1] == [wanted]


def test_a_unique_word_far_into_a_long_memory(memories: Memories) -> None:
    filler = "nothing to see here " * 350
    memories.add("something else", embedding=np.zeros(memories.dim, np.float32))
    wanted = memories.add(filler + "xylophagous", embedding=np.zeros(memories.dim, np.float32))
    hit = memories.recall("xylophagous")["hits"][0]
    assert hit["id"] == wanted
    assert "xylophagous" in hit["snippet"]


def test_what_the_best_dwarfs_is_not_listed(memories: Memories) -> None:
    for i in range(9):
        memories.add(f"status report {i}")
    wanted = memories.add("status of the xylophagous quokka")
    snapshot = memories.snapshot
    term_ids = snapshot.vocabulary.lookup(ANALYZER.query("status xylophagous quokka").joined)
    alive = snapshot.rows.alive
    assert memories.ids(lexical.search(snapshot, term_ids, alive, depth=100).rows) == [wanted]
    assert len(lexical.search(snapshot, term_ids, alive, depth=100, floor=0.0).rows) == 10
