"""Numbered migrations, and what a store must agree on with the program: schema, model, analyser.

``document`` carries the tags of its chunks once (every chunk of a document has the same ones).
Ids come from AUTOINCREMENT sequences, so an id is never used twice. A ``uri`` is unique for each
(owner, domain): one tenant can neither see nor overwrite another's document by naming its uri.
``chunk.previous_id`` may name a chunk that has since left.
"""

from collections.abc import Callable

import apsw

from brain_daemon.errors import ModelMismatch, SchemaTooNew, StoreDegraded
from brain_daemon.store import checksums, copies, fulltext, meta, usage, vectors

APPLICATION_ID = 0x42524E44  # "BRND", shown by file(1)

_FIRST = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE document (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uri TEXT NOT NULL,
    owner TEXT NOT NULL,
    domain TEXT NOT NULL,
    revision INTEGER NOT NULL,
    title TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    source TEXT NOT NULL,
    access_scope TEXT NOT NULL,
    node_kind TEXT,
    lawful_basis TEXT,
    region TEXT,
    pii INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    thread TEXT,
    seq INTEGER,
    writer_uid INTEGER NOT NULL,
    writer_pid INTEGER NOT NULL,
    writer_name TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    UNIQUE (uri, owner, domain)
) STRICT;
CREATE INDEX document_thread ON document (thread, owner, domain, ifnull(seq, 0))
    WHERE thread IS NOT NULL;

CREATE TABLE chunk (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES document (id),
    ordinal INTEGER NOT NULL,
    previous_id INTEGER,
    flagged INTEGER NOT NULL DEFAULT 0,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    heading_path TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
-- Covers the start-up scan, which so reads none of the pages that hold the text.
CREATE INDEX chunk_place ON chunk (document_id, ordinal, previous_id, flagged);

CREATE TABLE entity (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    kind TEXT NOT NULL
) STRICT;

CREATE TABLE mention (
    chunk_id INTEGER NOT NULL REFERENCES chunk (id),
    entity_id INTEGER NOT NULL REFERENCES entity (id),
    kind TEXT NOT NULL,
    PRIMARY KEY (chunk_id, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX mention_entity ON mention (entity_id);

CREATE TABLE edge (
    chunk_id INTEGER NOT NULL REFERENCES chunk (id),
    source_id INTEGER NOT NULL REFERENCES entity (id),
    target_id INTEGER NOT NULL REFERENCES entity (id),
    relation TEXT NOT NULL,
    PRIMARY KEY (chunk_id, source_id, target_id, relation)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_source ON edge (source_id);
CREATE INDEX edge_target ON edge (target_id);
"""


def _first(conn: apsw.Connection) -> None:
    conn.execute(_FIRST)
    fulltext.create(conn)


_QUARANTINE = """
ALTER TABLE chunk ADD COLUMN flag_reason TEXT;
CREATE INDEX chunk_flagged ON chunk (id) WHERE flagged;

-- Who decided what about a chunk in quarantine; rows are only ever added.
CREATE TABLE quarantine_event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    chunk_id INTEGER NOT NULL,
    document_id INTEGER NOT NULL,
    reason TEXT NOT NULL,
    actor_uid INTEGER NOT NULL,
    actor_pid INTEGER NOT NULL,
    actor_name TEXT NOT NULL
) STRICT;
"""


def _quarantine(conn: apsw.Connection) -> None:
    conn.execute(_QUARANTINE)


def _duplicates(conn: apsw.Connection) -> None:
    conn.execute("CREATE INDEX document_content ON document (content_hash)")


# What an owner has stored, kept by `usage.add`: triggers would cost three times as much.
_USAGE = f"""
ALTER TABLE document ADD COLUMN n_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE document SET n_bytes = octet_length(title) + octet_length(uri) + (
    SELECT sum(octet_length(text) + octet_length(heading_path) + {usage.CHUNK_BYTES})
    FROM chunk WHERE document_id = document.id
);
CREATE TABLE usage (
    owner TEXT PRIMARY KEY,
    n_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO usage SELECT owner, sum(n_bytes) FROM document GROUP BY owner;
"""


def _usage(conn: apsw.Connection) -> None:
    conn.execute(_USAGE)


def _checksums(conn: apsw.Connection) -> None:
    """Nothing but the number, so that no older program writes pages without their checksums."""


# Migration n (from 1) brings schema n - 1 to n. Never edit one that was released: append.
MIGRATIONS: tuple[Callable[[apsw.Connection], None], ...] = (
    _first,
    _quarantine,
    _duplicates,
    _usage,
    _checksums,
    copies.add_column,
)
SCHEMA_VERSION = len(MIGRATIONS)
CHECKSUMS_SINCE = MIGRATIONS.index(_checksums) + 1


class StaleTerms(StoreDegraded):
    """The stored terms come from another analyser or language: call `fulltext.replace_terms`."""


def version(conn: apsw.Connection) -> int:
    """Give the schema number of the file; 0 is an empty one."""
    return int(conn.pragma("user_version"))


def migrate(conn: apsw.Connection) -> int:
    """Bring the schema up to `SCHEMA_VERSION`, each step in a transaction of its own.

    Returns
    -------
    int
        The version that was found.

    Raises
    ------
    SchemaTooNew
        A later release wrote this store.
    StoreDegraded
        The file is a database of some other program.
    """
    found = version(conn)
    if found > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"this store has schema {found}; this program knows schemas up to {SCHEMA_VERSION}: "
            "upgrade brain-daemon, or restore a backup that the older one wrote",
            found=found,
            supported=SCHEMA_VERSION,
        )
    application = conn.pragma("application_id")
    occupied = conn.execute("SELECT count(*) FROM sqlite_schema").get
    if application != APPLICATION_ID and (found or application or occupied):
        raise StoreDegraded(
            "this file is a database of another program (its application id is "
            f"{application:#x}, not {APPLICATION_ID:#x}): choose another store folder"
        )
    if found < CHECKSUMS_SINCE:
        checksums.enable(conn)
    for number in range(found, SCHEMA_VERSION):
        with conn:
            MIGRATIONS[number](conn)
            conn.pragma("application_id", APPLICATION_ID)
            conn.pragma("user_version", number + 1)
    return found


def prepare(
    conn: apsw.Connection,
    *,
    dim: int,
    model_fingerprint: str,
    model_name: str,
    analyzer_version: int,
    language: str,
) -> None:
    """Create or migrate the store, then check that model and analyser are the ones it holds.

    Parameters
    ----------
    conn : apsw.Connection
        From `connection.open_writer`, outside a transaction.
    dim : int
        Dimensions of the model's vectors, a multiple of 64.
    model_fingerprint, model_name : str
        Which model; the fingerprint decides, the name is for people.
    analyzer_version, language : int, str
        Which rules made the stored terms.

    Raises
    ------
    SchemaTooNew, StoreDegraded
        See `migrate`.
    ModelMismatch
        Another model's vectors are stored, of whatever dimension; nothing was changed.
    StaleTerms
        Another analyser's terms are stored; everything else was checked and is in order.
    """
    migrate(conn)
    facts = meta.read_all(conn)
    terms = {"analyzer_version": str(analyzer_version), "language": language}
    if "model_fingerprint" not in facts:
        with conn:
            vectors.create(conn, dim)
            vectors.write_model(conn, dim, model_fingerprint, model_name)
            fulltext.write_analyzer(conn, analyzer_version, language)
        return
    if facts["model_fingerprint"] != model_fingerprint or facts["dim"] != str(dim):
        raise ModelMismatch(
            f"this store was embedded by {_model(facts)}; the model given is "
            f"{model_name} ({dim} dimensions, {model_fingerprint[:12]}): give the first one, or "
            "stop the daemon and run `brain-daemon reembed --store DIR --model PATH`",
            stored={key: facts[key] for key in ("model_name", "dim", "model_fingerprint")},
            given={
                "model_name": model_name,
                "dim": str(dim),
                "model_fingerprint": model_fingerprint,
            },
        )
    if any(facts[key] != value for key, value in terms.items()):
        raise StaleTerms(
            f"the stored terms were made by analyser {facts['analyzer_version']} for "
            f"{facts['language']}, this program has {analyzer_version} for {language}: "
            "analyse the store again",
            stored={key: facts[key] for key in terms},
            given=terms,
        )


def _model(facts: dict[str, str]) -> str:
    return f"{facts['model_name']} ({facts['dim']} dimensions, {facts['model_fingerprint'][:12]})"
