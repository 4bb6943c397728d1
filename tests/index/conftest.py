from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.index.stores import MirroredStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MirroredStore]:
    opened = MirroredStore(tmp_path / "brain.db")
    yield opened
    opened.conn.close()
