"""Group commit: acknowledged means committed, and a refused write harms no neighbour."""

import asyncio
import resource
import threading
import weakref
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from msgspec.structs import replace

from brain_daemon import heap
from brain_daemon.errors import NotFound, Overloaded, StoreDegraded
from brain_daemon.index.snapshot import Change
from brain_daemon.service.writer import ExclusiveJob, WriteJob, Writer
from brain_daemon.store import connection
from brain_daemon.store.reserve import Reserve
from tests.protocol.serving import wait_until
from tests.service.appliance import Appliance, put


class Bench:
    """A writer on a real file with one plain table, and what it published."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.published: list[list[Change]] = []
        conn = connection.open_writer(path)
        conn.execute("CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT UNIQUE)")
        self.writer = Writer(
            conn,
            Reserve(path.parent),
            self.published.append,
            **{"max_batch": 64, "max_waiting": 1000, **options},
        )

    def stored(self) -> list[str]:
        reader = connection.open_reader(self.path)
        try:
            return [row[0] for row in reader.execute("SELECT text FROM note ORDER BY id")]
        finally:
            reader.close()


def insert(text: str, *more: str) -> WriteJob:
    def apply(conn: apsw.Connection) -> tuple[Any, list[Change]]:
        for each in (text, *more):
            conn.execute("INSERT INTO note(text) VALUES (?)", (each,))
        return text, [Change.removal([1])]

    return WriteJob(apply)


def refuse(conn: apsw.Connection) -> tuple[Any, list[Change]]:
    raise NotFound("there is no such thing")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "notes.db")
    yield bench
    if bench.writer.is_alive():
        bench.writer.stop()


async def outcomes(*awaitables: Awaitable[Any]) -> list[Any]:
    return await asyncio.gather(*awaitables, return_exceptions=True)


def run(bench: Bench, *jobs: WriteJob | ExclusiveJob) -> list[Any]:
    """Queue all jobs before the thread starts, so that they share a batch."""

    async def all_jobs() -> list[Any]:
        futures = [bench.writer.submit(job) for job in jobs]
        if not bench.writer.is_alive():
            bench.writer.start()
        return await outcomes(*futures)

    return asyncio.run(all_jobs())


def test_waiting_writes_share_one_commit_and_one_publication(bench: Bench) -> None:
    assert run(bench, *(insert(f"n{i}") for i in range(40))) == [f"n{i}" for i in range(40)]
    assert bench.writer.commits == 1
    assert [len(changes) for changes in bench.published] == [40]
    assert len(bench.stored()) == 40


def test_batch_is_bounded(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "notes.db", max_batch=10)
    run(bench, *(insert(f"n{i}") for i in range(40)))
    bench.writer.stop()
    assert bench.writer.commits == 4


def test_acknowledged_only_after_commit(bench: Bench) -> None:
    seen: list[list[str]] = []

    async def scenario() -> None:
        future = bench.writer.submit(insert("durable"))
        future.add_done_callback(lambda _: seen.append(bench.stored()))
        bench.writer.start()
        await future
        await asyncio.sleep(0)

    asyncio.run(scenario())
    assert seen == [["durable"]]


def test_refusal_before_any_change_keeps_the_batch(bench: Bench) -> None:
    results = run(bench, insert("a"), WriteJob(refuse), insert("b"))
    assert (results[0], results[2]) == ("a", "b")
    assert isinstance(results[1], NotFound)
    assert bench.stored() == ["a", "b"]
    assert bench.writer.commits == 1


def test_failure_after_a_change_is_undone_alone(bench: Bench) -> None:
    results = run(bench, insert("a"), insert("half", "a"), insert("b"), WriteJob(refuse))
    assert (results[0], results[2]) == ("a", "b")
    assert isinstance(results[1], apsw.ConstraintError)
    assert isinstance(results[3], NotFound)
    assert bench.stored() == ["a", "b"]
    assert [len(changes) for changes in bench.published] == [2]


def test_documents_are_stored_together_and_fail_alone(tmp_path: Path) -> None:
    appliance = Appliance(tmp_path / "brain.db")
    bad = put("bad")
    (chunk,) = bad.put.document.chunks
    unfit = replace(chunk, vector=np.ones(2 * len(chunk.vector), np.int8))
    bad.put = bad.put._replace(document=replace(bad.put.document, chunks=(unfit,)))
    first, refused, third = appliance.outcomes(put("first"), bad, put("third"))
    assert (first, third) == (1, 2)
    assert isinstance(refused, apsw.SQLError)
    assert appliance.snapshot.n_alive == 2
    assert appliance.writer.commits == 1
    appliance.close()


def test_exclusive_job_runs_outside_transactions_in_its_turn(bench: Bench) -> None:
    def vacuum(conn: apsw.Connection) -> int:
        conn.execute("VACUUM")
        return len(list(conn.execute("SELECT * FROM note")))

    assert run(bench, insert("a"), ExclusiveJob(vacuum), insert("b")) == ["a", 1, "b"]


def test_full_queue_is_overloaded_with_a_time_to_retry(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "notes.db", max_waiting=3)

    async def scenario() -> None:
        for i in range(3):
            bench.writer.submit(insert(f"n{i}"))
        with pytest.raises(Overloaded) as caught:
            bench.writer.submit(insert("one too many"))
        assert caught.value.detail["retry_after_ms"] > 0
        bench.writer.start()

    asyncio.run(scenario())
    bench.writer.stop()
    assert len(bench.stored()) == 3


def test_a_write_whose_caller_went_away_is_let_go_and_still_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "notes.db", max_waiting=3)

    class Large(str):
        pass

    async def scenario() -> None:
        held = Large("what a client sent")
        of_held = weakref.ref(held)
        kept, gone = bench.writer.submit(insert("kept")), bench.writer.submit(insert(held))
        del held
        assert of_held() is not None
        await asyncio.sleep(0)  # it is in the queue now
        gone.cancel()
        await asyncio.sleep(0)
        assert of_held() is None
        later = bench.writer.submit(insert("later"))
        with pytest.raises(Overloaded):  # the queue is as long as before
            bench.writer.submit(insert("one too many"))
        bench.writer.start()
        assert await asyncio.gather(kept, later) == ["kept", "later"]
        assert bench.writer.n_waiting == 0

    asyncio.run(scenario())
    assert bench.stored() == ["kept", "later"]
    bench.writer.stop()


def test_a_write_that_is_taken_is_carried_out_though_its_caller_goes(bench: Bench) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def apply(conn: apsw.Connection) -> tuple[Any, list[Change]]:
        begun.set()
        assert go_on.wait(30)
        return insert("taken").apply(conn)

    async def scenario() -> None:
        bench.writer.start()
        future = bench.writer.submit(WriteJob(apply))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait)
        future.cancel()
        await asyncio.sleep(0)
        go_on.set()
        assert await bench.writer.submit(insert("next")) == "next"

    asyncio.run(scenario())
    assert bench.stored() == ["taken", "next"]


def test_stop_commits_what_waits(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "notes.db")

    async def scenario() -> None:
        futures = [bench.writer.submit(insert(f"n{i}")) for i in range(100)]
        bench.writer.start()
        await asyncio.get_running_loop().run_in_executor(None, bench.writer.stop)
        assert await asyncio.gather(*futures) == [f"n{i}" for i in range(100)]

    asyncio.run(scenario())
    assert len(bench.stored()) == 100


def test_full_disk_is_a_typed_error_and_writes_resume(bench: Bench) -> None:
    def limit(conn: apsw.Connection) -> None:
        conn.pragma("max_page_count", conn.pragma("page_count"))

    def lift(conn: apsw.Connection) -> None:
        conn.pragma("max_page_count", 1 << 30)

    run(bench, insert("before"), ExclusiveJob(limit))
    (full,) = run(bench, insert("x" * 200_000))
    assert isinstance(full, StoreDegraded)
    assert "full" in full.message
    assert bench.stored() == ["before"]
    assert run(bench, ExclusiveJob(lift), insert("after"))[1] == "after"
    assert bench.writer.failure is None


def test_failed_commit_is_fail_stop(bench: Bench) -> None:
    """As after a failed fsync: nothing on this handle can be trusted to be durable."""

    def break_commit(conn: apsw.Connection) -> None:
        def hook() -> bool:
            raise apsw.IOError("disk I/O error")

        conn.set_commit_hook(hook)

    run(bench, insert("safe"), ExclusiveJob(break_commit))
    (lost,) = run(bench, insert("lost"))
    assert isinstance(lost, StoreDegraded)
    assert bench.writer.failure is not None
    assert bench.stored() == ["safe"]

    async def again() -> None:
        with pytest.raises(StoreDegraded, match="restart"):
            bench.writer.submit(insert("never"))

    asyncio.run(again())


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_in_the_quiet_after_many_writes_freed_memory_goes_back(bench: Bench) -> None:
    heap.map_large_blocks()
    blocks = [b"x" * 60_000 for _ in range(1_000)]
    kept = [*blocks[::50], b"x" * 60_000]  # the heap cannot shrink at its end
    del blocks
    full = resident_bytes()
    for i in range(12):
        run(bench, insert(f"{i}" + "x" * 500_000))
    wait_until(lambda: resident_bytes() < full - 30_000_000)
    assert len(kept) == 21


def test_tidying_that_fails_stops_no_write(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise MemoryError

    bench = Bench(tmp_path / "notes.db", in_quiet=fail)
    run(bench, insert("x" * 5_000_000))
    wait_until(lambda: "tidying up failed" in caplog.text)
    assert run(bench, insert("after")) == ["after"]
    bench.writer.stop()
