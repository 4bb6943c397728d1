"""How much an owner has stored: what a document is charged, and the bound of a quota.

The sum of each owner stands in the table ``usage``, which `maintenance.integrity_findings` compares
with the documents.
"""

import apsw

from brain_daemon.errors import QuotaExceeded
from brain_daemon.model import PreparedDocument
from brain_daemon.store import chunks

CHUNK_BYTES = 512  # what a chunk is charged besides its text: vector, terms, its row in memory


def charge(document: PreparedDocument) -> int:
    """Count what a document is charged: its text and names in UTF-8, and 512 bytes a chunk."""
    names = [document.title, document.uri or ""]
    for chunk in document.chunks:
        names += (chunk.text, chunks.heading_path(chunk))
        names += [mention.name for mention in chunk.mentions]
        for relation in chunk.relations:
            names += (relation.subject, relation.relation, relation.object)
    return len("".join(names).encode()) + CHUNK_BYTES * len(document.chunks)


def add(conn: apsw.Connection, owner: str, n_bytes: int) -> None:
    """Count so many bytes more, or less, for an owner; in the transaction of the change."""
    conn.execute(
        "INSERT INTO usage VALUES (?1, ?2) ON CONFLICT (owner) DO UPDATE "
        "SET n_bytes = n_bytes + ?2",
        (owner, n_bytes),
    )


def stored_bytes(conn: apsw.Connection, owner: str) -> int:
    """Give what an owner's documents are charged together."""
    return int(conn.execute("SELECT n_bytes FROM usage WHERE owner = ?", (owner,)).get or 0)


def check(conn: apsw.Connection, owner: str, added: int, limit: int, pending: int = 0) -> None:
    """Check that an owner may have so many bytes more; ``pending`` were granted, not yet added.

    Raises
    ------
    QuotaExceeded
        It would have more than ``limit``; what makes its memories smaller is never refused.
    """
    used = stored_bytes(conn, owner) + pending
    if added > 0 and used + added > limit:
        raise QuotaExceeded(
            f"{owner} has {used} bytes stored and this adds {added}, limit {limit}: forget "
            "something, or have limits.bytes of the policy's rule raised",
            used=used,
            added=added,
            limit=limit,
        )
