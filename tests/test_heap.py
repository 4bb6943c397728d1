"""What the heap gives back, in processes of their own: the settings hold for a whole process."""

import ctypes
import subprocess
import sys

import pytest

GROWTH = """
from pathlib import Path
import sys
import numpy as np
from brain_daemon import heap

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

if "mapped" in sys.argv:
    heap.map_large_blocks()
np.ones(30 << 20, np.uint8)  # freed at once: glibc keeps blocks of this size from now on
before = resident_mb()
blocks, between = [], []
for _ in range(40):
    blocks.append(np.ones(3 << 20, np.uint8))
    between.append(np.ones(100 << 10, np.uint8))
blocks.clear()
if "trimmed" in sys.argv:
    heap.trim()
print(resident_mb() - before)
"""


@pytest.fixture(autouse=True)
def _glibc() -> None:
    if not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
        pytest.skip("the C library is not glibc")


def left_mb(*how: str) -> float:
    command = [sys.executable, "-c", GROWTH, *how]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_large_blocks_leave_nothing_behind():
    assert left_mb() > 100
    assert left_mb("mapped") < 20


def test_trimming_returns_what_was_left():
    assert left_mb("trimmed") < 20
