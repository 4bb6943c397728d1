"""Store, writer thread and mirror as the daemon wires them, for tests that break what is below."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from brain_daemon._ext.distance import quantize_int8
from brain_daemon.index.load import load
from brain_daemon.index.snapshot import Change, Snapshot
from brain_daemon.recall import lexical
from brain_daemon.service.writer import ExclusiveJob, Job, PutJob, WriteJob, Writer
from brain_daemon.store import connection, documents, fulltext, maintenance, scan, schema, vectors
from brain_daemon.store.reserve import Reserve
from brain_daemon.text.analyzer import ANALYZER_VERSION
from tests.index.stores import ANALYZER, DIM, NOW_US, WRITER, chunk, direction, document

FACTS: dict[str, Any] = {
    "dim": DIM,
    "model_fingerprint": "f" * 64,
    "model_name": "made up",
    "analyzer_version": ANALYZER_VERSION,
    "language": "english",
}


class Appliance:
    """The write path on a file: jobs go in, acknowledgements come out."""

    def __init__(self, path: Path) -> None:
        self.conn = connection.open_writer(path)
        try:
            schema.prepare(self.conn, **FACTS)
            self.snapshot: Snapshot = load(self.conn, DIM)
        except BaseException:
            self.conn.close()
            raise
        self.writer = Writer(
            self.conn, Reserve(path.parent), self._publish, max_batch=64, max_waiting=1000
        )
        self.writer.start()

    def _publish(self, changes: list[Change]) -> None:
        self.snapshot = self.snapshot.advance(changes)

    def outcomes(self, *jobs: Job) -> list[Any]:
        """Hand in jobs in one turn; the result or the error of each, once all are told."""

        async def told() -> list[Any]:
            futures = []
            for job in jobs:
                try:
                    futures.append(self.writer.submit(job))
                except Exception as refusal:
                    refused = asyncio.get_running_loop().create_future()
                    refused.set_exception(refusal)
                    futures.append(refused)
            return list(await asyncio.gather(*futures, return_exceptions=True))

        return asyncio.run(told())

    def do(self, *jobs: Job) -> list[Any]:
        """The same, where each has to succeed."""
        results = self.outcomes(*jobs)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results

    def picture(self) -> str:
        (seen,) = self.do(ExclusiveJob(picture))
        return str(seen)

    def close(self) -> None:
        self.writer.stop()


def put(text: str, uri: str | None = None, **options: Any) -> PutJob:
    """Store a document of one or, where the text has bars, several chunks."""
    of_chunk = {name: options.pop(name) for name in ("names", "relations") if name in options}
    made = document(*(chunk(part, **of_chunk) for part in text.split("|")), uri=uri, **options)

    def tell(stored: documents.PutResult) -> tuple[Any, Sequence[Change]]:
        return stored.document_id, [] if stored.unchanged else [Change.put(made, stored)]

    return PutJob(documents.Put(made, WRITER, NOW_US), tell)


def forget(uri: str) -> WriteJob:
    def apply(conn: apsw.Connection) -> tuple[Any, Sequence[Change]]:
        removals = [documents.remove(conn, found.id) for found in documents.find(conn, uri=uri)]
        ids = [chunk_id for removal in removals for chunk_id in removal.chunk_ids]
        return ids, [Change.removal(ids)]

    return WriteJob(apply)


def forget_chunk(chunk_id: int) -> WriteJob:
    def apply(conn: apsw.Connection) -> tuple[Any, Sequence[Change]]:
        removal = documents.remove_chunk(conn, chunk_id)
        return removal.chunk_ids, [Change.removal(removal.chunk_ids)]

    return WriteJob(apply)


def alone(run: Callable[[apsw.Connection], Any]) -> ExclusiveJob:
    return ExclusiveJob(run)


def analyse_again(conn: apsw.Connection) -> int:
    """As `reindex` does with the terms."""
    rows = [(id_, ANALYZER.index(title, text)) for id_, title, _, text in scan.texts(conn)]
    return fulltext.replace_terms(conn, ANALYZER_VERSION, "english", iter(rows))


def embed_again(conn: apsw.Connection) -> int:
    """As `reindex` does with the vectors."""
    done = vectors.staged_ids(conn, FACTS["model_fingerprint"])
    rows = [
        (id_, *quantize_int8(direction(text)))
        for id_, _, _, text in scan.texts(conn)
        if id_ not in done
    ]
    return vectors.replace_vectors(
        conn, DIM, FACTS["model_fingerprint"], FACTS["model_name"], iter(rows)
    )


_PICTURED = (
    "SELECT * FROM document ORDER BY id",
    "SELECT * FROM chunk ORDER BY id",
    "SELECT rowid, title, body, extra FROM chunk_fts ORDER BY rowid",
    "SELECT rowid, embedding, bits, scale FROM chunk_vec ORDER BY rowid",
    "SELECT * FROM entity ORDER BY id",
    "SELECT * FROM mention ORDER BY 1, 2",
    "SELECT * FROM edge ORDER BY 1, 2, 3, 4",
    "SELECT * FROM quarantine_event ORDER BY id",
    "SELECT * FROM meta WHERE key NOT LIKE 'staged%' ORDER BY key",
)


def picture(conn: apsw.Connection) -> str:
    """Digest of all that a store says: two stores with the same one answer alike."""
    digest = hashlib.sha256()
    for statement in _PICTURED:
        digest.update(repr(conn.execute(statement).fetchall()).encode())
    return digest.hexdigest()


def disagreements(conn: apsw.Connection, probes: Sequence[str]) -> list[str]:
    """What full-text index, vector table and mirror do not say alike; empty for a sound store."""
    found = maintenance.integrity_findings(conn)
    mirror = load(conn, DIM)  # raises where vectors or terms are not those of the chunks
    alive = np.flatnonzero(mirror.rows.alive)
    for probe in probes:
        stored = fulltext.match(conn, fulltext.match_any([probe]), fulltext.ALL)
        term_ids = mirror.vocabulary.lookup(probe.encode())
        rows = []
        if len(term_ids) and (term_ids >= 0).all():
            mask = np.ascontiguousarray(mirror.rows.alive)
            rows = lexical.search(mirror, term_ids, mask, depth=1000, floor=0.0).rows
        mirrored = sorted(mirror.rows.chunk_id[rows].tolist()) if len(rows) else []
        if mirrored != stored:
            found.append(f"{probe!r} is in {stored} by FTS5, in {mirrored} by the mirror")
    counts = maintenance.counts(conn)
    if len(alive) != counts["chunks"]:
        found.append(f"the mirror has {len(alive)} rows, the store {counts['chunks']} chunks")
    if mirror.figures()["entities"] != counts["entities"]:
        found.append("the graph's entities are not those of the store")
    return found
