import tempfile
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


@pytest.fixture
def memory_folder() -> Iterator[Path]:
    """A folder in memory where there is one: the images are synced, too, when they are opened."""
    in_memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=in_memory if in_memory.is_dir() else None) as folder:
        yield Path(folder)
