"""What is asked of glibc's allocator so that the process stays small. A leaf.

Growing and merging the index frees large arrays. Left to itself glibc raises the size from which
memory is mapped, and so returned when freed, up to 32 MB, and gives each thread a heap of its
own: measured, 281 MB resident after the ingest of 100,000 chunks, against 237 MB with the bounds
below. Other C libraries have no such calls and need none.
"""

import ctypes

MAPPED_FROM_BYTES = 1 << 20
ARENAS = 2

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of <malloc.h>


def bound() -> None:
    """Set the bounds; to be called before the first thread starts."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, MAPPED_FROM_BYTES)
        mallopt(_M_TRIM_THRESHOLD, MAPPED_FROM_BYTES)
        mallopt(_M_ARENA_MAX, ARENAS)


def trim() -> None:
    """Return what was freed: about 10 MB after the index was loaded."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
