import pytest

from brain_daemon.recall.evidence import SNIPPET_CHARS, excerpt
from tests.index.stores import ANALYZER

FILLER = "Nothing of note happened on that day. "


def shown(text: str, *words: str) -> tuple[str, list[str]]:
    """The snippet, and what its highlights cover."""
    wanted = frozenset(ANALYZER.query(" ".join(words)).terms)
    snippet, highlights = excerpt(text, ANALYZER.highlighter(wanted) if wanted else None)
    assert snippet in text
    assert len(snippet) <= SNIPPET_CHARS
    data = snippet.encode()
    assert highlights == sorted(highlights)
    return snippet, [data[start:end].decode() for start, end in highlights]


def test_a_short_text_is_its_own_snippet() -> None:
    snippet, covered = shown("\n  Ana moved to Lisbon.\n", "moving", "Lisbon")
    assert snippet == "Ana moved to Lisbon."
    assert covered == ["moved", "Lisbon"]


def test_a_long_text_shows_where_the_terms_stand_together() -> None:
    text = (
        FILLER * 6
        + "Ana was there. "
        + FILLER * 20
        + "Ana moved to Lisbon. She likes it. "
        + FILLER * 9
    )
    snippet, covered = shown(text, "Ana", "Lisbon", "moved")
    assert "Ana moved to Lisbon." in snippet
    assert covered == ["Ana", "moved", "Lisbon"]
    assert snippet.startswith(("Nothing", "Ana"))
    assert snippet.endswith(".")


def test_lines_are_boundaries_too() -> None:
    text = "\n".join(f"- item number {i} of this list" for i in range(60)) + "\n- the zebra"
    snippet, covered = shown(text, "zebra")
    assert covered == ["zebra"]
    assert all(line in text.split("\n") for line in snippet.split("\n"))


@pytest.mark.parametrize("text", ["x" * 2000, "word " * 400, "長" * 2000, " \n " * 400 + "end"])
def test_text_without_boundaries_is_cut_anyway(text: str) -> None:
    snippet, _ = shown(text, "unrelated")
    assert snippet.strip()


def test_a_term_deep_in_a_text_without_boundaries() -> None:
    _, covered = shown("word " * 400 + "needle " + "word " * 400, "needle")
    assert covered == ["needle"]


def test_byte_ranges_count_utf8() -> None:
    snippet, covered = shown(
        "Zürich, 成语 und die Straße 🎉 ähnlich", "strasse", "成语", "🎉", "zurich"
    )
    assert covered == ["Zürich", "成语", "Straße", "🎉"]
    assert snippet.startswith("Zürich")


def test_no_term_no_highlight_and_the_beginning() -> None:
    snippet, covered = shown(FILLER * 30)
    assert covered == []
    assert (FILLER * 30).startswith(snippet)
