"""From a request to a prepared document: chunks with terms, vectors, mentions and relations.

Everything that can be computed without the store is computed here, outside its transaction.
"""

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from brain_daemon._ext import distance
from brain_daemon.embedding.model import StaticModel
from brain_daemon.errors import BadRequest, TooLarge
from brain_daemon.ingest import inline, markdown, screening
from brain_daemon.ingest.chunking import Chunk, chunk_markdown, chunk_text
from brain_daemon.ingest.entities import mentions
from brain_daemon.ingest.inline import Hashtag, Link, Region
from brain_daemon.model import Mention, PreparedChunk, PreparedDocument, Relation, Tags, Terms
from brain_daemon.text.analyzer import Analyzer
from brain_daemon.text.names import entity_key

MAX_CHUNKS = 8192  # of one document, so that it also fits one message when it is exported

# Raised when the same input is cut or read differently, so that it is stored anew.
_READING_VERSION = 1
# File names that many folders have: no name of their document.
_COMMON_STEMS = frozenset({"index", "readme", "summary", "untitled", "_index"})

_hashed_tags = attrgetter(*(name for name in Tags.__struct_fields__ if name != "created_at_us"))
_start = attrgetter("start")
_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SUFFIX = re.compile(r"(?<=.)\.\w{1,8}\Z")


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read from a source, by offset, and what its writer stated about all of it."""

    chunks: Sequence[Chunk]
    prose: str
    code: Sequence[Region]
    links: Sequence[Link]
    hashtags: Sequence[Hashtag]
    subject: str  # the document's own entity, "" if it has none
    tags: Sequence[str] = ()
    aliases: Sequence[str] = ()
    preamble: str = ""  # front matter, read for names with the first chunk


def prepare_memory(
    *,
    text: str,
    title: str,
    uri: str | None,
    tags: Tags,
    entities: Sequence[str],
    relations: Sequence[Relation],
    analyzer: Analyzer,
    model: StaticModel,
    created_at_given: bool = False,
    screening_policy: str = "quarantine",
) -> PreparedDocument:
    """Prepare a plain text.

    Parameters
    ----------
    text : str
        Kept verbatim, but for blank lines around it. Wiki links, hashtags and code are read as
        in Markdown.
    title : str
        May be empty; then only relations have a use for the document's entity, which is named
        by the uri, and without a uri a ``[[relation::entity]]`` is a mention only.
    entities, relations : sequence of str, sequence of Relation
        Entities are mentioned by every chunk, relations are stated by the first.
    created_at_given : bool
        Whether ``tags.created_at_us`` is the caller's own and so part of the content hash; the
        time of the call is not, so that the same request twice is one revision.
    screening_policy : str
        See `screened`.

    Raises
    ------
    BadRequest
        If the text holds nothing but whitespace, or is refused by the screening.
    """
    chunks = chunk_text(text)
    code = inline.code_regions(text)
    prose = inline.blank(text, code) if code else text
    title = " ".join(title.split())
    links = inline.wiki_links(prose)
    hashtags = inline.hashtags(inline.without_links(prose))
    subject = title or (uri_stem(uri) if uri else "")
    document = _document(
        _Reading(chunks, prose, code, links, hashtags, subject),
        source=text,
        uri=uri,
        title=title,
        tags=tags,
        entities=entities,
        relations=relations,
        content_hash=_content_hash(text, title, tags, entities, relations, created_at_given),
        analyzer=analyzer,
        model=model,
    )
    return screened(document, screening_policy)


def prepare_markdown(
    *,
    content: str,
    uri: str,
    title: str,
    tags: Tags,
    analyzer: Analyzer,
    model: StaticModel,
    entities: Sequence[str] = (),
    relations: Sequence[Relation] = (),
    created_at_given: bool = False,
    screening_policy: str = "quarantine",
) -> PreparedDocument:
    """Prepare a Markdown document.

    Its title is the given one, else the front matter's, else the first heading of level 1, else
    the uri's stem. Typed links are relations of the title, stated by the chunk that holds them;
    front matter tags are ``tagged_with`` and aliases ``alias_of`` relations, stated by the
    first chunk. A file name that differs from the title is an alias too, because wiki links
    name files. The other parameters are those of `prepare_memory`.

    Raises
    ------
    BadRequest
        If the content holds nothing but whitespace, or is refused by the screening.
    """
    parsed = markdown.parse(content)
    given_title = " ".join(title.split())
    stem = uri_stem(uri)
    title = given_title or parsed.title or stem
    aliases = list(parsed.aliases)
    if stem.casefold() not in _COMMON_STEMS:
        aliases.append(stem)
    key = entity_key(title)
    preamble = ""
    if parsed.blocks and parsed.blocks[0].kind == "front_matter":
        preamble = content[: parsed.line_starts[parsed.blocks[0].line_end]]
    reading = _Reading(
        chunk_markdown(parsed),
        parsed.prose,
        parsed.code,
        parsed.links,
        parsed.hashtags,
        subject=title,
        tags=parsed.tags,
        aliases=[alias for alias in aliases if entity_key(alias) != key],
        preamble=preamble,
    )
    document = _document(
        reading,
        source=content,
        uri=uri,
        title=title,
        tags=tags,
        entities=entities,
        relations=relations,
        content_hash=_content_hash(
            content, given_title, tags, entities, relations, created_at_given
        ),
        analyzer=analyzer,
        model=model,
    )
    return screened(document, screening_policy)


def screened(document: PreparedDocument, policy: str) -> PreparedDocument:
    """Mark the chunks that read like orders to a model, each with what is shown beside it.

    Parameters
    ----------
    document : PreparedDocument
    policy : str
        "quarantine" marks them, "reject" refuses the document, "allow" does not look.

    Raises
    ------
    BadRequest
        Under "reject": says which lines and why.
    """
    if policy == "allow":
        return document
    shared = beside(document.title, document.uri, document.tags)
    chunks = []
    for chunk in document.chunks:
        reason = order_in(chunk.text, shared, chunk.heading_path, chunk.mentions, chunk.relations)
        if reason and policy == "reject":
            raise BadRequest(
                f"lines {chunk.line_start} to {chunk.line_end} read like an order to a model "
                f"({reason}), and screening_policy is reject: reword them, or quote them as "
                "something that is written about",
                field="text",
                reason=reason,
                lines=[chunk.line_start, chunk.line_end],
            )
        chunks.append(replace(chunk, flagged=True, flag_reason=reason) if reason else chunk)
    return replace(document, chunks=tuple(chunks))


def beside(title: str, uri: str | None, tags: Tags) -> str:
    """Give what is shown beside every chunk of a document."""
    labels = (tags.domain, tags.node_kind, tags.lawful_basis, tags.region, tags.thread)
    return _seen_together([title, uri, *labels])


def order_in(
    text: str,
    shared: str,
    heading_path: Sequence[str],
    mentions: Sequence[Mention],
    relations: Sequence[Relation],
) -> str:
    """Say why a chunk is to be held back, seen with what is shown beside it; empty if it is not."""
    names = [mention.name for mention in mentions if mention.kind == "explicit"]
    stated = [relation.relation for relation in relations]
    shown = _seen_together([shared, *heading_path, *names, *stated])
    return screening.screen(f"{shown}\n\n{text}")


def _seen_together(parts: Iterable[str | None]) -> str:
    return "\n".join(dict.fromkeys(part for part in parts if part))


def terms_of(analyzer: Analyzer, title: str, heading_path: Sequence[str], text: str) -> Terms:
    """Analyse a chunk; its title column is the document's title and the heading path."""
    return analyzer.index(" ".join(_names(title, heading_path)), text)


def embed(
    model: StaticModel, chunks: Sequence[tuple[str, Sequence[str], str]]
) -> list[tuple[npt.NDArray[np.int8], float]]:
    """Embed chunks, each given as title, heading path and text: int8 vectors and scales."""
    texts = ["\n".join((*_names(title, path), text)) for title, path, text in chunks]
    return [distance.quantize_int8(vector) for vector in model.embed_many(texts)]


def uri_stem(uri: str) -> str:
    """The last part of a uri or path, without its suffix: what a document without title is called.

    Of a URL (``scheme://…``) the query and fragment are dropped and escapes are read. If nothing
    is left it is the uri itself.
    """
    path = unquote(re.split(r"[?#]", uri, maxsplit=1)[0]) if "://" in uri else uri
    name = path.rstrip("/").rpartition("/")[2]
    return " ".join(_SUFFIX.sub("", name).split()) or uri


def _names(title: str, heading_path: Sequence[str]) -> list[str]:
    """Title and heading path without repeating the title, as a first heading often does."""
    if heading_path and heading_path[0] == title:
        return list(heading_path)
    return [title, *heading_path] if title else list(heading_path)


def _content_hash(
    content: str,
    title: str,
    tags: Tags,
    entities: Sequence[str],
    relations: Sequence[Relation],
    created_at_given: bool,
) -> bytes:
    """SHA-256 of what the caller gave, as JSON."""
    stated = [
        _READING_VERSION,
        content,
        title,
        _hashed_tags(tags),
        tags.created_at_us if created_at_given else None,
        list(entities),
        [(relation.subject, relation.relation, relation.object) for relation in relations],
    ]
    canonical = _canonical.encode(stated)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).digest()


def _document(
    reading: _Reading,
    *,
    source: str,
    uri: str | None,
    title: str,
    tags: Tags,
    entities: Sequence[str],
    relations: Sequence[Relation],
    content_hash: bytes,
    analyzer: Analyzer,
    model: StaticModel,
) -> PreparedDocument:
    if not reading.chunks:
        raise BadRequest(
            f"the text has {len(source)} characters and all of them are whitespace; "
            "give at least one other character",
            field="text",
        )
    if len(reading.chunks) > MAX_CHUNKS:
        raise TooLarge(
            f"the text falls into {len(reading.chunks)} chunks, limit {MAX_CHUNKS}; store it in "
            "several documents",
            limit=MAX_CHUNKS,
        )
    vectors = embed(model, [(title, c.heading_path, c.text) for c in reading.chunks])
    prepared = []
    for index, (chunk, (vector, scale)) in enumerate(zip(reading.chunks, vectors, strict=True)):
        is_first = index == 0
        links = _between(reading.links, chunk)
        stated = [
            Relation(reading.subject, link.relation, link.target)
            for link in links
            if link.relation and reading.subject
        ]
        own_name = title or (reading.subject if stated else "")
        explicit = list(entities)
        if is_first:
            stated += [Relation(reading.subject, "tagged_with", tag) for tag in reading.tags]
            stated += [Relation(alias, "alias_of", reading.subject) for alias in reading.aliases]
            stated += relations
            explicit += [end for r in relations for end in (r.subject, r.object)]
        prose = reading.prose[chunk.start : chunk.end]
        if is_first and reading.preamble:
            prose = f"{reading.preamble}\n{prose}"
        hashtags = [tag.name for tag in _between(reading.hashtags, chunk)]
        found = mentions(
            prose,
            [source[max(a, chunk.start) : min(b, chunk.end)] for a, b in _code(reading, chunk)],
            title=own_name,
            aliases=reading.aliases if is_first else (),
            headings=chunk.heading_path,
            links=[link.target for link in links],
            hashtags=[*reading.tags, *hashtags] if is_first else hashtags,
            explicit=explicit,
        )
        prepared.append(
            PreparedChunk(
                text=chunk.text,
                heading_path=chunk.heading_path,
                line_start=chunk.line_start,
                line_end=chunk.line_end,
                terms=terms_of(analyzer, title, chunk.heading_path, chunk.text),
                vector=vector,
                scale=scale,
                mentions=found,
                relations=tuple(dict.fromkeys(stated)),
            )
        )
    return PreparedDocument(uri, title, content_hash, tags, tuple(prepared))


_Found = TypeVar("_Found", Link, Hashtag)


def _between(found: Sequence[_Found], chunk: Chunk) -> Sequence[_Found]:
    """Those that start in a chunk."""
    if not found:
        return ()
    first = bisect_left(found, chunk.start, key=_start)
    return found[first : bisect_left(found, chunk.end, key=_start)]


def _code(reading: _Reading, chunk: Chunk) -> Sequence[Region]:
    """The code regions that touch a chunk."""
    regions = reading.code
    if not regions:
        return ()
    first = bisect_right(regions, chunk.start, key=lambda region: region[1])
    last = bisect_left(regions, chunk.end, key=lambda region: region[0])
    return regions[first:last]
