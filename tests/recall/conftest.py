from collections.abc import Iterator
from pathlib import Path

import pytest

from brain_daemon.embedding.model import StaticModel
from tests.recall.memories import Memories


@pytest.fixture(scope="session")
def model() -> StaticModel:
    return StaticModel.load()


@pytest.fixture
def memories(tmp_path: Path, model: StaticModel) -> Iterator[Memories]:
    opened = Memories(tmp_path / "brain.db", model)
    yield opened
    opened.conn.close()
