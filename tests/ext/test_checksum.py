"""The checksum of a write-ahead log against plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon._ext.checksum import chained


def plain(row: bytes, before: tuple[int, int], big_endian: bool) -> tuple[int, int]:
    first, second = before
    for at in range(0, len(row), 8):
        order = "big" if big_endian else "little"
        x, y = (int.from_bytes(row[i : i + 4], order) for i in (at, at + 4))
        first = (first + x + second) % 2**32
        second = (second + y + first) % 2**32
    return first, second


words = st.integers(0, 2**32 - 1)


@given(st.data(), st.integers(0, 5), st.integers(0, 6), st.integers(0, 9), st.booleans())
def test_every_row_goes_on_from_its_own(data, n, pairs, margin, big_endian):
    before = data.draw(st.lists(st.tuples(words, words), min_size=n, max_size=n))
    width = 8 * pairs
    size = n * (margin + width)
    content = data.draw(st.binary(min_size=size, max_size=size))
    rows = np.frombuffer(content, np.uint8).reshape(n, margin + width)[:, margin:]
    sums = np.array(before, np.uint32).reshape(n, 2)
    sums.flags.writeable = False
    found = chained(rows, sums, big_endian)
    assert (found.dtype, found.shape) == (np.uint32, (n, 2))
    assert found.tolist() == [
        list(plain(row.tobytes(), each, big_endian)) for row, each in zip(rows, before, strict=True)
    ]


def test_what_does_not_fit_is_refused():
    rows, sums = np.zeros((2, 16), np.uint8), np.zeros((2, 2), np.uint32)
    with pytest.raises(ValueError, match="for 2 rows"):
        chained(rows, sums[:1], False)
    with pytest.raises(ValueError, match="for 2 rows"):
        chained(rows, np.zeros((2, 3), np.uint32), False)
    with pytest.raises(ValueError, match="multiple of 8"):
        chained(rows[:, :12], sums, False)
    with pytest.raises(ValueError, match="next to each other"):
        chained(rows[:, ::2], sums, False)
