"""QueryDoc: what the ``recall`` method accepts, typed and bounded."""

from typing import Annotated, Literal

import msgspec

from brain_daemon.errors import BadRequest
from brain_daemon.index.visibility import Filters
from brain_daemon.model import SourceKind
from brain_daemon.params import decode
from brain_daemon.recall.confidence import Relevance
from brain_daemon.timestamps import parse_us

MAX_QUERY_CHARS = 8192
MAX_LEX_CHARS = 256
MAX_LEX_ITEMS = 32

Label = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
Stamp = str | int | float
Words = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_LEX_CHARS)]
WordsList = Annotated[tuple[Words, ...], msgspec.Meta(max_length=MAX_LEX_ITEMS)]


class Lex(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words beside ``q``: ``terms`` rank, the others decide (see `operators`).

    Every one of ``phrases`` and ``code`` must stand in a hit, none of ``exclude`` may. Phrases and
    exclusions are compared folded, codes to the letter.
    """

    terms: WordsList = ()
    phrases: WordsList = ()
    exclude: WordsList = ()
    code: WordsList = ()


class QueryDoc(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recall request, version 1.

    ``since <= created_at < until``; ``source`` is short for ``sources`` of one; ``domain`` is a
    name, or a prefix followed by ``*``.
    """

    q: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    v: Literal[1] = 1
    k: Annotated[int, msgspec.Meta(ge=1, le=100)] = 5
    lex: Lex = Lex()
    source: SourceKind | None = None
    sources: Annotated[tuple[SourceKind, ...], msgspec.Meta(min_length=1, max_length=16)] | None = (
        None
    )
    since: Stamp | None = None
    until: Stamp | None = None
    domain: Label | None = None
    node_kind: Label | None = None
    include_decayed: bool = False
    graph: bool = True
    expand: bool = True
    abstain: bool = True
    min_relevance: Relevance | None = None
    provenance: bool = True
    trace: bool = False
    render: bool = False
    max_context_tokens: Annotated[int, msgspec.Meta(ge=128, le=1_000_000)] | None = None

    def __post_init__(self) -> None:
        if not self.q.strip():
            raise BadRequest("q holds only spaces; give the words to look for", field="q")
        if self.source is not None and self.sources is not None:
            raise BadRequest(
                f"source is {self.source!r} and sources is {list(self.sources)!r}; give one of "
                "the two",
                field="source",
            )
        if self.domain is not None and "*" in self.domain[:-1]:
            raise BadRequest(
                f"domain is {self.domain!r}; give a name, or a prefix followed by one *",
                field="domain",
                value=self.domain,
            )

    @property
    def words(self) -> str:
        """What the lexical leg searches for."""
        return " ".join((self.q, *self.lex.terms, *self.lex.phrases, *self.lex.code))

    def filters(self) -> Filters:
        """Give the filters of the visibility predicate.

        Raises
        ------
        BadRequest
            If ``since`` or ``until`` is no point in time.
        """
        sources = self.sources or ()
        return Filters(
            domain=self.domain,
            sources=tuple(sorted(set(sources))) if self.source is None else (self.source,),
            node_kind=self.node_kind,
            since_us=None if self.since is None else parse_us(self.since, "since"),
            until_us=None if self.until is None else parse_us(self.until, "until"),
            include_decayed=self.include_decayed,
        )


def decode_query(params: object) -> QueryDoc:
    """Read a QueryDoc from a parameter map.

    Raises
    ------
    BadRequest
        Naming the field, its value and what is accepted.
    """
    return decode(params, QueryDoc)
