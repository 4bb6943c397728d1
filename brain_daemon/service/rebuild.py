"""Deriving terms and vectors anew from the stored texts: reindex, another analyser, another model.

Every step is crash-safe in the store: killed at any moment, the old index still answers.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import islice

import apsw
import numpy as np
import numpy.typing as npt

from brain_daemon.audit.log import FILE_NAME, telling
from brain_daemon.config import Settings
from brain_daemon.embedding.model import StaticModel
from brain_daemon.errors import NotFound
from brain_daemon.ingest import prepare
from brain_daemon.store import connection, failures, fulltext, scan, schema, vectors
from brain_daemon.text.analyzer import ANALYZER_VERSION, Analyzer

EMBED_BATCH = 256


def replace_terms(writer: apsw.Connection, reader: apsw.Connection, analyzer: Analyzer) -> int:
    """Analyse every chunk again, going on where an interrupted run stopped; give their number."""
    done = fulltext.staged_ids(writer, ANALYZER_VERSION, analyzer.language)
    rows = (
        (chunk_id, prepare.terms_of(analyzer, title, path, text))
        for chunk_id, title, path, text in _texts(reader)
        if chunk_id not in done
    )
    return fulltext.replace_terms(writer, ANALYZER_VERSION, analyzer.language, rows)


def replace_vectors(writer: apsw.Connection, reader: apsw.Connection, model: StaticModel) -> int:
    """Embed every chunk again, going on where an interrupted run stopped; give their number."""
    done = vectors.staged_ids(writer, model.fingerprint)
    return vectors.replace_vectors(
        writer, model.dim, model.fingerprint, model.name, _embedded(reader, model, done)
    )


def reembed_store(settings: Settings) -> int:
    """Bring a store that no daemon serves to the model that the settings name."""
    model = StaticModel.load(settings["model"] or None)
    database = settings.store_dir / connection.DATABASE_NAME
    if not database.exists():
        raise NotFound(f"there is no store in {settings.store_dir}: check --store")
    with (
        telling(settings.store_dir / FILE_NAME, "reembed", model=model.fingerprint) as told,
        failures.translated(),
        closing(connection.open_writer(database)) as writer,
    ):
        schema.migrate(writer)
        with closing(connection.open_reader(database)) as reader:
            told["chunks"] = replace_vectors(writer, reader, model)
    return int(told["chunks"])


def _texts(reader: apsw.Connection) -> Iterator[tuple[int, str, tuple[str, ...], str]]:
    for chunk_id, title, heading_path, text in scan.texts(reader):
        yield chunk_id, title, tuple(json.loads(heading_path)), text


def _embedded(
    reader: apsw.Connection, model: StaticModel, done: set[int]
) -> Iterator[tuple[int, npt.NDArray[np.int8], float]]:
    waiting = (row for row in _texts(reader) if row[0] not in done)
    while batch := list(islice(waiting, EMBED_BATCH)):
        embedded = prepare.embed(model, [(title, path, text) for _, title, path, text in batch])
        for (chunk_id, *_), (vector, scale) in zip(batch, embedded, strict=True):
            yield chunk_id, vector, scale
