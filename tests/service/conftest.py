from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An empty store in this process, open to several principals."""
    (tmp_path / "store").mkdir(mode=0o700)
    opened = World(tmp_path / "store")
    yield opened
    opened.close()
