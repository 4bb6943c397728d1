"""Which chunks are copies: the same text, word for word, under the same tags.

Every chunk keeps a hash of both, with an index on it. A hash is a hint: whoever joins chunks
compares what `identity` gives. Not here: who may see them.
"""

import hashlib
import json
from array import array
from collections.abc import Iterable
from typing import Any

import apsw

from brain_daemon.model import Tags

SHARED = """(
    SELECT other.copy_hash FROM chunk AS other
    WHERE other.copy_hash = chunk.copy_hash AND other.id <> chunk.id LIMIT 1
)"""
"""SQL for the hash of a row of ``chunk`` where another has it too, else NULL: one index look-up."""

_ADD = """
ALTER TABLE chunk ADD COLUMN copy_hash INTEGER NOT NULL DEFAULT 0;
UPDATE chunk SET copy_hash = copy_hash_of(
    text, domain, access_scope, pii, node_kind, lawful_basis, region
) FROM document WHERE document.id = document_id;
CREATE INDEX chunk_copy ON chunk (copy_hash);
"""


def identity(text: str, tags: Tags) -> tuple[Any, ...]:
    """Give what copies have in common: the text, and the tags that say what may be done with it."""
    return (
        text,
        tags.domain,
        tags.access_scope,
        tags.pii,
        tags.node_kind,
        tags.lawful_basis,
        tags.region,
    )


def hash_of(text: str, *tags: Any) -> int:
    """Hash what `identity` gives, to 64 bits with a sign."""
    digest = hashlib.blake2b(json.dumps(tags).encode(), digest_size=8)
    digest.update(text.encode())
    return int.from_bytes(digest.digest(), "little", signed=True)


def add_column(conn: apsw.Connection) -> None:
    """Give the chunks of an older store their hashes."""

    def of_row(*row: Any) -> int:
        text, domain, scope, pii, *others = row
        return hash_of(text, domain, scope, bool(pii), *others)

    conn.create_scalar_function("copy_hash_of", of_row, 7, deterministic=True)
    conn.execute(_ADD)
    conn.create_scalar_function("copy_hash_of", None)


def ids(conn: apsw.Connection, hashes: Iterable[int]) -> dict[int, list[int]]:
    """Give the chunks that have each of these hashes, ids ascending."""
    found: dict[int, list[int]] = {hash_: [] for hash_ in hashes}
    rows = conn.execute(
        "SELECT copy_hash, id FROM chunk WHERE copy_hash IN carray(?) ORDER BY 1, 2",
        (apsw.carray(array("q", found)),),
    )
    for hash_, chunk_id in rows:
        found[hash_].append(chunk_id)
    return found
