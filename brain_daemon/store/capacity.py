"""How much one store may hold, whoever stores it: the bounds that its operator sets.

They keep a small machine's memory and disk for what else runs there. Not here: what one owner may
store (``usage``), a full disk (``reserve``).
"""

import apsw
from msgspec import Struct

from brain_daemon.errors import CapacityExceeded

CURE = "forget something, or raise it"


class Capacity(Struct, frozen=True):
    """Bounds of a store; 0 is none.

    Parameters
    ----------
    chunks : int
        As many as are stored, those in quarantine included.
    bytes : int
        Of the database file, without the pages that are free and will be used again.
    """

    chunks: int = 0
    bytes: int = 0

    def check(self, conn: apsw.Connection, n_added: int, added_bytes: int) -> None:
        """Check that a document may come in, within the transaction that stores it.

        Parameters
        ----------
        n_added : int
            Chunks more than before.
        added_bytes : int
            As `usage.charge` counts; what makes the store smaller is never refused.

        Raises
        ------
        CapacityExceeded
            It would have more than ``chunks``, or has ``bytes`` already; so one document at most
            goes beyond those.
        """
        if self.chunks and n_added > 0:
            used = n_chunks(conn)
            if used + n_added > self.chunks:
                raise CapacityExceeded(
                    f"the store has {used} chunks and this adds {n_added}, max_chunks is "
                    f"{self.chunks}: {CURE}",
                    setting="max_chunks",
                    used=used,
                    added=n_added,
                    limit=self.chunks,
                )
        if self.bytes and added_bytes > 0:
            used = used_bytes(conn)
            if used >= self.bytes:
                raise CapacityExceeded(
                    f"the store has {used} bytes, max_store_bytes is {self.bytes}: {CURE}",
                    setting="max_store_bytes",
                    used=used,
                    limit=self.bytes,
                )


UNBOUNDED = Capacity()


def n_chunks(conn: apsw.Connection) -> int:
    """Count the chunks, those in quarantine included."""
    return int(conn.execute("SELECT count(*) FROM chunk").get)


def used_bytes(conn: apsw.Connection) -> int:
    """Give the size of the database file without its free pages; of this transaction's view."""
    pages, free, size = (
        int(conn.execute(f"PRAGMA {name}").get)
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size
