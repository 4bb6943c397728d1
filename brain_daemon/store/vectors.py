"""The vec0 table: int8 vectors, their sign bits and their scales; writing and replacing them.

The scale is a metadata column: vec0 packs those into one blob of doubles a block, which costs
1 µs a row to insert (an auxiliary column: 5 µs, one row of a second table each) and a copy to
load, and it travels with its vector when a model is replaced. sqlite-vec answers
``ALTER TABLE … RENAME`` on a vec0 table without an error and leaves it unreadable, so a new table
is never renamed into place.
"""

import math
from collections.abc import Iterable
from itertools import islice

import apsw
import numpy as np
import numpy.typing as npt

from brain_daemon.store import meta

BLOCK_ROWS = 256  # rows in one blob of vec0: small stores stay small
STAGING_BATCH = 1_000

INSERT = (
    "INSERT INTO chunk_vec(rowid, embedding, bits, scale) "
    "VALUES (?1, vec_int8(?2), vec_quantize_binary(vec_int8(?2)), ?3)"
)


def create(conn: apsw.Connection, dim: int) -> None:
    """Create the empty table for vectors of ``dim`` dimensions (a multiple of 64)."""
    if dim < 64 or dim % 64:
        raise ValueError(f"dim is {dim}; it has to be a multiple of 64")
    conn.execute(
        f"CREATE VIRTUAL TABLE chunk_vec USING vec0(embedding int8[{dim:d}], bits bit[{dim:d}], "
        f"scale float, chunk_size={BLOCK_ROWS:d})"
    )


def write_model(conn: apsw.Connection, dim: int, fingerprint: str, name: str) -> None:
    """Record which model made the vectors."""
    meta.write(conn, "dim", str(dim))
    meta.write(conn, "model_fingerprint", fingerprint)
    meta.write(conn, "model_name", name)


def encode(vector: npt.NDArray[np.int8], scale: float) -> tuple[bytes, float]:
    """Give blob and scale as stored: a vector without direction is zeros with scale 0.

    Parameters
    ----------
    vector : ndarray of int8, shape (dim,)
    scale : float
        Not finite, zero or negative: the text had no usable embedding.
    """
    if vector.dtype != np.int8 or vector.ndim != 1:
        raise ValueError(f"vector is {vector.dtype}{vector.shape}; int8 of shape (dim,) is stored")
    blob = vector.tobytes()
    if not (math.isfinite(scale) and scale > 0.0) or not any(blob):
        return bytes(len(blob)), 0.0
    return blob, scale


def replace_vectors(
    conn: apsw.Connection,
    dim: int,
    fingerprint: str,
    name: str,
    rows: Iterable[tuple[int, npt.NDArray[np.int8], float]],
) -> int:
    """Replace every vector by another model's, in transactions of its own.

    The new ones gather in a plain table, a batch a commit; one last transaction makes the new
    vec0 table of them. Killed at any moment, the store still holds the old model's table whole,
    and what was gathered counts again when the same model is given (see `staged_ids`).

    Parameters
    ----------
    conn : apsw.Connection
        The writer, outside a transaction; nobody else writes meanwhile.
    dim, fingerprint, name
        The new model.
    rows : iterable of (chunk_id, vector, scale)
        For every chunk that `staged_ids` does not name; read once, lazily.

    Returns
    -------
    int
        Vectors now stored.

    Raises
    ------
    ValueError
        A chunk has no new vector, or one is of another dimension; the old table stays.
    """
    staged_ids(conn, fingerprint)
    iterator = iter(rows)
    while batch := list(islice(iterator, STAGING_BATCH)):
        if any(vector.shape != (dim,) for _, vector, _ in batch):
            raise ValueError(f"a vector is not of {dim} dimensions")
        with conn:
            conn.executemany(
                "INSERT INTO staged_vector(chunk_id, vector, scale) VALUES (?, ?, ?) "
                "ON CONFLICT (chunk_id) DO UPDATE "
                "SET vector = excluded.vector, scale = excluded.scale",
                [(chunk_id, *encode(vector, scale)) for chunk_id, vector, scale in batch],
            )
    with conn:
        missing = conn.execute(
            "SELECT count(*) FROM chunk WHERE id NOT IN (SELECT chunk_id FROM staged_vector)"
        ).get
        if missing:
            raise ValueError(f"{missing} chunks have no new vector")
        conn.execute("DROP TABLE chunk_vec")
        create(conn, dim)
        _fill(
            conn,
            "SELECT chunk_id, vector, scale FROM staged_vector WHERE chunk_id IN "
            "(SELECT id FROM chunk) ORDER BY chunk_id",
        )
        write_model(conn, dim, fingerprint, name)
        drop_staged(conn)
    return int(conn.execute("SELECT count(*) FROM chunk").get)


def staged_ids(conn: apsw.Connection, fingerprint: str) -> set[int]:
    """Give the chunks that an interrupted `replace_vectors` to this model has already done."""
    if meta.read(conn, "staged_fingerprint") != fingerprint:
        with conn:
            drop_staged(conn)
            conn.execute(
                "CREATE TABLE staged_vector "
                "(chunk_id INTEGER PRIMARY KEY, vector BLOB NOT NULL, scale REAL NOT NULL) STRICT"
            )
            meta.write(conn, "staged_fingerprint", fingerprint)
    return {row[0] for row in conn.execute("SELECT chunk_id FROM staged_vector")}


def drop_staged(conn: apsw.Connection) -> None:
    """Remove what an interrupted `replace_vectors` gathered."""
    conn.execute("DROP TABLE IF EXISTS staged_vector")
    conn.execute("DELETE FROM meta WHERE key = 'staged_fingerprint'")


def rebuild(conn: apsw.Connection) -> None:
    """Make the table anew without the room that deleted vectors left; needs a transaction."""
    dim = int(meta.read(conn, "dim") or 0)
    conn.execute(
        "CREATE TABLE staged_rebuild "
        "(chunk_id INTEGER PRIMARY KEY, vector BLOB NOT NULL, scale REAL NOT NULL) STRICT"
    )
    conn.execute("INSERT INTO staged_rebuild SELECT rowid, embedding, scale FROM chunk_vec")
    conn.execute("DROP TABLE chunk_vec")
    create(conn, dim)
    _fill(conn, "SELECT chunk_id, vector, scale FROM staged_rebuild ORDER BY chunk_id")
    conn.execute("DROP TABLE staged_rebuild")


def _fill(conn: apsw.Connection, select: str) -> None:
    conn.execute(
        "INSERT INTO chunk_vec(rowid, embedding, bits, scale) "
        "SELECT chunk_id, vec_int8(vector), vec_quantize_binary(vec_int8(vector)), scale "
        f"FROM ({select})"
    )
