"""Traces of recalls, kept in memory for a while: how an answer came about, without any text.

Here: keeping and finding them. Not here: who may ask (``recall``), what a leg says (``recall/``).
"""

import secrets
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

import msgspec

MAX_TRACES = 256
MAX_BYTES = 8 << 20

# A trace outlives what it tells of, so nothing that a memory says may be in it.
_OF_ANSWER = (
    "decision",
    "reason",
    "visible",
    "lex",
    "legs",
    "ranked",
    "assessment",
    "expansion",
    "took_us",
)
_OF_HIT = ("id", "score", "relevance", "provenance")


class _Kept(NamedTuple):
    owner: str
    data: bytes


class Traces:
    """The last traces of all callers, at most 256 and 8 MiB; the oldest leaves first.

    Thread-safe. A trace is found by its unguessable id and by its owner only.
    """

    def __init__(self, max_traces: int = MAX_TRACES, max_bytes: int = MAX_BYTES) -> None:
        self._max_traces = max_traces
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._n_bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, owner: str, request: msgspec.Struct, answer: dict[str, Any], at: str) -> str:
        """Keep what a trace has of an answer; give its id."""
        trace_id = secrets.token_hex(8)
        trace = {
            "trace_id": trace_id,
            "at": at,
            "request": request,
            **{name: answer[name] for name in _OF_ANSWER if name in answer},
            "hits": [{n: hit[n] for n in _OF_HIT if n in hit} for hit in answer["hits"]],
        }
        data = msgspec.json.encode(trace)
        with self._lock:
            self._kept[trace_id] = _Kept(owner, data)
            self._n_bytes += len(data)
            while len(self._kept) > self._max_traces or (
                self._n_bytes > self._max_bytes and len(self._kept) > 1
            ):
                _, oldest = self._kept.popitem(last=False)
                self._n_bytes -= len(oldest.data)
        return trace_id

    def find(self, owner: str, trace_id: str) -> dict[str, Any] | None:
        """Give a trace of the owner's; None if it is another's, or no longer there."""
        kept = self._kept.get(trace_id)
        if kept is None or kept.owner != owner:
            return None
        trace: dict[str, Any] = msgspec.json.decode(kept.data)
        return trace
