"""Before each check: the service as it was installed, with an empty store, not running."""

import shutil
from collections.abc import Iterator

import pytest

from tests.boot import machine


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    machine.systemctl("stop", machine.SERVICE)
    machine.systemctl("reset-failed", machine.SERVICE, check=False)
    for left in machine.STATE.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    machine.systemctl("start", machine.SOCKET)
    yield
    assert machine.show("ActiveState", machine.SOCKET) == "active"
