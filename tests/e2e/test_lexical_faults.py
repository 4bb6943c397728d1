"""Ordinary text is ordinary text: what others choke on, asked through the socket."""

from typing import Any

import pytest

from brain_daemon.client import Client
from brain_daemon.errors import BadRequest
from tests.daemon_process import Daemon

MEMORIES = {
    "dec": "Decision DEC-0054 moved the archive to cold storage",
    "cpp": "The parser is written in C++ and nothing else",
    "c": "The bootloader is written in plain C by hand",
    "ubuntu": "The build box runs Ubuntu 20.04 with all updates",
    "dont": "We don't restart the gateway during office hours",
    "status": "status: done for the cellar, pending for the roof",
    "ana": "Ana moved to Lisbon in May",
    "flag": "Call the linter with --error-on-warnings in the pipeline",
    "path": "Recordings land in Downloads/transcripts every night",
    "grammar": "The rule grammar::fa handles Persian numerals",
    "snake": "The helper foo_bar.baz trims the trailing separators",
    "snake_case": "Prefer snake_case for column headings in reports",
    "idiom": "他喜欢成语接龙",
    "naive": "A naïve estimate doubles the cooling load",
    "street": "Die Straße vor dem Lager ist gesperrt",
    "party": "The retirement party was 🎉 all evening",
    "quote": 'The sign says "mind the gap" in three languages',
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    daemon = Daemon(tmp_path_factory.mktemp("lexical")).start()
    with daemon.client() as client:
        for uri, text in MEMORIES.items():
            client.remember(text=text, uri=uri)
        yield client
    assert daemon.stop() == 0


def lexical_ranking(client: Client, q: str) -> list[str]:
    """The uris that the lexical leg lists, in its own order."""
    hits = client.recall(q=q, k=100, graph=False, abstain=False)["hits"]
    ranked = [hit for hit in hits if hit["provenance"]["lexical"] is not None]
    ranked.sort(key=lambda hit: hit["provenance"]["lexical"]["rank"])
    return [hit["uri"] for hit in ranked]


@pytest.mark.parametrize(
    ("q", "first"),
    [
        ("DEC-0054", "dec"),
        ("C++", "cpp"),
        ("20.04", "ubuntu"),
        ("don't", "dont"),
        ("status: done", "status"),
        ("When did Ana move to Lisbon?", "ana"),
        ("--error-on-warnings", "flag"),
        ("error on warnings", "flag"),
        ("Downloads/transcripts", "path"),
        ("transcripts", "path"),
        ("grammar::fa", "grammar"),
        ("foo_bar.baz", "snake"),
        ("foo_bar", "snake"),
        ("baz", "snake"),
        ("snake_case", "snake_case"),
        ("snake case", "snake_case"),
        ("成语", "idiom"),
        ("成语 火箭", "idiom"),
        ("龙", "idiom"),
        ("欢成", "idiom"),
        ("naive", "naive"),
        ("naïve", "naive"),
        ("NAÏVE", "naive"),
        ("STRASSE", "street"),
        ("straße", "street"),
        ("🎉", "party"),
        ("“mind the gap”", "quote"),
        ("lisbon zzqxv", "ana"),
        ("what about the archive AND NOT (storage)?", "dec"),
    ],
)
def test_found_first(filled: Client, q: str, first: str) -> None:
    assert lexical_ranking(filled, q)[0] == first


def test_c_plus_plus_is_not_c(filled: Client) -> None:
    assert "c" not in lexical_ranking(filled, "C++")
    assert "cpp" not in lexical_ranking(filled, "C")
    assert lexical_ranking(filled, "C")[0] == "c"


@pytest.mark.parametrize(
    "q",
    ['AND "', "NEAR(", "(", ")", "*", "^", "-foo", "col:x", '"', "'", "''", '""', "a OR", "NOT",
     "body:lisbon", "{a b}: c", "+", "a + b", "^lisbon", "lisb*", "\\", ";--", "%", "_", "\x00",
     "lisbon\x00", "\ufeff", "\u202e", "a" * 5000, "🏳️‍🌈", "١٢٣", "(" * 500, "[[a::b]]"],
)  # fmt: skip
def test_no_character_is_syntax(filled: Client, q: str) -> None:
    answer = filled.recall(q=q)
    assert answer["decision"] in {"answered", "low_confidence", "no_match"}
    assert filled.ping() == "pong"


@pytest.mark.parametrize("q", ["", "   ", "\n\t", "\u3000"])
def test_nothing_asked_is_a_typed_error_or_says_so(filled: Client, q: str) -> None:
    with pytest.raises(BadRequest, match="q"):
        filled.recall(q=q)


def test_stop_words_are_neither_required_nor_decisive(filled: Client) -> None:
    assert lexical_ranking(filled, "the the the of in is gateway")[0] == "dont"


def test_word_far_into_a_long_memory(filled: Client) -> None:
    filler = "The quick report repeats itself without saying much. " * 140
    filled.remember(text=f"{filler}A xylotheque keeps books of wood. {filler}", uri="far")
    assert filler.__len__() > 7000
    assert lexical_ranking(filled, "xylotheque") == ["far"]
    filled.forget(uri="far")


def test_word_at_the_end_of_a_megabyte(filled: Client) -> None:
    text = "Another ordinary sentence about storage and weather. " * 20_000 + "quokkafoil"
    assert len(text) > 1_000_000
    filled.remember(text=text, uri="huge")
    hit = filled.recall(q="quokkafoil")["hits"][0]
    assert hit["uri"] == "huge"
    assert "quokkafoil" in hit["snippet"]
    filled.forget(uri="huge")
    assert lexical_ranking(filled, "quokkafoil") == []


def test_unique_identifier_ranks_first_among_vague_neighbours(filled: Client) -> None:
    for i in range(40):
        filled.remember(
            text=f"The ticket about the printer on floor {i} is still open", uri=f"t{i}"
        )
    filled.remember(text="ZX-81-QQ: the printer ticket was closed", uri="exact")
    answer = filled.recall(q="which printer ticket is ZX-81-QQ")
    assert answer["hits"][0]["uri"] == "exact"
    for i in range(40):
        filled.forget(uri=f"t{i}")
    filled.forget(uri="exact")
