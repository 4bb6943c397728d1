"""Reading the whole store in bulk, as the resident index loads it: columns, not records.

Everything is by chunk id ascending. Run it inside one read transaction (`frozen`), so that all
parts show one state. Not here: what the index makes of it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]

NEVER_US = np.iinfo(np.int64).max  # of ``expires_at_us``: does not expire

CODED = ("source", "domain", "access_scope", "owner", "node_kind", "lawful_basis", "region")


@dataclass(frozen=True, slots=True)
class Attributes:
    """One entry a chunk, in every array of shape (n,).

    ``previous_ids`` is 0 where there is none. ``codes[name]`` are indexes into ``values[name]``,
    for the names in `CODED`; a value may be None.
    """

    chunk_ids: Ids
    document_ids: Ids
    previous_ids: Ids
    created_at_us: Ids
    expires_at_us: Ids  # NEVER_US: never
    pii: npt.NDArray[np.uint8]
    flagged: npt.NDArray[np.uint8]
    codes: dict[str, npt.NDArray[np.int32]]
    values: dict[str, list[str | None]]


@contextmanager
def frozen(conn: apsw.Connection) -> Iterator[None]:
    """Hold one read transaction, so that several scans see the same commit."""
    conn.execute("BEGIN")
    try:
        yield
    finally:
        # Nothing was written. A failed read may have ended the transaction already.
        if conn.in_transaction:
            conn.execute("ROLLBACK")


def attributes(conn: apsw.Connection) -> Attributes:
    """Give the tags of every chunk as columns."""
    # In the order of the covering index: sorting here is cheaper than reading the table.
    chunk = _table(
        conn.execute("SELECT id, document_id, ifnull(previous_id, 0), flagged FROM chunk"), 4
    )
    chunk = chunk[np.argsort(chunk[:, 0])]
    document_rows = conn.execute(
        f"SELECT id, created_at, ifnull(expires_at, {NEVER_US}), pii, {', '.join(CODED)} "
        "FROM document ORDER BY id"
    )
    values: dict[str, list[str | None]] = {}
    codes: dict[str, npt.NDArray[np.int32]] = {}
    columns = list(zip(*document_rows, strict=True)) or [()] * (4 + len(CODED))
    ids, created, expires, pii = (np.array(column, dtype=np.int64) for column in columns[:4])
    place = np.searchsorted(ids, chunk[:, 1])
    for name, column in zip(CODED, columns[4:], strict=True):
        values[name] = list(dict.fromkeys(column))
        table = {value: code for code, value in enumerate(values[name])}
        of_document = np.array([table[value] for value in column], dtype=np.int32)
        codes[name] = of_document[place]
    return Attributes(
        chunk_ids=np.ascontiguousarray(chunk[:, 0]),
        document_ids=np.ascontiguousarray(chunk[:, 1]),
        previous_ids=np.ascontiguousarray(chunk[:, 2]),
        created_at_us=created[place],
        expires_at_us=expires[place],
        pii=pii[place].astype(np.uint8),
        flagged=chunk[:, 3].astype(np.uint8),
        codes=codes,
        values=values,
    )


def vectors(
    conn: apsw.Connection, dim: int
) -> tuple[Ids, npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Give every vector.

    Returns
    -------
    chunk_ids : ndarray of int64, shape (n,)
    matrix : ndarray of int8, shape (n, dim)
    scales : ndarray of float32, shape (n,)

    Notes
    -----
    vec0's blocks are copied as they lie in its shadow tables: 0.1 µs a row, where its documented
    SELECT takes 2 to 3. That layout is no promise, so it is believed only if it names exactly the
    chunks that exist and agrees with the SELECT on a sample; otherwise the SELECT is used.
    """
    chunk_ids = np.sort(_table(conn.execute("SELECT id FROM chunk"), 1)[:, 0])
    fast = _read_blocks(conn, dim, len(chunk_ids))
    if fast is not None and np.array_equal(fast[0], chunk_ids) and _agrees(conn, *fast):
        return fast
    return _select_vectors(conn, dim, len(chunk_ids))


def terms(conn: apsw.Connection) -> Iterator[tuple[int, bytes]]:
    """Give (chunk id, all terms of the chunk as UTF-8, one space between two)."""
    return iter(
        conn.execute(
            "SELECT rowid, CAST(concat_ws(' ', nullif(title, ''), nullif(body, ''), "
            "nullif(extra, '')) AS BLOB) FROM chunk_fts ORDER BY rowid"
        )
    )


def texts(conn: apsw.Connection) -> Iterator[tuple[int, str, str, str]]:
    """Give (chunk id, document title, heading path as JSON, text): what is embedded and analysed.

    To be read to the end before anything is written on the same connection.
    """
    return iter(
        conn.execute(
            "SELECT chunk.id, title, heading_path, text FROM chunk "
            "JOIN document ON document.id = document_id ORDER BY chunk.id"
        )
    )


def entities(conn: apsw.Connection) -> Iterator[tuple[int, str, str]]:
    """Give (id, key, name) of every entity, by id."""
    return iter(conn.execute("SELECT id, key, name FROM entity ORDER BY id"))


def mentions(conn: apsw.Connection) -> tuple[Ids, Ids]:
    """Give chunk ids and entity ids of every mention, by chunk, then entity."""
    pairs = _table(conn.execute("SELECT chunk_id, entity_id FROM mention ORDER BY 1, 2"), 2)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def edges(conn: apsw.Connection) -> tuple[Ids, Ids, Ids, list[str]]:
    """Give source ids, target ids, chunk ids and relations of every edge, by chunk, then source."""
    rows = conn.execute(
        "SELECT source_id, target_id, chunk_id, relation FROM edge ORDER BY 3, 1, 2, 4"
    ).fetchall()
    ends = _table((row[:3] for row in rows), 3)
    source, target, chunk = (np.ascontiguousarray(ends[:, i]) for i in range(3))
    return source, target, chunk, [str(row[3]) for row in rows]


def _table(rows: Iterable[tuple[Any, ...]], width: int) -> Ids:
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64).reshape(-1, width)


def _read_blocks(
    conn: apsw.Connection, dim: int, expected: int
) -> tuple[Ids, npt.NDArray[np.int8], npt.NDArray[np.float32]] | None:
    """Copy the shadow tables' blocks; None when they are not laid out as known."""
    ids = np.empty(expected, dtype=np.int64)
    matrix = np.empty((expected, dim), dtype=np.int8)
    scales = np.empty(expected, dtype=np.float32)
    end = 0
    try:
        blocks = conn.execute(
            "SELECT validity, rowids, vectors, data FROM chunk_vec_chunks AS block "
            "CROSS JOIN chunk_vec_vector_chunks00 AS vector ON vector._rowid_ = block.chunk_id "
            "CROSS JOIN chunk_vec_metadatachunks00 AS scale ON scale._rowid_ = block.chunk_id "
            "ORDER BY block.chunk_id"
        )
        for validity, rowids, block, data in blocks:
            used = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little").view(bool)
            start, end = end, end + int(np.count_nonzero(used))
            ids[start:end] = np.frombuffer(rowids, np.int64)[used]
            matrix[start:end] = np.frombuffer(block, np.int8).reshape(-1, dim)[used]
            scales[start:end] = np.frombuffer(data, np.float64)[used]
    except (apsw.SQLError, ValueError, IndexError):
        return None
    if end != expected:
        return None
    if np.any(ids[1:] <= ids[:-1]):  # freed places were used again
        order = np.argsort(ids, kind="stable")
        ids, matrix, scales = ids[order], matrix[order], scales[order]
    return ids, matrix, scales


def _agrees(
    conn: apsw.Connection,
    ids: Ids,
    matrix: npt.NDArray[np.int8],
    scales: npt.NDArray[np.float32],
    sample: int = 16,
) -> bool:
    for place in range(0, len(ids), max(1, len(ids) // sample)):
        row = conn.execute(
            "SELECT embedding, scale FROM chunk_vec WHERE rowid = ?", (int(ids[place]),)
        ).fetchone()
        if row is None or row[0] != matrix[place].tobytes() or np.float32(row[1]) != scales[place]:
            return False
    return True


def _select_vectors(
    conn: apsw.Connection, dim: int, expected: int
) -> tuple[Ids, npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    ids = np.empty(expected, dtype=np.int64)
    matrix = np.empty((expected, dim), dtype=np.int8)
    scales = np.empty(expected, dtype=np.float32)
    rows = conn.execute("SELECT rowid, embedding, scale FROM chunk_vec")
    for place, (chunk_id, blob, scale) in enumerate(rows):
        ids[place], scales[place] = chunk_id, scale
        matrix[place] = np.frombuffer(blob, np.int8)
    order = np.argsort(ids, kind="stable")
    return ids[order], matrix[order], scales[order]
