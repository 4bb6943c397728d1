"""Vectors and terms derived anew: resumable, whole or not at all."""

import shutil
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest

from brain_daemon import config
from brain_daemon.audit.log import FILE_NAME, AuditLog
from brain_daemon.embedding.model import StaticModel
from brain_daemon.ingest import prepare
from brain_daemon.model import Tags, Terms
from brain_daemon.service import rebuild
from brain_daemon.store import connection, documents, fulltext, maintenance, meta, schema, vectors
from brain_daemon.text.analyzer import ANALYZER_VERSION, Analyzer

N_TEXTS = 40


@pytest.fixture
def settings(tmp_path: Path) -> config.Settings:
    """A store filled with the packaged model, and settings that name another."""
    with resources.as_file(resources.files("brain_daemon.embedding") / "default") as default:
        folder = Path(shutil.copytree(default, tmp_path / "other"))
    table = folder / "model.safetensors"
    content = bytearray(table.read_bytes())
    content[-1000] ^= 0x55
    table.write_bytes(content)
    model, analyzer = StaticModel.load(), Analyzer()
    (tmp_path / "store").mkdir()
    conn = connection.open_writer(tmp_path / "store" / connection.DATABASE_NAME)
    schema.prepare(
        conn,
        dim=model.dim,
        model_fingerprint=model.fingerprint,
        model_name=model.name,
        analyzer_version=ANALYZER_VERSION,
        language="english",
    )
    with conn:
        for number in range(N_TEXTS):
            document = prepare.prepare_memory(
                text=f"the heron number {number} stands in the reeds",
                title=f"Heron {number}",
                uri=None,
                tags=Tags(owner="alice"),
                entities=(),
                relations=(),
                analyzer=analyzer,
                model=model,
                created_at_given=False,
            )
            documents.put(conn, document, {"uid": 1, "pid": 1, "name": "alice"}, 0)
    conn.close()
    return config.load({"store": str(tmp_path / "store"), "model": str(folder)}, environ={})


def test_reembedding_goes_on_where_it_was_interrupted(
    settings: config.Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "EMBED_BATCH", 8)
    monkeypatch.setattr(vectors, "STAGING_BATCH", 8)
    embed = prepare.embed
    embedded: list[int] = []

    def interrupted(model: StaticModel, texts: list[tuple[str, tuple[str, ...], str]]) -> object:
        if len(embedded) == 3:
            embedded.append(0)
            raise KeyboardInterrupt
        embedded.append(len(texts))
        return embed(model, texts)

    monkeypatch.setattr(prepare, "embed", interrupted)
    path = settings.store_dir / connection.DATABASE_NAME
    with pytest.raises(KeyboardInterrupt):
        rebuild.reembed_store(settings)
    old, new = StaticModel.load(), StaticModel.load(settings["model"])
    reader = connection.open_reader(path)
    assert meta.read(reader, "model_fingerprint") == old.fingerprint
    assert maintenance.integrity_findings(reader) == []
    assert rebuild.reembed_store(settings) == N_TEXTS
    assert sum(embedded) == N_TEXTS  # nothing was embedded twice
    audit = AuditLog(settings.store_dir / FILE_NAME)
    told = [(record["event"], record["step"]) for record in audit.page(0, 10)]
    assert told == [("reembed", step) for step in ("begun", "failed", "begun", "done")]
    assert audit.page(3, 1)[0]["chunks"] == N_TEXTS
    assert audit.page(0, 1)[0]["model"] == new.fingerprint
    audit.close()
    assert meta.read(reader, "model_fingerprint") == new.fingerprint
    assert maintenance.integrity_findings(reader) == []
    reader.close()


def test_new_vectors_are_the_new_models(settings: config.Settings) -> None:
    rebuild.reembed_store(settings)
    new = StaticModel.load(settings["model"])
    reader = connection.open_reader(settings.store_dir / connection.DATABASE_NAME)
    stored = dict(reader.execute("SELECT rowid, embedding FROM chunk_vec"))
    texts = [("Heron 7", (), "the heron number 7 stands in the reeds")]
    ((vector, _),) = prepare.embed(new, texts)
    assert stored[8] == vector.tobytes()
    reader.close()


def test_another_analyser_goes_on_where_it_was_interrupted(
    settings: config.Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at a start-up that is killed, however often: every chunk is analysed once."""
    monkeypatch.setattr(fulltext, "STAGING_BATCH", 8)
    analyse = prepare.terms_of
    analysed: list[str] = []

    def interrupted(analyzer: Analyzer, title: str, path: tuple[str, ...], text: str) -> Terms:
        if len(analysed) in (16, 33):
            analysed.append("nothing")
            raise KeyboardInterrupt
        analysed.append(title)
        return analyse(analyzer, title, path, text)

    monkeypatch.setattr(prepare, "terms_of", interrupted)
    path = settings.store_dir / connection.DATABASE_NAME
    analyzer = Analyzer("german")
    for ends in (KeyboardInterrupt, KeyboardInterrupt, None):
        with closing(connection.open_writer(path)) as writer:
            with closing(connection.open_reader(path)) as reader:
                if ends is None:
                    assert rebuild.replace_terms(writer, reader, analyzer) == N_TEXTS
                    assert meta.read(writer, "language") == "german"
                else:
                    with pytest.raises(ends):
                        rebuild.replace_terms(writer, reader, analyzer)
                    assert meta.read(writer, "language") == "english"
            assert maintenance.integrity_findings(writer) == []
    assert len(analysed) == N_TEXTS + 2
    assert set(analysed) == {"nothing", *(f"Heron {number}" for number in range(N_TEXTS))}
