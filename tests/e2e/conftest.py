"""Fixtures of the tests that run whole processes of several users."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may enter: pytest shuts its own anew whenever another run begins."""
    with tempfile.TemporaryDirectory(prefix="brain-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)
