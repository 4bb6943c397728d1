"""Front matter, block structure, links and tags of Markdown documents."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon.ingest.markdown import line_of, parse, plain

FIXTURE = Path(__file__).parent.parent / "fixtures" / "decision.md"


def test_fixture() -> None:
    document = parse(FIXTURE.read_text())
    assert document.title == "Message format"
    assert document.first_h1 == "Decision 7: Message format"
    assert document.tags == ("protocol", "wire")
    assert document.aliases == ("wire format",)
    assert document.front_matter["status"] == "accepted"
    assert [(link.relation, link.target) for link in document.links] == [
        ("replaces", "JSON over HTTP"),
        (None, "decision-3"),
        ("works_with", "Neovim"),
    ]
    assert [tag.name for tag in document.hashtags] == ["ipc"]
    assert document.warnings == ()
    assert [(b.kind, b.line_start) for b in document.blocks] == [
        ("front_matter", 1),
        ("heading", 10),
        ("paragraph", 12),
        ("heading", 15),
        ("paragraph", 17),
        ("fence", 19),
        ("heading", 24),
        ("table", 26),
        ("paragraph", 30),
    ]
    assert document.blocks[5].heading_path == ("Decision 7: Message format", "Context")
    assert (document.blocks[5].line_start, document.blocks[5].line_end) == (19, 22)
    assert document.blocks[8].heading_path == ("Decision 7: Message format", "Consequences")


def test_heading_path_follows_the_levels() -> None:
    text = "# A\nx\n### B\nx\n## C\nx\n\nSet\next\n---\nx\n# D\nx\n"
    paths = [b.heading_path for b in parse(text).blocks if b.kind == "paragraph"]
    assert paths == [("A",), ("A", "B"), ("A", "C"), ("A", "Set ext"), ("D",)]


def test_headings_in_code_quotes_and_lists_are_none() -> None:
    text = "```\n# a\n```\n\n    # b\n\n> # c\n\n- # d\n\n<!--\n# e\n-->\n\nlast\n"
    assert parse(text).blocks[-1].heading_path == ()


def test_nested_lists_are_a_tree() -> None:
    (outer,) = parse("- one\n  - two\n    ```\n    code\n    ```\n- three\n").blocks
    first, second = outer.children
    assert (first.kind, first.line_start, first.line_end) == ("item", 1, 5)
    assert (second.line_start, second.line_end) == (6, 6)
    assert [child.kind for child in first.children] == ["paragraph", "list"]
    assert first.children[1].children[0].children[1].kind == "fence"


@pytest.mark.parametrize(
    "yaml",
    ["a: [", "- just\n- a list", "scalar", "a: &x [*x", "\t- a", "? [a]: b"],
)
def test_bad_front_matter_is_text(yaml: str) -> None:
    document = parse(f"---\n{yaml}\n---\n\n# Title\n")
    assert document.title == "Title"
    assert document.tags == ()
    assert len(document.warnings) == 1


def test_front_matter_builds_no_objects() -> None:
    document = parse("---\ntitle: !!python/name:os.system\nwhen: !!timestamp x\n---\n\n# H\n")
    assert all(type(value) is str for value in document.front_matter.values())


def test_front_matter_scalars_stay_as_written() -> None:
    document = parse("---\ntitle: 0054\ntags: yes, 2026-02-30 null\nalias: ~\n---\n")
    assert document.title == "0054"
    assert document.tags == ("yes", "2026-02-30")
    assert document.aliases == ()


def test_long_front_matter_is_text() -> None:
    document = parse("---\ntitle: T\n" + "k: v\n" * 20_000 + "---\n")
    assert document.title is None
    assert "65536" in document.warnings[0]


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_byte_order_mark(start: str, end: str) -> None:
    source = start + end.join(["---", "title: T", "---", "# H", "", "text [[a]] #b"])
    document = parse(source)
    assert document.title == "T"
    assert [b.line_start for b in document.blocks] == [1, 4, 6]
    assert line_of(document.line_starts, document.links[0].start) == 6
    assert source[document.hashtags[0].start] == "#"


@pytest.mark.parametrize(
    ("markup", "name"),
    [
        ("The `code` and **bold** _word_", "The code and bold word"),
        ("snake_case stays", "snake_case stays"),
        ("[text](https://x.y) ![img](a.png)", "text img"),
        ("[[uses::Thing|label]] [[Thing]]", "label Thing"),
        ("a <b>b</b> c < d", "a b c < d"),
        (r"C\# \[x\]", "C# [x]"),
    ],
)
def test_plain(markup: str, name: str) -> None:
    assert plain(markup) == name


def test_long_headings_are_bounded() -> None:
    document = parse("# " + "word " * 100_000 + "\n\ntext\n")
    assert document.title is not None
    assert len(document.title) <= 200


@given(st.text("-:ab[]{}\"'#|>&*!%@` \n\t\r\x00", max_size=120))
def test_anything_is_read(text: str) -> None:
    for source in (text, "---\n" + text, "---\n" + text + "\n---\n"):
        document = parse(source)
        assert len(document.prose) == len(source)
        assert all(0 < b.line_start <= b.line_end for b in document.blocks)
