"""Looking up every run of six letters of a text at once.

A text and a table in, the places that the table knows out; what stems they belong to is decided in
``ingest.screening``.
"""

from libc.stdint cimport uint16_t, uint64_t

cdef enum:
    LETTERS = 6
    N_SLOTS = 1 << 16

RUN = LETTERS
SLOTS = N_SLOTS

# Fibonacci hashing, 0x9E3779B97F4A7C15 moved up by the two bytes that a run leaves free.
cdef uint64_t FACTOR = 0x79B97F4A7C150000


def slot(const unsigned char[::1] run not None):
    """Give the place in a table of a run of six letters.

    Parameters
    ----------
    run : bytes-like, shape (6,)

    Returns
    -------
    int
        In 0 .. 65535.

    Raises
    ------
    ValueError
        If the run is of another length.
    """
    cdef uint64_t value = 0
    cdef Py_ssize_t i
    if run.shape[0] != LETTERS:
        raise ValueError(f"a run of {run.shape[0]} letters: it must have {LETTERS}")
    for i in range(LETTERS):
        value |= <uint64_t>run[i] << 8 * i
    return (value * FACTOR) >> 48


def find(const unsigned char[::1] letters not None, const uint16_t[::1] table not None):
    """Find the runs whose slot has an entry.

    Parameters
    ----------
    letters : bytes-like, shape (n,)
    table : uint16 array, shape (65536,)
        By `slot`; 0 is no entry.

    Returns
    -------
    list of (int, int)
        Where the run starts, ascending, and the entry.

    Raises
    ------
    ValueError
        If the table has another size.

    References
    ----------
    Knuth, The Art of Computer Programming, volume 3, section 6.4 (multiplicative hashing), 1973.
    """
    cdef Py_ssize_t n = letters.shape[0], i
    cdef uint64_t value = 0
    cdef uint16_t entry
    if table.shape[0] != N_SLOTS:
        raise ValueError(f"a table of {table.shape[0]} slots: it must have {N_SLOTS}")
    found = []
    for i in range(n):
        value = value >> 8 | <uint64_t>letters[i] << 8 * (LETTERS - 1)
        if i >= LETTERS - 1:
            entry = table[(value * FACTOR) >> 48]
            if entry:
                found.append((i - LETTERS + 1, entry))
    return found
