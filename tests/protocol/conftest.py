from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocol.serving import Serving


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path / "s") as running:
        yield running
