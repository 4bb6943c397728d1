"""Giving freed memory back to the system. A leaf.

Growing and merging the index frees large arrays, and glibc keeps them until it is asked. Lower
thresholds for mapping and trimming would give them back at once, but made a recall measurably
dearer, so it is asked now and then. Other C libraries have no such call and need none.
"""

import ctypes

_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


def trim() -> None:
    """Return what was freed: about 10 MB after the index was loaded, tens after a long ingest."""
    if _malloc_trim is not None:
        _malloc_trim(0)
