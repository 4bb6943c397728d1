"""The one visibility predicate: principal and filters compiled into a mask over rows.

Every leg, and every other operation that shows a chunk, takes its candidates through this mask
before it takes its top k. Nothing else in the program decides what a caller may see.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brain_daemon.index.rows import NEVER_US, NO_KIND, Mask, Rows
from brain_daemon.model import Principal, Tags

PRIVATE = "private"
_MAX_CACHED = 16  # masks of one lineage: 16 × 100 kB at 100k chunks
_BEFORE_TIME, _AFTER_TIME = -NEVER_US - 1, NEVER_US


@dataclass(frozen=True, slots=True)
class Filters:
    """What a request asks to see; hashable.

    ``domain`` is a name, or a prefix followed by one ``*``. Creation times are half open:
    ``since_us <= created_at_us < until_us``. An empty ``sources`` means every source.
    """

    domain: str | None = None
    sources: tuple[str, ...] = ()
    node_kind: str | None = None
    since_us: int | None = None
    until_us: int | None = None
    include_decayed: bool = False


EVERYTHING = Filters()
EVER = Filters(include_decayed=True)  # what a principal may see at some time


class Visible(NamedTuple):
    """Which rows a request may see: ``mask`` of shape (n,), 1 = visible."""

    mask: Mask
    n_visible: int


class _Cached(NamedTuple):
    predicate: npt.NDArray[np.bool_]  # without ``alive``, over the first len(predicate) rows
    from_us: int  # holds for from_us <= now < until_us
    until_us: int
    alive: Mask
    visible: Visible


class VisibilityCache:
    """Masks of recent (principal, filters) pairs, shared by the snapshots of one lineage.

    Attributes of a row never change within one cache (another expiry begins a new one), so a mask
    computed for an older snapshot is extended by the rows added since and combined with the newer
    ``alive``. Entries are immutable and replaced as a whole: concurrent readers at worst compute
    one twice.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[object, ...], _Cached] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def visible(self, rows: Rows, principal: Principal, filters: Filters, now_us: int) -> Visible:
        """Compile the predicate, or take it from the cache until the next expiry instant."""
        key = (principal.name, principal.domains, principal.scopes, filters)
        cached = self._entries.get(key)
        if cached is not None and not cached.from_us <= now_us < cached.until_us:
            cached = None
        if cached is not None and cached.alive is rows.alive:
            return cached.visible
        n_rows = len(rows)
        predicate = cached.predicate[:n_rows] if cached else np.empty(0, np.bool_)
        until_us = cached.until_us if cached else _AFTER_TIME
        start = len(predicate)
        if start < n_rows:
            added = _predicate(rows, start, principal, filters, now_us)
            predicate = np.concatenate((predicate, added)) if start else added
            if not filters.include_decayed:
                until_us = min(until_us, _next_expiry(rows, start, now_us))
        mask = (predicate & (rows.alive != 0)).view(np.uint8)
        mask.flags.writeable = False
        visible = Visible(mask, int(np.count_nonzero(mask)))
        if cached is None or len(cached.predicate) <= n_rows:
            from_us = _BEFORE_TIME if filters.include_decayed else now_us
            self._store(key, _Cached(predicate, from_us, until_us, rows.alive, visible))
        return visible

    def _store(self, key: tuple[object, ...], entry: _Cached) -> None:
        self._entries.pop(key, None)
        while len(self._entries) >= _MAX_CACHED:
            self._entries.pop(next(iter(self._entries)), None)
        self._entries[key] = entry


def matches(pattern: str, label: str) -> bool:
    """Tell whether a label is the pattern, or starts with what precedes its trailing ``*``."""
    return label.startswith(pattern[:-1]) if pattern.endswith("*") else label == pattern


def matches_any(patterns: Iterable[str], label: str) -> bool:
    """Tell whether a label is one of what the patterns stand for."""
    return any(matches(pattern, label) for pattern in patterns)


def permits(principal: Principal, tags: Tags) -> bool:
    """Tell of one document what the mask says of rows: whether the principal's rule lets it see.

    For what has no row of its own (a list of documents, a change by id); expiry is not asked.
    """
    if not matches_any(principal.domains, tags.domain):
        return False
    if tags.access_scope == PRIVATE:
        return tags.owner == principal.name
    return matches_any(principal.scopes, tags.access_scope)


def _predicate(
    rows: Rows, start: int, principal: Principal, filters: Filters, now_us: int
) -> npt.NDArray[np.bool_]:
    part = slice(start, len(rows))
    labels = rows.labels
    mask = np.ones(len(rows) - start, np.bool_)
    if not filters.include_decayed:
        mask &= rows.expires_at_us[part] > now_us
    if filters.since_us is not None:
        mask &= rows.created_at_us[part] >= filters.since_us
    if filters.until_us is not None:
        mask &= rows.created_at_us[part] < filters.until_us
    mask &= _matching(rows, rows.domain[part], principal.domains)
    if filters.domain is not None:
        mask &= _matching(rows, rows.domain[part], (filters.domain,))
    if filters.sources:
        mask &= np.isin(rows.source[part], [labels.code(source) for source in filters.sources])
    if filters.node_kind is not None:
        mask &= rows.node_kind[part] == labels.code(filters.node_kind or NO_KIND)
    private = rows.access_scope[part] == labels.code(PRIVATE)
    own = rows.owner[part] == labels.code(principal.name)
    return mask & np.where(private, own, _matching(rows, rows.access_scope[part], principal.scopes))


def _matching(
    rows: Rows, codes: npt.NDArray[np.int32], patterns: tuple[str, ...]
) -> npt.NDArray[np.bool_]:
    if "*" in patterns:
        return np.ones(len(codes), np.bool_)
    accepted = rows.labels.select(lambda label: matches_any(patterns, label))
    return accepted[codes]


def _next_expiry(rows: Rows, start: int, now_us: int) -> int:
    expiries = rows.expires_at_us[start:]
    coming = expiries[expiries > now_us]
    return int(coming.min()) if len(coming) else _AFTER_TIME
