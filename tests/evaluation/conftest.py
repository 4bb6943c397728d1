from collections.abc import Iterator
from pathlib import Path

import pytest

from brain_daemon.evaluation.collection import Collection, read
from brain_daemon.evaluation.loaded import LoadedCollection, loaded
from tests.evaluation.folders import write_collection


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_collection(tmp_path / "tiny")


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return read(write_collection(tmp_path_factory.mktemp("evaluation") / "tiny"))


@pytest.fixture(scope="session")
def engine(collection: Collection) -> Iterator[LoadedCollection]:
    with loaded(collection.documents) as running:
        yield running
