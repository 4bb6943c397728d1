"""The checksum of SQLite's write-ahead log.

Bytes in, checksums out; what a frame is and which of them count is decided in ``store.log``.
"""

from libc.stdint cimport uint32_t

import numpy as np


def chained(const unsigned char[:, :] rows not None, const uint32_t[:, ::1] before not None,
            bint big_endian):
    """Go on with a checksum over the bytes of each row.

    Parameters
    ----------
    rows : uint8 array, shape (n, w)
        The bytes of a row next to each other, and a multiple of 8 of them.
    before : uint32 array, shape (n, 2)
        The checksum up to each row.
    big_endian : bool
        How the log has its words.

    Returns
    -------
    uint32 array, shape (n, 2)

    Raises
    ------
    ValueError
        If the shapes do not fit.

    References
    ----------
    "WAL-mode File Format", section "Checksum Algorithm", in SQLite's documentation.
    """
    cdef Py_ssize_t n = rows.shape[0], width = rows.shape[1], i, place
    cdef const unsigned char *at
    cdef uint32_t first, second
    if before.shape[0] != n or before.shape[1] != 2:
        raise ValueError(f"checksums of shape {np.shape(before)} for {n} rows")
    if width % 8:
        raise ValueError(f"rows of {width} bytes: a multiple of 8 is needed")
    if width and rows.strides[1] != 1:
        raise ValueError("the bytes of a row must be next to each other")
    after = np.empty((n, 2), np.uint32)
    cdef uint32_t[:, ::1] after_view = after
    with nogil:
        for i in range(n):
            at = &rows[i, 0] if width else NULL
            first, second = before[i, 0], before[i, 1]
            for place in range(0, width, 8):
                first += word(at + place, big_endian) + second
                second += word(at + place + 4, big_endian) + first
            after_view[i, 0], after_view[i, 1] = first, second
    return after


cdef inline uint32_t word(const unsigned char *at, bint big_endian) noexcept nogil:
    cdef uint32_t a = at[0], b = at[1], c = at[2], d = at[3]
    if big_endian:
        return a << 24 | b << 16 | c << 8 | d
    return d << 24 | c << 16 | b << 8 | a
