import numpy as np
import pytest

from brain_daemon.index import growable


def test_old_views_stay_while_the_newest_grows() -> None:
    views = [growable.empty(np.int32, 2)]
    rng = np.random.default_rng(1)
    expected = np.empty((0, 2), np.int32)
    copies = []
    for n_rows in (1, 70, 3, 0, 500):
        rows = rng.integers(0, 9, (n_rows, 2)).astype(np.int32)
        expected = np.concatenate((expected, rows))
        views.append(growable.extend(views[-1], rows))
        copies.append(expected)
    for view, copy in zip(views[1:], copies, strict=True):
        np.testing.assert_array_equal(view, copy)


def test_appends_in_place_while_there_is_room() -> None:
    first = growable.extend(growable.empty(np.int64), np.arange(3))
    second = growable.extend(first, [3])
    assert np.shares_memory(first, second)


def test_views_are_read_only() -> None:
    view = growable.extend(growable.empty(np.int64), [1])
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 2


def test_a_copy_on_write_array_can_grow_again() -> None:
    first = growable.extend(growable.empty(np.uint8), [1, 1])
    changed = first.copy()
    changed[0] = 0
    changed.flags.writeable = False
    assert growable.extend(changed, [1]).tolist() == [0, 1, 1]
    assert growable.extend(first, [1]).tolist() == [1, 1, 1]
