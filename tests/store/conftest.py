"""A new store on disk, opened as the writer opens it."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from brain_daemon.store import connection, schema

from .samples import model_facts


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "brain.db"


@pytest.fixture
def conn(store_path: Path) -> Iterator[apsw.Connection]:
    opened = connection.open_writer(store_path)
    schema.prepare(opened, **model_facts())
    yield opened
    opened.close()
