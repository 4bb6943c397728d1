"""Stores that cannot be served say so with exit code 78; models and languages change safely."""

import resource
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from brain_daemon.daemon.main import EXIT_CONFIGURATION
from tests.daemon_process import Daemon
from tests.protocol.serving import wait_until

NOTES = [f"note {number} about the lighthouse keeper's cats" for number in range(30)]


def refused(daemon: Daemon, *options: str) -> str:
    process = daemon.spawn(*options, PIPE="1")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == EXIT_CONFIGURATION, errors.decode()
    assert b"Traceback" not in errors
    return errors.decode()


def reembed(daemon: Daemon, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "brain_daemon.daemon.main", "reembed"]
    return subprocess.run(
        [*command, "--store", str(daemon.store), "--model", str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def other_model(tmp_path: Path) -> Path:
    """The packaged model with one number changed: same dimension, another fingerprint."""
    packaged = resources.files("brain_daemon.embedding") / "default"
    with resources.as_file(packaged) as default:
        folder = Path(shutil.copytree(default, tmp_path / "other-model"))
    table = folder / "model.safetensors"
    content = bytearray(table.read_bytes())
    content[-1000] ^= 0x55
    table.write_bytes(content)
    return folder


@pytest.fixture
def filled(tmp_path: Path) -> Daemon:
    """A stopped daemon whose store holds the notes."""
    daemon = Daemon(tmp_path / "filled").start()
    with daemon.client() as client:
        for note in NOTES:
            client.remember(note)
    assert daemon.stop() == 0
    return daemon


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("the store is a file", "exists"),
        ("the database is no database", "damaged"),
        ("the database is a folder", "unable to open"),
        ("the database is a dangling link", "brain.db"),
        ("the lock is a link", "lock"),
    ],
)
def test_what_cannot_be_a_store_is_refused_in_one_line(
    tmp_path: Path, kind: str, words: str
) -> None:
    daemon = Daemon(tmp_path)
    database = daemon.store / "brain.db"
    if kind != "the store is a file":
        daemon.store.mkdir()
    match kind:
        case "the store is a file":
            daemon.store.write_text("precious")
        case "the database is no database":
            database.write_text("precious" * 1000)
        case "the database is a folder":
            database.mkdir()
        case "the database is a dangling link":
            database.symlink_to(tmp_path / "gone")
        case "the lock is a link":
            (daemon.store / "lock").symlink_to(tmp_path / "elsewhere")
    message = refused(daemon)
    assert words in message
    assert message.count("\n") == 1
    assert not (tmp_path / "elsewhere").exists()


def test_torn_database_is_refused_with_the_cure(filled: Daemon) -> None:
    database = filled.store / "brain.db"
    content = database.read_bytes()
    database.write_bytes(content[: len(content) // 2])
    assert "restore a backup" in refused(filled)


def test_another_model_of_the_same_dimension_is_refused_then_reembedded(
    filled: Daemon, other_model: Path
) -> None:
    assert "reembed" in refused(filled, "--model", str(other_model))
    done = reembed(filled, other_model)
    assert (done.returncode, done.stdout[:23]) == (0, "30 chunks embedded anew")
    assert "reembed" in refused(filled)
    filled.start("--model", str(other_model))
    with filled.client() as client:
        assert client.health(deep=True)["status"] == "ok"
        assert len(client.recall("lighthouse", k=30)["hits"]) == 30
    assert filled.stop() == 0


def test_reembed_of_no_store_makes_none(tmp_path: Path, other_model: Path) -> None:
    daemon = Daemon(tmp_path)
    daemon.store.mkdir()
    done = reembed(daemon, other_model)
    assert done.returncode == EXIT_CONFIGURATION
    assert "no store" in done.stderr
    assert not (daemon.store / "brain.db").exists()


def test_reembed_of_a_served_store_is_turned_away(daemon: Daemon, other_model: Path) -> None:
    done = reembed(daemon, other_model)
    assert done.returncode == 75
    assert f"pid {daemon.pid}" in done.stderr


@pytest.mark.parametrize("languages", [("english", "none", "english"), ("none", "english")])
def test_another_language_is_analysed_at_start(tmp_path: Path, languages: tuple[str, ...]) -> None:
    daemon = Daemon(tmp_path)
    for language in languages:
        daemon.environment["BRAIN_LANGUAGE"] = language
        daemon.start()
        with daemon.client() as client:
            client.remember("the umbrellas hang in the hall", uri="hall")
            for note in NOTES:
                client.remember(note, uri=note)
            legs = [hit["provenance"]["lexical"] for hit in client.recall("umbrella")["hits"]]
            found = [leg["terms"] for leg in legs if leg is not None]
            assert found == ([["umbrella"]] if language == "english" else [])
            assert client.health(deep=True)["status"] == "ok"
        assert daemon.stop() == 0


def test_socket_of_a_later_daemon_outlives_the_earlier_one(daemon: Daemon, tmp_path: Path) -> None:
    """Someone removed the socket's folder, lock and all, and started another daemon there."""
    shutil.rmtree(daemon.socket.parent)
    later = Daemon(tmp_path / "later")
    later.socket = daemon.socket
    later.start()
    assert daemon.stop() == 0
    with later.client() as client:
        assert client.ping() == "pong"
    assert later.stop() == 0
    assert not later.socket.exists()


@pytest.mark.parametrize("address", ["/nonexistent/notify", "@nobody-listens", "/" + "x" * 200])
def test_manager_that_cannot_be_notified_is_no_reason_to_stop(tmp_path: Path, address: str) -> None:
    daemon = Daemon(tmp_path)
    daemon.process = daemon.spawn(NOTIFY_SOCKET=address)
    wait_until(lambda: "serving" in daemon.log.read_text())
    with daemon.client() as client:
        assert client.ping() == "pong"
    assert daemon.stop() == 0
    assert "could not notify" in daemon.log.read_text()


def test_soft_limit_of_open_files_is_raised(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    low = len(list(Path("/proc/self/fd").iterdir())) + 64  # the test has to start the daemon
    daemon = Daemon(tmp_path, BRAIN_MAX_CONNECTIONS="1000")
    resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
    try:
        daemon.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    clients = [daemon.client() for _ in range(low + 50)]
    assert {client.ping() for client in clients} == {"pong"}
    for client in clients:
        client.close()
    assert daemon.stop() == 0


def test_log_never_holds_what_was_remembered_or_asked(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, BRAIN_SLOW_CALL_MS="1").start("--log-level", "debug")
    with daemon.client() as client:
        client.remember("wobblequark " * 5000, title="zephyrtangle", uri="file:quillmarsh")
        client.call(
            "ingest_markdown", content="---\ntags: [: wobblequark\n---\n# wobblequark", uri="u"
        )
        client.recall("wobblequark zephyrtangle", k=100)
        for unfit in ({"text": 5, "title": "wobblequark"}, {"text": "wobblequark", "kk": 1}):
            with pytest.raises(Exception, match=r"text|kk"):
                client.call("remember", **unfit)
        client.call("reindex")
        client.call("forget", uri="file:quillmarsh")
    assert daemon.stop() == 0
    log = daemon.log.read_text().lower()
    assert "slow call operation=remember" in log
    for word in ("wobblequark", "zephyrtangle", "quillmarsh"):
        assert word not in log
