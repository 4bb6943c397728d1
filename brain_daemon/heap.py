"""Giving freed memory back to the system. A leaf.

Loading the index leaves freed heap behind that glibc keeps until it is asked. Lower thresholds for
mapping and trimming would give it back at once, but made a recall measurably dearer; asking again
as the index grows changed nothing. Other C libraries have no such call and need none.
"""

import ctypes


def trim() -> None:
    """Return what was freed: about 10 MB after the index was loaded."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
