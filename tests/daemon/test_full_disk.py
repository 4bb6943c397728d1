"""Disks that are full, over quota or read-only: reads go on, forgetting works, writes resume.

The full disk is a small file system of its own. The others are what the kernel answers to the
daemon's own system calls, put there by strace while it runs.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from brain_daemon.client import Client
from brain_daemon.errors import StoreDegraded
from tests.daemon_process import Daemon
from tests.protocol.serving import wait_until

SIZE_MIB = 24


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A mounted file system of `SIZE_MIB`."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m", "none", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, name: str = "filler") -> Path:
    """Leave no byte to others."""
    filler = folder / name
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    assert os.statvfs(folder).f_bavail == 0
    return filler


def fill_up(client: Client, folder: Path) -> Path:
    """Fill the disk, then the room that the store's own files still have."""
    filler = fill(folder)
    for number in range(1000):
        try:
            client.remember(f"filling {number} " + "salt " * 2000, uri=f"f{number}")
        except StoreDegraded as refusal:
            if "full" not in refusal.message:
                raise
            return filler
    raise AssertionError("the disk never was full")


def test_full_disk(small_disk: Path) -> None:
    daemon = Daemon(small_disk / "d").start()
    with daemon.client() as client:
        for number in range(20):
            client.remember(f"The lighthouse {number} is lit", uri=f"n{number}")
        filler = fill_up(client, small_disk)
        with pytest.raises(StoreDegraded, match="full"):
            client.remember("one more " * 2000, uri="more")
        assert len(client.recall("lighthouse", k=30)["hits"]) == 20
        for number in range(10):
            assert client.call("forget", uri=f"n{number}")["chunk_ids"]
        assert len(client.recall("lighthouse", k=30)["hits"]) == 10
        health = client.call("health")
        assert health["status"] == "degraded"
        assert any("free some space" in reason for reason in health["reasons"])
        filler.unlink()
        assert client.remember("Room again", uri="room")["created"]
        assert client.call("health")["status"] == "ok"
        assert client.call("health", deep=True)["reasons"] == []
    assert daemon.stop() == 0


def test_start_on_a_full_disk(small_disk: Path) -> None:
    daemon = Daemon(small_disk / "d").start()
    with daemon.client() as client:
        client.remember("The lighthouse is lit", uri="n")
        filler = fill_up(client, small_disk)
    daemon.kill()
    (daemon.store / "brain.db-shm").unlink()  # as after the machine was started anew
    more = fill(small_disk, "more")
    daemon.start()
    with daemon.client() as client:
        assert client.recall("lighthouse")["hits"]
        assert client.call("forget", uri="n")["chunk_ids"]
        filler.unlink()
        more.unlink()
        assert client.remember("Room again")["created"]
    assert daemon.stop() == 0


@contextmanager
def answering(daemon: Daemon, calls: str, error: str) -> Iterator[None]:
    """Let the kernel answer the daemon's calls with an error."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    notes = daemon.log.with_name("strace.log")
    command = [strace, "-f", "-p", str(daemon.pid), "-o", str(notes), "-e", f"trace={calls}"]
    paths = [f"brain.db{end}" for end in ("", "-wal", "-shm")] + ["reserve", "probe"]
    for name in paths:
        command += ["-P", str(daemon.store / name)]
    process = subprocess.Popen(
        [*command, "-e", f"inject={calls}:error={error}"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    attached = process.stderr.readline()
    if "attached" not in attached:
        process.wait()
        pytest.skip(f"strace may not attach: {attached.strip()}")
    try:
        yield
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()


WRITES = "write,pwrite64,fallocate,ftruncate"


@pytest.mark.parametrize(
    ("error", "words"), [("EDQUOT", "full"), ("EROFS", "read-only"), ("ENOSPC", "full")]
)
def test_writes_resume_when_the_disk_takes_them_again(
    daemon: Daemon, client: Client, error: str, words: str
) -> None:
    client.remember("The lighthouse is lit", uri="n")
    with answering(daemon, WRITES, error):
        with pytest.raises(StoreDegraded, match=words):
            client.remember("refused", uri="refused")
        assert client.recall("lighthouse")["hits"]
        health = client.call("health")  # statvfs shows neither a quota nor what is injected here
        assert health["codes"] == ["read_only" if words == "read-only" else "disk_full"]
    assert client.call("health")["status"] == "ok"  # the disk was asked, and takes writes again
    assert client.remember("accepted", uri="accepted")["created"]
    health = client.call("health", deep=True)
    assert (health["status"], health["reasons"]) == ("ok", [])
    uris = {document["uri"] for document in client.call("documents")["documents"]}
    assert uris == {"n", "accepted"}


def test_a_failed_sync_stops_writing_for_good(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path).start()
    with daemon.client() as client:
        client.remember("The lighthouse is lit", uri="n")
        with answering(daemon, "fsync,fdatasync", "EIO"), pytest.raises(StoreDegraded):
            client.remember("in doubt", uri="doubt")
        with pytest.raises(StoreDegraded, match="restart"):
            client.remember("refused", uri="refused")
        assert client.recall("lighthouse")["hits"]
        assert client.call("health")["status"] == "degraded"
    daemon.stop()
    wait_until(lambda: daemon.process is not None and daemon.process.poll() is not None)
    daemon.start()
    with daemon.client() as client:
        assert client.remember("goes on", uri="on")["created"]
        uris = {document["uri"] for document in client.call("documents")["documents"]}
        assert {"n", "on"} <= uris <= {"n", "on", "doubt"}
        assert client.call("health", deep=True)["reasons"] == []
    assert daemon.stop() == 0
