"""How the C library's heap keeps and gives back memory. A leaf.

glibc comes to keep ever larger blocks in its heap: what a growing index leaves behind there is a
hole that stays. Other C libraries have no such calls and need none.
"""

import ctypes
from typing import Any

# Above what a recall allocates for a quarter of a million rows: its arrays stay in the heap, and
# so does what they leave at its end, since getting pages anew makes a recall dearer.
_MAPPED_BYTES = 2 << 20
_KEPT_BYTES = 64 << 20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def map_large_blocks() -> None:
    """Let blocks of 2 MB and more be mapped one by one, so that freeing gives them back."""
    mallopt = _find("mallopt")
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def trim() -> None:
    """Return what was freed: about 10 MB after the index was loaded or 10,000 chunks written."""
    malloc_trim = _find("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def _find(name: str) -> Any:
    """Find a function of glibc; None where another C library is at work."""
    library = ctypes.CDLL(None)
    return getattr(library, name) if hasattr(library, "gnu_get_libc_version") else None
