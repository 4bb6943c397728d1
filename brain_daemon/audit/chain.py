"""The lines of an audit log: how one is chained to the one before it, and checking a whole file.

A line is a JSON object. Its last member, ``hash``, is the SHA-256 of the line's bytes before
``,"hash"``; ``prev`` is the hash of the line before; ``seq`` counts from 1. So a line that is
changed, left out, put in or moved breaks the chain, unless every line after it is written anew.
Lines cut off at the end leave no trace in the file: that takes a head noted elsewhere.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

GENESIS = "0" * 64
MAX_LINE_BYTES = 1 << 16
MAX_FINDINGS = 20
ROTATED = "audit.rotated"
_HASH = b',"hash":"'
_END = b'"}'


class Head(NamedTuple):
    """A place in the chain; whoever notes one can later prove that nothing before it changed."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


START = Head(0, GENESIS)


@dataclass(slots=True)
class Verdict:
    """What a check found: the last line's head, and what is wrong, the first of it first.

    ``start`` is the head before the first record that is there: older ones may have been dropped.
    """

    head: Head = START
    start: Head = START
    records: int = 0
    findings: list[str] = field(default_factory=list)

    def find(self, finding: str) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(finding)


def digest(line: bytes) -> str:
    """Give the SHA-256 of a line without its line end."""
    return hashlib.sha256(line.removesuffix(b"\n")).hexdigest()


def encode(before: Head, fields: dict[str, Any]) -> tuple[bytes, Head]:
    """Make the line that follows, with its line end; give it and its head."""
    record = {"seq": before.seq + 1, **fields, "prev": before.hash}
    body = json.dumps(record, ensure_ascii=True, separators=(",", ":"))[:-1].encode()
    hash_ = hashlib.sha256(body).hexdigest()
    return b"%b%b%b%b\n" % (body, _HASH, hash_.encode(), _END), Head(record["seq"], hash_)


def decode(line: bytes) -> tuple[dict[str, Any], bool] | None:
    """Read a line: the record, and whether its own hash is right; None if it is no record."""
    body, separator, rest = line.rstrip(b"\n").rpartition(_HASH)
    try:
        record = json.loads(line)
        fits = isinstance(record["seq"], int) and isinstance(record["prev"], str)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not separator or not fits:
        return None
    return record, rest == hashlib.sha256(body).hexdigest().encode() + _END


def verify(lines: Iterable[bytes], noted: Head | None = None) -> Verdict:
    """Check a log from its first line on.

    It may begin with a later record than the first, if one of its own records says that those
    before it were dropped, by the head of the last of them.

    Parameters
    ----------
    lines : iterable of bytes
        With their line ends.
    noted : Head, optional
        One that was noted earlier: the log must still have that record, unchanged.
    """
    verdict = Verdict()
    dropped: set[str] = set()
    torn: list[str] = []  # lines that a crash or a full disk cut short; the next one must say so
    for number, line in enumerate(lines, 1):
        decoded = decode(line) if line.endswith(b"\n") else None
        if decoded is None:
            torn.append(digest(line))
            continue
        record, is_intact = decoded
        if torn:
            if record.get("torn_sha256") != torn:
                verdict.find(f"line {number - len(torn)} is no record")
            torn = []
        seq = record["seq"]
        if not verdict.records:
            verdict.head = verdict.start = Head(seq - 1, record["prev"]) if seq > 1 else START
        if record.get("event") == ROTATED and isinstance(record.get("dropped"), list):
            dropped.update(map(str, record["dropped"]))
        if not is_intact:
            verdict.find(f"line {number} (record {seq}) was changed: its hash does not fit it")
        elif seq != verdict.head.seq + 1:
            verdict.find(
                f"line {number} is record {seq}, and record {verdict.head.seq + 1} is due: "
                "lines were taken out, put in or moved"
            )
        elif record["prev"] != verdict.head.hash:
            verdict.find(
                f"line {number} (record {seq}) does not follow the one before it, which was "
                "replaced or changed"
            )
        verdict.records += 1
        verdict.head = Head(seq, str(record.get("hash")))
        if noted is not None and seq == noted.seq and verdict.head != noted:
            verdict.find(f"record {seq} is not the one that was noted: the log was written anew")
    start = verdict.start
    if start != START and str(start) not in dropped:
        verdict.find(
            f"the log begins with record {start.seq + 1}, and none of its records tells that the "
            "others were dropped: a file is missing, or lines were taken out"
        )
    if noted is not None and noted.seq <= start.seq and noted not in (start, START):
        verdict.find(
            f"record {noted.seq} was noted, and the log keeps those from {start.seq + 1} on: "
            "note a newer head"
        )
    if torn:
        verdict.find("the last line is no record: it is being written, or was cut short")
    if noted is not None and verdict.head.seq < noted.seq:
        verdict.find(
            f"the log ends with record {verdict.head.seq}, and record {noted.seq} was noted: "
            f"{noted.seq - verdict.head.seq} were cut off at the end"
        )
    return verdict
