"""The attribute columns of the resident chunks: one row a chunk, no Python object per row.

Here is what filters and statistics read; vectors, postings and the graph have files of their own.
Rows ascend with chunk ids, so "row ascending" is "id ascending" everywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from brain_daemon.index import growable
from brain_daemon.model import Tags

NEVER_US = np.iinfo(np.int64).max  # the expiry instant of a chunk that has none
NO_KIND = ""  # how a node_kind of None is interned

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.uint8]


class Labels:
    """Interned strings of the label columns; codes ascend from 0 and are never reused.

    Shared by all snapshots of one load. Only the writer interns; readers look up.
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._names: list[str] = []

    def __len__(self) -> int:
        return len(self._names)

    def intern(self, name: str) -> int:
        """Give the code of a label, a new one if need be."""
        code = self._codes.get(name)
        if code is None:
            code = len(self._names)
            self._names.append(name)
            self._codes[name] = code
        return code

    def code(self, name: str) -> int:
        """Give the code of a label, -1 if no row ever bore it."""
        return self._codes.get(name, -1)

    def select(self, accepts: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
        """Tell for every code whether its label is accepted; shape (len(self),)."""
        names = self._names[:]
        return np.fromiter(map(accepts, names), np.bool_, len(names))


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of one chunk on its way into `Rows`."""

    chunk_id: int
    tags: Tags
    length: int  # terms in all its columns together
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of n rows each.

    ``domain``, ``owner``, ``access_scope``, ``source`` and ``node_kind`` are codes of ``labels``.
    """

    labels: Labels
    chunk_id: Ints  # ascending
    created_at_us: Ints
    expires_at_us: Ints  # NEVER_US: none
    domain: Codes
    owner: Codes
    access_scope: Codes
    source: Codes
    node_kind: Codes
    length: Codes
    flagged: Mask  # in quarantine: stored and indexed, and not alive; copied on write
    alive: Mask  # copied on write
    n_alive: int = 0
    n_flagged: int = 0
    total_length: int = 0  # over alive rows

    @classmethod
    def empty(cls) -> "Rows":
        ints, codes = growable.empty(np.int64), growable.empty(np.int32)
        mask = growable.empty(np.uint8)
        return cls(Labels(), ints, ints, ints, codes, codes, codes, codes, codes, codes, mask, mask)

    def __len__(self) -> int:
        return len(self.chunk_id)

    @property
    def average_length(self) -> float:
        """Mean terms of an alive row; 0 when there is none."""
        return self.total_length / self.n_alive if self.n_alive else 0.0

    @property
    def held(self) -> Mask:
        """1 for each row whose chunk is stored, shape (n,): alive, or in quarantine."""
        return self.alive | self.flagged

    def find(self, chunk_ids: Sequence[int] | Ints) -> Ints:
        """Rows of chunks, shape (m,); -1 where no held row has the id."""
        wanted = np.asarray(chunk_ids, np.int64)
        if not len(self):
            return np.full(len(wanted), -1, np.int64)
        found = np.minimum(np.searchsorted(self.chunk_id, wanted), len(self) - 1)
        is_held = (self.alive[found] | self.flagged[found]) != 0
        known = (self.chunk_id[found] == wanted) & is_held
        return np.where(known, found, -1)

    def append(self, chunks: Sequence[Attributes]) -> "Rows":
        """Add chunks at the end.

        Raises
        ------
        ValueError
            If the chunk ids do not ascend.
        """
        if not chunks:
            return self
        intern = self.labels.intern
        tags = [chunk.tags for chunk in chunks]
        return self.append_columns(
            chunk_id=[chunk.chunk_id for chunk in chunks],
            created_at_us=[t.created_at_us for t in tags],
            expires_at_us=[NEVER_US if t.expires_at_us is None else t.expires_at_us for t in tags],
            domain=[intern(t.domain) for t in tags],
            owner=[intern(t.owner) for t in tags],
            access_scope=[intern(t.access_scope) for t in tags],
            source=[intern(t.source) for t in tags],
            node_kind=[intern(t.node_kind or NO_KIND) for t in tags],
            length=[chunk.length for chunk in chunks],
            flagged=[chunk.flagged for chunk in chunks],
        )

    def append_columns(self, **columns: npt.ArrayLike) -> "Rows":
        """Add rows from one array per column, ``alive`` excepted; label columns are codes."""
        chunk_id = np.asarray(columns["chunk_id"], np.int64)
        if (np.diff(chunk_id, prepend=self.chunk_id[-1:]) <= 0).any():
            raise ValueError("chunk ids must ascend, and be greater than those already there")
        grown: dict[str, Any] = {
            name: growable.extend(getattr(self, name), values) for name, values in columns.items()
        }
        alive = 1 - np.asarray(columns["flagged"], np.uint8)
        n_alive = int(np.count_nonzero(alive))
        return replace(
            self,
            alive=growable.extend(self.alive, alive),
            n_alive=self.n_alive + n_alive,
            n_flagged=self.n_flagged + len(alive) - n_alive,
            total_length=self.total_length
            + int(np.sum(columns["length"], where=alive != 0, dtype=np.int64)),
            **grown,
        )

    def with_expiries(self, expiries: Sequence[tuple[Sequence[int], int | None]]) -> "Rows":
        """Let chunks expire at other instants, in the order given; unknown ids are skipped.

        The column is copied: snapshots from before keep theirs.
        """
        expires_at_us = self.expires_at_us.copy()
        for chunk_ids, instant in expiries:
            known = np.isin(self.chunk_id, chunk_ids, assume_unique=True)
            expires_at_us[known] = NEVER_US if instant is None else instant
        expires_at_us.flags.writeable = False
        return replace(self, expires_at_us=expires_at_us)

    def only(self, mask: Mask) -> "Rows":
        """Let none but some alive rows be alive; ``mask`` of shape (n,)."""
        return replace(
            self,
            alive=mask,
            n_alive=int(np.count_nonzero(mask)),
            total_length=int(np.sum(self.length, where=mask != 0, dtype=np.int64)),
        )

    def remove(self, rows: Ints) -> "Rows":
        """Mark held rows dead; ``rows`` are distinct."""
        quarantined = self.flagged[rows] != 0
        return self._mark(rows[~quarantined], alive=0)._unflag(rows[quarantined])

    def release(self, rows: Ints) -> "Rows":
        """Let rows out of quarantine; ``rows`` are distinct and flagged."""
        return self._unflag(rows)._mark(rows, alive=1)

    def hold(self, rows: Ints) -> "Rows":
        """Put living rows into quarantine; ``rows`` are distinct and alive."""
        held = self._mark(rows, alive=0)
        flagged = _with(self.flagged, rows, 1)
        return replace(held, flagged=flagged, n_flagged=self.n_flagged + len(rows))

    def _mark(self, rows: Ints, alive: int) -> "Rows":
        if not len(rows):
            return self
        sign = 1 if alive else -1
        return replace(
            self,
            alive=_with(self.alive, rows, alive),
            n_alive=self.n_alive + sign * len(rows),
            total_length=self.total_length + sign * int(self.length[rows].sum()),
        )

    def _unflag(self, rows: Ints) -> "Rows":
        if not len(rows):
            return self
        flagged = _with(self.flagged, rows, 0)
        return replace(self, flagged=flagged, n_flagged=self.n_flagged - len(rows))


def _with(mask: Mask, rows: Ints, value: int) -> Mask:
    """Copy a mask with other values in some rows."""
    changed = mask.copy()
    changed[rows] = value
    changed.flags.writeable = False
    return changed
