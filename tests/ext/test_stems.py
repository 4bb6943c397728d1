"""Looking up runs of letters against plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_daemon._ext.stems import RUN, SLOTS, find, slot


@given(st.binary(max_size=40), st.lists(st.binary(min_size=RUN, max_size=RUN), max_size=5))
def test_every_run_that_the_table_knows_is_found(letters, known):
    runs = [letters[i : i + RUN] for i in range(len(letters) - RUN + 1)]
    table = np.zeros(SLOTS, np.uint16)
    for entry, run in enumerate([*known, *runs[::3]], 1):
        table[slot(run)] = entry
    table.flags.writeable = False
    expected = [(i, int(table[slot(run)])) for i, run in enumerate(runs) if table[slot(run)]]
    assert find(letters, table) == expected


@given(st.binary(min_size=RUN, max_size=RUN))
def test_a_slot_is_the_upper_bits_of_a_product(run):
    product = int.from_bytes(run, "little") * (0x9E3779B97F4A7C15 << 16) % 2**64
    assert slot(run) == product >> 48


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="5 letters"):
        slot(b"short")
    with pytest.raises(ValueError, match="256 slots"):
        find(b"letters", np.zeros(256, np.uint16))
