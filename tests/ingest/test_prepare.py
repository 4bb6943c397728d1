"""Prepared documents, with the real analyzer and the packaged model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import astuple, replace

from brain_daemon.embedding.model import StaticModel
from brain_daemon.errors import BadRequest
from brain_daemon.ingest import prepare
from brain_daemon.model import Mention, PreparedDocument, Relation, Tags
from brain_daemon.text.analyzer import Analyzer

FIXTURE = (Path(__file__).parent.parent / "fixtures" / "decision.md").read_text()
TAGS = Tags(created_at_us=1)


@pytest.fixture(scope="module")
def model() -> StaticModel:
    return StaticModel.load()


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer()


@pytest.fixture
def memory(analyzer: Analyzer, model: StaticModel) -> Any:
    def prepared(text: str, **fields: Any) -> PreparedDocument:
        given = {"title": "", "uri": None, "tags": TAGS, "entities": (), "relations": ()}
        return prepare.prepare_memory(
            text=text, analyzer=analyzer, model=model, **{**given, **fields}
        )

    return prepared


@pytest.fixture
def markdown(analyzer: Analyzer, model: StaticModel) -> Any:
    def prepared(content: str, **fields: Any) -> PreparedDocument:
        given = {"title": "", "uri": "notes/a-note.md", "tags": TAGS}
        return prepare.prepare_markdown(
            content=content, analyzer=analyzer, model=model, **{**given, **fields}
        )

    return prepared


def relations(document: PreparedDocument) -> list[list[tuple[str, str, str]]]:
    return [[astuple(r) for r in chunk.relations] for chunk in document.chunks]


def test_fixture(markdown: Any) -> None:
    document = markdown(FIXTURE, uri="vault/decision-7.md")
    assert (document.uri, document.title) == ("vault/decision-7.md", "Message format")
    assert [chunk.heading_path[-1] for chunk in document.chunks] == [
        "Decision 7: Message format",
        "Context",
        "Consequences",
    ]
    assert relations(document) == [
        [
            ("Message format", "replaces", "JSON over HTTP"),
            ("Message format", "tagged_with", "protocol"),
            ("Message format", "tagged_with", "wire"),
            ("wire format", "alias_of", "Message format"),
            ("decision-7", "alias_of", "Message format"),
        ],
        [],
        [("Message format", "works_with", "Neovim")],
    ]
    first, context, consequences = ({(m.name, m.kind) for m in c.mentions} for c in document.chunks)
    assert first == {
        ("JSON over HTTP", "link"),
        ("decision-3", "link"),
        ("protocol", "tag"),
        ("wire", "tag"),
        ("ipc", "tag"),
        ("Message format", "title"),
        ("wire format", "title"),
        ("decision-7", "title"),
        ("Decision 7: Message format", "title"),
        ("Ada Lindqvist", "span"),
        ("Decision 7", "span"),
        ("Decision", "span"),
        ("Message", "span"),
        ("limits", "code"),
    }
    assert ("max_message_bytes", "code") in context
    assert not {name for name, _ in context} & {"link", "notag"}
    assert {("Neovim", "link"), ("C++", "code"), ("scan_message", "code")} <= consequences


def test_both_ends_of_a_relation_are_mentioned_by_its_chunk(markdown: Any, memory: Any) -> None:
    given = Relation("Ana", "knows", "Bob")
    for document in (
        markdown(FIXTURE, entities=("X",), relations=(given,)),
        memory("text [[likes::tea]]", title="T", relations=(given,)),
        memory("text [[likes::tea]]", uri="box/42", relations=(given,)),
    ):
        for chunk in document.chunks:
            names = {mention.name for mention in chunk.mentions}
            for relation in chunk.relations:
                assert {relation.subject, relation.object} <= names
        assert given in document.chunks[0].relations


@pytest.mark.parametrize(
    ("content", "title", "uri", "expected"),
    [
        ("---\ntitle: F\n---\n# H", "Given", "u.md", "Given"),
        ("---\ntitle: F\n---\n# H", "", "u.md", "F"),
        ("## no\n\n# H *x*", "", "u.md", "H x"),
        ("## no", "", "a/the note.md", "the note"),
        ("text", "", "https://example.com/a%20b.html?q=1#c", "a b"),
        ("text", "", "docs/C#.md", "C#"),
        ("text", "", ".hidden", ".hidden"),
        ("text", "", "///", "///"),
    ],
)
def test_title(markdown: Any, content: str, title: str, uri: str, expected: str) -> None:
    assert markdown(content, title=title, uri=uri).title == expected


def test_memory_without_title_names_its_uri_only_in_relations(memory: Any) -> None:
    assert memory("plain words", uri="box/42").chunks[0].mentions == ()
    document = memory("it [[likes::tea]]", uri="box/42")
    assert document.title == ""
    assert relations(document) == [[("42", "likes", "tea")]]
    document = memory("it [[likes::tea]]")
    assert relations(document) == [[]]
    assert document.chunks[0].mentions == (Mention("tea", "link"),)


def test_explicit_entities_are_on_every_chunk(memory: Any) -> None:
    document = memory("One sentence here. " * 300, entities=("Ana",))
    assert len(document.chunks) > 2
    assert all(Mention("Ana", "explicit") in chunk.mentions for chunk in document.chunks)


def test_links_and_tags_belong_to_their_chunk(memory: Any) -> None:
    text = "\n\n".join(f"{'filler word ' * 90}[[e{i}]] #t{i} `c{i}()`" for i in range(5))
    document = memory(text)
    assert [[m.name for m in c.mentions] for c in document.chunks] == [
        [f"e{i}", f"t{i}", f"c{i}"] for i in range(5)
    ]


def test_terms_and_vectors_see_title_heading_and_text(
    markdown: Any, analyzer: Analyzer, model: StaticModel
) -> None:
    (chunk,) = markdown("## Kitchen\n\nblue teapot", title="Inventory").chunks
    assert chunk.terms == analyzer.index("Inventory Kitchen", "## Kitchen\n\nblue teapot")
    vector, scale = model.quantized("Inventory\nKitchen\n## Kitchen\n\nblue teapot")
    np.testing.assert_array_equal(chunk.vector, vector)
    assert chunk.scale == scale
    (chunk,) = markdown("# Kitchen\n\nblue teapot").chunks
    assert chunk.terms.title == analyzer.index("Kitchen", "").title


@pytest.mark.parametrize("text", ["", "   ", "\n\t\r\n", "\ufeff \n"])
def test_whitespace_is_refused(memory: Any, markdown: Any, text: str) -> None:
    for prepared in (memory, markdown):
        with pytest.raises(BadRequest, match="whitespace"):
            prepared(text)


def test_hash_is_of_what_the_caller_gave(memory: Any, markdown: Any) -> None:
    later = replace(TAGS, created_at_us=2)
    for prepared in (memory, markdown):
        same = prepared("text").content_hash
        assert len(same) == 32
        assert prepared("text", tags=later).content_hash == same
        stated = prepared("text", created_at_given=True).content_hash
        others = [
            stated,
            prepared("text", tags=later, created_at_given=True).content_hash,
            prepared("text ").content_hash,
            prepared("text", title="T").content_hash,
            prepared("text", entities=("A",)).content_hash,
            prepared("text", relations=(Relation("A", "is", "B"),)).content_hash,
        ]
        for name in Tags.__struct_fields__:
            if name != "created_at_us":
                tags = replace(TAGS, **{name: "other"})
                others.append(prepared("text", tags=tags).content_hash)
        assert len({same, *others}) == len(others) + 1


def test_public_vault(shared_data: Path, markdown: Any) -> None:
    files = sorted((shared_data / "vault").rglob("*.md"))
    assert files
    for path in files:
        source = path.read_bytes().decode()
        lines = source.split("\n")
        for chunk in markdown(source, uri=path.name).chunks:
            assert chunk.text == "\n".join(lines[chunk.line_start - 1 : chunk.line_end])
            assert chunk.scale > 0
            assert chunk.mentions
