"""Chunks partition their source: nothing lost, nothing twice, nothing torn."""

import itertools
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brain_daemon.ingest import chunking
from brain_daemon.ingest.chunking import HARD_CHARS, WHOLE_CHARS, chunk_markdown, chunk_text
from brain_daemon.ingest.markdown import parse

SENTENCE = "The daemon keeps what it was told and gives it back. "

LINES = st.sampled_from(
    [
        "",
        " ",
        "\t",
        "# One",
        "## Two",
        "Setext\n===",
        "---",
        "```",
        "~~~~ py",
        "- item",
        "  - nested",
        "1. first",
        "> quote",
        "> # quoted heading",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "    indented code",
        "<div>",
        "<!-- comment",
        "-->",
        "[ref]: https://example.com",
        "title: x",
        "nul \x00 and separator \x1c \u2028 \x85",
        "\u00a0",
        "word " * 60,
        SENTENCE * 50,
        "x" * 5_000,
        " " * 2_500 + "far right",
        "end" + " " * 5_000,
    ]
)
SOURCES = st.builds(
    lambda bom, lines, ends: bom + "".join(a + b for a, b in zip(lines, ends, strict=False)),
    st.sampled_from(["", "\ufeff", "---\n"]),
    st.lists(LINES, max_size=30),
    st.lists(st.sampled_from(["\n", "\n\n", "\r\n", "\r", "\n\n\n"]), min_size=30, max_size=30),
)


def dense(text: str) -> str:
    return "".join(text.removeprefix("\ufeff").split())


def lines_of(source: str) -> list[str]:
    return source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def check_partition(source: str, chunks: list[chunking.Chunk]) -> None:
    lines = lines_of(source)
    assert "".join(dense(chunk.text) for chunk in chunks) == dense(source)
    at = 0
    for chunk in chunks:
        assert chunk.text == source[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert len(chunk.text) <= HARD_CHARS
        assert at <= chunk.start
        at = chunk.end
        spanned = lines[chunk.line_start - 1 : chunk.line_end]
        assert chunk.text.splitlines()[0] in spanned[0]
        if all(len(line) <= WHOLE_CHARS for line in spanned):
            assert lines_of(chunk.text) == spanned


@given(SOURCES)
@example("\ufeff")
@example("end" + " " * 5_000 + "\nnext")
@example("# a\n" * 2_000)
def test_markdown_chunks_partition_the_source(source: str) -> None:
    check_partition(source, chunk_markdown(parse(source)))


@given(st.text(max_size=400) | SOURCES)
def test_text_chunks_partition_the_source(source: str) -> None:
    check_partition(source, chunk_text(source))


@given(st.text("#-`>|=~ \n\r\tab[]:*1.", max_size=200))
def test_any_markup_is_partitioned(source: str) -> None:
    check_partition(source, chunk_markdown(parse(source)))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_text_is_the_joined_lines(end: str) -> None:
    source = end.join(["# A", "", "one", "two  ", "", "# B", "", "- x", "  - y", ""])
    chunks = chunk_markdown(parse(source))
    assert [(c.line_start, c.line_end, c.heading_path) for c in chunks] == [
        (1, 4, ("A",)),
        (6, 9, ("B",)),
    ]
    assert chunks[0].text == end.join(["# A", "", "one", "two  "])


def test_heading_without_body_goes_to_what_follows() -> None:
    chunks = chunk_markdown(parse("# A\n\n## B\n\nbody\n\n## C\n\n## D\n\nmore\n\n## E\n"))
    assert [(c.text, c.heading_path) for c in chunks] == [
        ("# A\n\n## B\n\nbody", ("A", "B")),
        ("## C\n\n## D\n\nmore", ("A", "D")),
        ("## E", ("A", "E")),
    ]


def test_front_matter_is_found_with_the_first_chunk() -> None:
    source = "---\ntitle: T\nstatus: accepted\n---\n\n# H\n\nbody\n"
    (chunk,) = chunk_markdown(parse(source))
    assert chunk.text == source.rstrip("\n")
    assert chunk.heading_path == ("H",)


def test_fence_is_whole_up_to_the_hard_bound() -> None:
    fence = "```py\n" + "call(argument)\n\n" * 230 + "```"
    assert 3_600 < len(fence) < HARD_CHARS
    source = f"# A\n\n{SENTENCE * 30}\n\n{fence}\n\n{SENTENCE * 30}\n"
    assert any(fence in chunk.text for chunk in chunk_markdown(parse(source)))
    assert any(fence in chunk.text for chunk in chunk_text(source))


def test_fence_beyond_the_hard_bound_is_cut_at_line_ends() -> None:
    source = "intro\n\n```py\n" + "call(argument)\n" * 1_000 + "```\n\nlast\n"
    chunks = chunk_markdown(parse(source))
    assert len(chunks) > 3
    check_partition(source, chunks)
    for before, after in itertools.pairwise(chunks):
        assert before.line_end < after.line_start


def test_table_is_whole_and_a_lead_in_stays_with_it() -> None:
    table = "| name | value |\n|---|---|\n" + "| a name | a value of it |\n" * 100
    chunks = chunk_markdown(parse(f"# T\n\n{SENTENCE * 40}\n\nThe values:\n\n{table}"))
    assert chunks[-1].text == f"The values:\n\n{table}".rstrip("\n")


def test_long_list_is_cut_between_items() -> None:
    items = [f"- item {i}\n  {SENTENCE}\n  - nested {i}\n" for i in range(60)]
    chunks = chunk_markdown(parse("# L\n\n" + "".join(items)))
    assert len(chunks) > 3
    assert all(chunk.text.startswith("- item") for chunk in chunks[1:])


def test_one_long_line_is_cut_after_sentences() -> None:
    chunks = chunk_text(SENTENCE * 200)
    assert len(chunks) > 5
    assert {c.line_start for c in chunks} == {c.line_end for c in chunks} == {1}
    assert all(c.text.rstrip().endswith("back.") for c in chunks)


def test_cjk_is_cut_after_sentences() -> None:
    assert all(c.text.endswith("。") for c in chunk_text("他喜欢成语接龙。" * 600))


def test_short_text_is_one_chunk() -> None:
    text = "First paragraph.\n\nSecond.\n\n\n- third\n"
    (chunk,) = chunk_text("\n\n" + text)
    assert (chunk.text, chunk.line_start, chunk.line_end) == (text.rstrip("\n"), 3, 8)


def test_long_text_is_cut_between_paragraphs() -> None:
    paragraphs = [SENTENCE * n for n in (10, 12, 9, 11, 10)]
    chunks = chunk_text("\n\n".join(paragraphs))
    assert [chunk.text.count("\n\n") for chunk in chunks] == [1, 1, 0]
    assert all(chunk.text.startswith("The daemon") for chunk in chunks)


@pytest.mark.parametrize("source", ["", " ", "\n \t\r\n", "\ufeff\n", "\u2003\n\u00a0"])
def test_whitespace_gives_no_chunk(source: str) -> None:
    assert chunk_text(source) == []
    assert chunk_markdown(parse(source)) == []


HOSTILE = {
    "one line": "a b. " * 200_000,
    "no space": "x" * 1_000_000,
    "spaces": "x" + " " * 1_000_000 + "y",
    "headings": "# a\n" * 60_000,
    "quotes": ">" * 1_000_000,
    "dashes": "- " * 500_000,
    "backticks": "".join("`" * n + " " for n in range(1_400)),
    "fence": "```\n" + "x\n" * 200_000,
    "blank": "a" + "\n" * 400_000 + "b",
    "brackets": "[[" * 500_000,
    "hashes": "#a" * 500_000,
    "links": "[[a::b" * 160_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_takes_linear_time(name: str) -> None:
    source = HOSTILE[name]

    def seconds(text: str) -> float:
        started = time.thread_time()
        check_partition(text, chunk_markdown(parse(text)))
        check_partition(text, chunk_text(text))
        return time.thread_time() - started

    # Quadratic work would take 64 times as long for 8 times the input.
    eighth = min(seconds(source[: len(source) // 8]) for _ in range(3))
    assert seconds(source) < 24 * eighth + 0.2
