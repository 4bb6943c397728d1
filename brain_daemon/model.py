"""The records that layers hand to each other: plain data, no behaviour, no I/O.

Times are UTC microseconds since the epoch. Lines count from 1 and are inclusive.
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

SourceKind = Literal["memory", "markdown", "structured", "manual", "vault"]
SOURCE_KINDS: tuple[SourceKind, ...] = ("memory", "markdown", "structured", "manual", "vault")

EntityKind = Literal["title", "span", "code", "tag", "link", "explicit"]


class Tags(Struct, frozen=True):
    """What a writer says about a document; every chunk of it carries the same tags."""

    source: SourceKind = "memory"
    domain: str = "default"
    access_scope: str = "private"
    owner: str = ""  # from the peer's credentials, never from the request
    node_kind: str | None = None
    lawful_basis: str | None = None
    region: str | None = None
    pii: bool = False
    created_at_us: int = 0
    expires_at_us: int | None = None
    thread: str | None = None
    seq: int | None = None


class Mention(Struct, frozen=True):
    """A chunk names an entity. ``name`` is for people; its key is ``text.names.entity_key``."""

    name: str
    kind: EntityKind


class Relation(Struct, frozen=True):
    """A directed, typed edge between two entities; its evidence is the chunk that states it."""

    subject: str
    relation: str
    object: str


class Terms(Struct, frozen=True):
    """The analysed text of a chunk, one space-joined string for each FTS5 column.

    ``title`` and ``body`` keep the order of the text (phrases run on them); ``extra`` holds what
    has no position of its own: whole code identifiers, CJK bigrams.
    """

    title: str
    body: str
    extra: str


class PreparedChunk(Struct, frozen=True):
    """A chunk ready to be stored: everything derived from its text is already here."""

    text: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    terms: Terms
    vector: npt.NDArray[np.int8]  # shape (dim,)
    scale: float  # vector * scale is the unit-length embedding; 0 if none
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    flagged: bool = False  # in quarantine
    flag_reason: str | None = None  # why; one that is not flagged any more was released


class PreparedDocument(Struct, frozen=True):
    """A document ready to be stored in one transaction."""

    uri: str | None  # None: the store assigns "memory:<id>"
    title: str
    content_hash: bytes  # 32 bytes, over everything that a revision depends on
    tags: Tags
    chunks: tuple[PreparedChunk, ...]


class StoredChunk(Struct, frozen=True):
    """A chunk as the store gives it back."""

    id: int
    document_id: int
    ordinal: int
    uri: str
    title: str
    revision: int
    text: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    tags: Tags
    writer: dict[str, Any] = field(default_factory=dict)  # {"uid": int, "pid": int, "name": str}
    flagged: bool = False
    flag_reason: str | None = None
    copy_hash: int | None = None  # None: no other chunk has it


class PeerCredentials(Struct, frozen=True):
    """The process that connected, as the kernel knew it when it connected.

    Parameters
    ----------
    pid, uid, gid : int
        Process, effective user and effective group.
    groups : tuple of int
        Supplementary groups.
    """

    pid: int
    uid: int
    gid: int
    groups: tuple[int, ...]


class Quota(Struct, frozen=True):
    """What a principal may take over all its connections; None is no bound of its own."""

    connections: int | None = None
    in_flight: int | None = None  # unanswered calls
    bytes: int | None = None  # stored, as `store.usage.charge` counts them


class Principal(Struct, frozen=True):
    """Who is calling, from the kernel's peer credentials and the policy.

    ``domains`` and ``scopes`` are names, or prefixes followed by one ``*``.
    """

    name: str
    uid: int
    gid: int
    pid: int
    roles: frozenset[str] = frozenset()
    domains: tuple[str, ...] = ("*",)
    scopes: tuple[str, ...] = ("*",)
    quota: Quota = Quota()
    rule: str = ""  # which rule of the policy decided so, for people
