"""Many at once on one store: nobody is told of a lock, and no log grows for ever."""

import threading
from collections.abc import Callable
from pathlib import Path

import apsw

from brain_daemon.client import Client
from brain_daemon.store import checksums
from brain_daemon.store.connection import DATABASE_NAME, JOURNAL_LIMIT_BYTES
from tests.daemon_process import Daemon
from tests.protocol.serving import wait_until

N_EACH = 8


def at_once(works: list[Callable[[], None]]) -> list[BaseException]:
    """Do all on threads of their own; what went wrong."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(works))

    def do(work: Callable[[], None]) -> None:
        try:
            barrier.wait()
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=do, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_eight_writers_and_eight_readers(daemon: Daemon) -> None:
    def write(name: int) -> None:
        with daemon.client() as client:
            for number in range(12):
                made = client.remember(f"heron {name} at weir {number}", uri=f"w{name}-{number}")
                assert client.get(id=made["chunk_ids"][0])["text"].startswith("heron")
                if number % 4 == 3:
                    client.remember(f"heron {name} has left", uri=f"w{name}-{number}")
                    client.forget(uri=f"w{name}-{number - 1}")

    def read(name: int) -> None:
        with daemon.client() as client:
            for number in range(12):
                client.recall(q=f"heron {name} weir", k=3)
                client.call("documents", limit=50)
                client.health()
                if name == 0 and number % 4 == 0:
                    client.call("stats")

    works: list[Callable[[], None]] = []
    for name in range(N_EACH):
        works += [lambda name=name: write(name), lambda name=name: read(name)]  # type: ignore[misc]
    assert at_once(works) == []
    with daemon.client() as client:
        assert client.call("stats")["documents"] == N_EACH * 9
        assert client.health(deep=True)["reasons"] == []


def fill(client: Client, prefix: str, n: int) -> None:
    text = "the river rose " * 2000
    for outcome in client.pipeline(
        (("remember", {"text": text, "uri": f"{prefix}-{i}"}) for i in range(n)), in_flight=20
    ):
        assert outcome["created"]


def test_log_that_a_stalled_reader_grew_is_given_back(daemon: Daemon) -> None:
    log = Path(f"{daemon.store / DATABASE_NAME}-wal")
    with daemon.client() as client:
        client.remember("the first")
        stalled = apsw.Connection(str(daemon.store / DATABASE_NAME), vfs=checksums.file_system())
        stalled.execute("BEGIN")
        seen = stalled.execute("SELECT count(*) FROM document").get
        n_filled = 0
        while log.stat().st_size <= JOURNAL_LIMIT_BYTES:
            fill(client, f"r{n_filled}", 20)  # nobody waits for the reader
            n_filled += 20
        assert stalled.execute("SELECT count(*) FROM document").get == seen
        stalled.execute("COMMIT")
        stalled.close()
        fill(client, "later", 1)  # moves the log into the file, behind its answer

        def is_cut() -> bool:
            client.remember("one more", uri="one more")
            return log.stat().st_size <= JOURNAL_LIMIT_BYTES

        client.remember("the last", uri="last")  # begins the log anew
        wait_until(is_cut)
        assert client.call("stats")["documents"] == n_filled + 4
        assert client.health(deep=True)["reasons"] == []
