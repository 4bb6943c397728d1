"""A wall clock that a test sets for whole processes; their monotonic clock stays the real one."""

import os
from pathlib import Path

import pytest

DAY_S = 86_400


class Clock:
    """The wall clock of every process started with ``environment``, changed while they run.

    It is libfaketime's. CI installs it, and takes the skip without it for a failure.
    """

    def __init__(self, folder: Path) -> None:
        library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
        if library is None:
            pytest.skip("libfaketime is not installed")
        self._file = folder / "clock"
        self.environment = {
            "LD_PRELOAD": os.fspath(library),
            "FAKETIME_TIMESTAMP_FILE": os.fspath(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_FMT": "%s",
        }
        self.jump(0)

    def jump(self, offset_s: int) -> None:
        """Let it run on from so far before (below 0) or after the real time."""
        self._write(f"{offset_s:+d}")

    def stop_at(self, epoch_s: int) -> None:
        """Let it stand still."""
        self._write(str(epoch_s))

    def _write(self, value: str) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(value)
        new.replace(self._file)  # whoever asks for the time reads one value or the other
