"""Append-only arrays that successive snapshots share.

A snapshot holds a read-only view of the first n rows of a buffer with room to spare; the next
snapshot holds a longer view of the same buffer. Nothing below n is ever written again, so old
views stay valid while the one writer appends. Only the newest view may be extended.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

_GROWTH = 1.5
_MIN_ROWS = 64


def empty(dtype: npt.DTypeLike, *row_shape: int) -> npt.NDArray[Any]:
    """An array of zero rows, each of ``row_shape``."""
    return np.empty((0, *row_shape), dtype)


def extend(view: npt.NDArray[Any], values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Append rows, in place where the buffer has room.

    Parameters
    ----------
    view : ndarray, shape (n, ...)
        The newest view of its buffer; left unchanged.
    values : array_like, shape (m, ...)

    Returns
    -------
    ndarray, shape (n + m, ...)
        Read-only; amortised O(m).
    """
    rows = np.asarray(values, view.dtype)
    n, total = len(view), len(view) + len(rows)
    buffer = view if view.base is None else view.base
    if not isinstance(buffer, np.ndarray) or len(buffer) < total or not buffer.flags.writeable:
        capacity = max(total, int(n * _GROWTH), _MIN_ROWS)
        buffer = np.empty((capacity, *view.shape[1:]), view.dtype)
        buffer[:n] = view
    buffer[n:total] = rows
    grown = buffer[:total]
    grown.flags.writeable = False
    return grown
