"""Code spans, wiki links and hashtags, and what is none of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon.ingest import inline


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a `b` c", ["`b`"]),
        ("``a ` b`` c `d`", ["``a ` b``", "`d`"]),
        ("`unclosed", []),
        ("`` a ` b", []),
        (r"\`a` b`", ["` b`"]),
        ("none", []),
    ],
)
def test_code_spans(text: str, spans: list[str]) -> None:
    assert [text[a:b] for a, b in inline.code_spans(text)] == spans


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("a\n```\n`x` ``\n```\nb `c`", ["```\n`x` ``\n```", "`c`"]),
        ("~~~\n```\n~~~", ["~~~\n```\n~~~"]),
        ("````\n```\n````\n", ["````\n```\n````"]),
        ("```unclosed\ncode\n", ["```unclosed\ncode\n"]),
        ("```inline``` text", ["```inline```"]),
        ("a ` b\n\nc ` d", []),
    ],
)
def test_code_regions(text: str, regions: list[str]) -> None:
    assert [text[a:b] for a, b in inline.code_regions(text)] == regions


@given(st.text("`~ab\\ \n\r", max_size=120))
def test_code_regions_are_ordered_and_disjoint(text: str) -> None:
    regions = inline.code_regions(text)
    offsets = [offset for region in regions for offset in region]
    assert offsets == sorted(offsets)
    assert all(start < end <= len(text) for start, end in regions)
    assert len(inline.blank(text, regions)) == len(text)


@pytest.mark.parametrize(
    ("text", "relation", "target"),
    [
        ("[[Ana]]", None, "Ana"),
        ("[[knows::Ana]]", "knows", "Ana"),
        ("[[Ana|my friend]]", None, "Ana"),
        ("[[ knows :: Ana | her ]]", "knows", "Ana"),
        ("[[uses::std::vector]]", "uses", "std::vector"),
        (r"[[Ana\|her]]", None, "Ana"),
        ("![[plan.md#Steps]]", None, "plan"),
        ("[[::Ana]]", None, "Ana"),
    ],
)
def test_wiki_links(text: str, relation: str | None, target: str) -> None:
    (link,) = inline.wiki_links("see " + text)
    assert (link.relation, link.target) == (relation, target)


@pytest.mark.parametrize(
    "text", ["[[]]", "[[a::]]", "[[ | x]]", "[[#part]]", "[[a\nb]]", "[a]", "[[a"]
)
def test_no_wiki_links(text: str) -> None:
    assert inline.wiki_links(text) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#one and (#two), #three.", ["one", "two", "three"]),
        ("#area/sub #übung #snake_case #v2", ["area/sub", "übung", "snake_case", "v2"]),
        ("#123 fixes a#b and C#", []),
        ("# heading\n## second", []),
        ("https://example.com/page#part [x](#part)", []),
        ("#a1b2c3 #ff0 &#39;", []),
        ("##double", []),
    ],
)
def test_hashtags(text: str, names: list[str]) -> None:
    assert [tag.name for tag in inline.hashtags(text)] == names
