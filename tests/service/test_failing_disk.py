"""The n-th operation fails, for every n: a typed error, nothing half-written, and then it goes on.

"Goes on" means that later writes succeed, or, where the file cannot be trusted any more, that the
writer stops for good and a restart finds every acknowledged write.
"""

import shutil
from pathlib import Path

import apsw
import pytest

from brain_daemon.errors import BrainError, StoreDegraded
from brain_daemon.service import writer
from brain_daemon.store import chunks, connection, documents, failures, maintenance
from tests.service import disk
from tests.service.appliance import Appliance, alone, disagreements, forget, put

PROBES = ("first", "second", "third", "again")
TEXTS = {
    "a": "first part|first other part",
    "b": "second " * 400,
    "c": "third part|of three|third parts",
    "d": "again " * 900,
}


def io_error(code: int) -> apsw.Error:
    error = apsw.IOError("injected")
    error.extendedresult = code
    return error


KINDS = {
    "input/output error": lambda kind: io_error(
        {
            "read": apsw.SQLITE_IOERR_READ,
            "write": apsw.SQLITE_IOERR_WRITE,
            "sync": apsw.SQLITE_IOERR_FSYNC,
            "truncate": apsw.SQLITE_IOERR_TRUNCATE,
            "size": apsw.SQLITE_IOERR_FSTAT,
            "delete": apsw.SQLITE_IOERR_DELETE,
            "open": apsw.SQLITE_IOERR,
        }[kind]
    ),
    "full disk": lambda kind: apsw.FullError("injected") if kind in ("write", "truncate") else None,
    # Of the size, which SQLite asks after a commit without minding the answer, apsw would tell.
    "out of memory": lambda kind: None if kind == "size" else apsw.NoMemError("injected"),
}


class Failing:
    """Lets the n-th operation fail, once or from then on."""

    def __init__(self, kind: str, n: int, *, lasting: bool = False) -> None:
        self.make = KINDS[kind]
        self.left = n
        self.lasting = lasting
        self.hit: str | None = None

    def __call__(self, kind: str) -> BaseException | None:
        error = self.make(kind)
        if error is None or (self.hit is not None and not self.lasting):
            return None
        self.left -= 1
        if self.left > 0:
            return None
        self.hit = self.hit or kind
        return error


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A store that holds ``a`` and that no one has open."""
    path = tmp_path / "prepared.db"
    appliance = Appliance(path)
    appliance.do(put(TEXTS["a"], uri="a"))
    appliance.close()
    return path


def stored(conn: apsw.Connection) -> dict[str, str]:
    """The whole text of every document."""
    texts = {}
    for found, _ in documents.page(conn, "alice"):
        ids = [row[0] for row in conn.execute(_CHUNKS, (found.id,))]
        texts[found.uri] = "|".join(chunk.text for chunk in chunks.fetch(conn, ids))
    return texts


_CHUNKS = "SELECT id FROM chunk WHERE document_id = ? ORDER BY ordinal"


def use(path: Path, failing: Failing, under: disk.Disk) -> tuple[dict[str, str], dict[str, str]]:
    """Write while the disk fails; what was acknowledged, and what is in doubt."""
    acknowledged = {"a": TEXTS["a"]}
    in_doubt: dict[str, str] = {}
    under.fail = failing
    try:
        with failures.translated():
            appliance = Appliance(path)
    except BrainError:
        under.fail = None
        return acknowledged, in_doubt
    try:
        for batch in (["b", "c"], ["d"], ["-a"]):
            jobs = [forget(u[1:]) if u[0] == "-" else put(TEXTS[u], uri=u) for u in batch]
            for uri, outcome in zip(batch, appliance.outcomes(*jobs), strict=True):
                if isinstance(outcome, BaseException):
                    assert isinstance(outcome, StoreDegraded), repr(outcome)
                    in_doubt[uri] = TEXTS[uri.lstrip("-")]
                elif uri[0] == "-":
                    del acknowledged[uri[1:]]
                else:
                    acknowledged[uri] = TEXTS[uri]
        (outcome,) = appliance.outcomes(alone(maintenance.checkpoint))
        assert outcome is None or isinstance(outcome, StoreDegraded), repr(outcome)
        under.fail = None
        if appliance.writer.failure is None:
            is_lost = failing.hit == "sync" and failing.make is KINDS["input/output error"]
            assert not is_lost, "a failed sync was taken lightly"
            assert appliance.do(alone(stored)) == [acknowledged]
            alive = appliance.snapshot.rows.alive != 0
            assert (
                sorted(appliance.snapshot.rows.chunk_id[alive])
                == appliance.do(
                    alone(
                        lambda conn: [
                            row[0] for row in conn.execute("SELECT id FROM chunk ORDER BY id")
                        ]
                    )
                )[0]
            )
            appliance.do(put("written afterwards", uri="z"))
            acknowledged["z"] = "written afterwards"
        else:
            (refused,) = appliance.outcomes(put("refused", uri="z"))
            assert isinstance(refused, StoreDegraded)
            assert "restart" in refused.message
    finally:
        under.fail = None
        appliance.close()
    return acknowledged, in_doubt


def check(path: Path, acknowledged: dict[str, str], in_doubt: dict[str, str]) -> None:
    conn = connection.open_writer(path)
    found = stored(conn)
    assert disagreements(conn, PROBES) == []
    conn.close()
    for uri, text in acknowledged.items():
        if f"-{uri}" not in in_doubt:
            assert found.pop(uri) == text
        else:
            found.pop(uri, None)
    for uri, text in found.items():
        assert in_doubt.get(uri) == text, "neither acknowledged nor under way"
    appliance = Appliance(path)
    appliance.do(put("and on", uri="y"))
    appliance.close()


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("kind", KINDS)
def test_whichever_operation_fails(
    kind: str,
    lasting: bool,
    prepared: Path,
    memory_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(writer, "LOG_PAGES", 10)
    hits: dict[str, int] = {}
    n = 0
    while True:
        n += 1
        for path in memory_folder.iterdir():
            path.unlink()
        path = Path(shutil.copy(prepared, memory_folder / "brain.db"))
        failing = Failing(kind, n, lasting=lasting)
        with disk.installed() as under:
            acknowledged, in_doubt = use(path, failing, under)
        check(path, acknowledged, in_doubt)
        if failing.hit is None:
            break
        hits[failing.hit] = hits.get(failing.hit, 0) + 1
    with capsys.disabled():
        print(f"\n{kind}, {'lasting' if lasting else 'once'}: {hits}")
    assert hits["write"] >= 20
    assert kind == "full disk" or hits["sync"] >= 3


def test_memory_runs_out_inside_sqlite_at_any_point(tmp_path: Path) -> None:
    """SQLite's own heap is bounded to what it uses now and a little more, step by step."""
    path = tmp_path / "brain.db"
    appliance = Appliance(path)
    acknowledged, in_doubt = {}, {}
    refused = 0
    try:
        for step in range(120):
            apsw.hard_heap_limit(apsw.memory_used() + step * 1024)
            uri = f"u{step}"
            (outcome,) = appliance.outcomes(put("first " * 2000, uri=uri))
            apsw.hard_heap_limit(0)
            if isinstance(outcome, BaseException):
                assert isinstance(outcome, StoreDegraded), repr(outcome)
                assert "memory" in outcome.message
                refused += 1
            else:
                acknowledged[uri] = "first " * 2000
    finally:
        apsw.hard_heap_limit(0)
    assert refused >= 20
    assert acknowledged
    assert appliance.writer.failure is None
    assert appliance.do(alone(stored)) == [acknowledged]
    appliance.close()
    check(path, acknowledged, in_doubt)
