"""Fixtures of the whole suite: the real daemon, and the public test data."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from brain_daemon.client import Client
from tests.daemon_process import ROOT, Daemon

# How long an example takes depends on what else the machine does; pytest's time limit is enough.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A running daemon with an empty store."""
    running = Daemon(tmp_path).start()
    yield running
    if running.process is not None and running.process.poll() is None:
        assert running.stop() == 0, running.log.read_text()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    """A client of that daemon."""
    with daemon.client() as connected:
        yield connected


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public test collections; others may not have it."""
    folder = Path(os.environ.get("BRAIN_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no public test data at {folder}; set BRAIN_TEST_DATA to its folder")
    return folder
