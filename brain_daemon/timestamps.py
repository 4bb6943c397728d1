"""UTC throughout: wire timestamps to microseconds since the epoch and back. A leaf."""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from brain_daemon.errors import BadRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)  # its ISO form has no offset to cut off
_MICROSECOND = timedelta(microseconds=1)
_FIRST_US = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST_US = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


def now_us() -> int:
    """Wall-clock time in UTC microseconds since the epoch."""
    return time.time_ns() // 1000


def parse_us(value: object, name: str) -> int:
    """Read an ISO 8601 date or date-time, or epoch seconds; without an offset it is UTC.

    Raises
    ------
    BadRequest
        Naming the field, the value and what is accepted.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _bad(value, name)
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip().upper())  # RFC 3339 has t and z, too
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
        else:
            moment = _EPOCH + timedelta(seconds=value)
        stamp_us = (moment - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError) as error:
        raise _bad(value, name) from error
    if not _FIRST_US <= stamp_us <= _LAST_US:  # an offset can lead out of what UTC can show
        raise _bad(value, name)
    return stamp_us


@lru_cache(maxsize=1024)
def format_us(stamp_us: int) -> str:
    """ISO 8601 in UTC with a ``Z``; microseconds only when there are any."""
    return (_NAIVE_EPOCH + timedelta(microseconds=stamp_us)).isoformat() + "Z"


def _bad(value: object, name: str) -> BadRequest:
    shown = repr(value)[:80]
    return BadRequest(
        f"{name} is {shown}; give ISO 8601 such as 2026-05-01, 2026-05-01T12:00:00Z or "
        "2026-05-01T12:00:00+02:00 (without an offset it is read as UTC), or epoch seconds, "
        "in the years 1 to 9999",
        field=name,
        value=shown,
    )
