import time

import pytest

from brain_daemon.errors import BadRequest
from brain_daemon.timestamps import format_us, parse_us


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("0001-01-01", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        ("2026-05-01T12:00:00+02:00", "2026-05-01T10:00:00Z"),
        ("2026-05-01T12:00", "2026-05-01T12:00:00Z"),
        ("2026-05-01t12:00:00z", "2026-05-01T12:00:00Z"),
        (-62135596800, "0001-01-01T00:00:00Z"),
        (1.5, "1970-01-01T00:00:01.500000Z"),
        ("2026-05-01T12:00:00.123456789Z", "2026-05-01T12:00:00.123456Z"),
        ("2026-05-01T12:00:00,5Z", "2026-05-01T12:00:00.500000Z"),
        ("20260501T120000-0330", "2026-05-01T15:30:00Z"),
        (" 2026-05-01 12:00:00 ", "2026-05-01T12:00:00Z"),
        ("2026-05-01T00:30:00+14:00", "2026-04-30T10:30:00Z"),
        ("2026-05-01T00:30:00-00:00", "2026-05-01T00:30:00Z"),
        ("2024-02-29", "2024-02-29T00:00:00Z"),
        (-0.5, "1969-12-31T23:59:59.500000Z"),
    ],
)
def test_what_is_accepted_can_be_shown(given: object, shown: str) -> None:
    assert format_us(parse_us(given, "created_at")) == shown


@pytest.mark.parametrize(
    "value",
    [
        "9999-12-31T23:59:59-00:01",
        "0001-01-01T00:00:00+23:59",
        253402300800,
        -62135596801,
        float("nan"),
        float("inf"),
        True,
        None,
        "",
        "2026-02-30",
        "2025-02-29",
        "2026-06-30T23:59:60Z",  # a leap second, which computers do not count
        "2026-05-01T24:00:00Z",
        "2026-05-01T12:00:00+24:00",
        "2026-05-01T12:00:00 CEST",
        "1777593600",  # epoch seconds are a number
        "0000-12-31",
        "10000-01-01",
        1_777_593_600_000,  # milliseconds
        2**70,
        1e300,
        b"2026-05-01",
    ],
)
def test_what_utc_cannot_show_is_refused_by_name(value: object) -> None:
    with pytest.raises(BadRequest, match="created_at is"):
        parse_us(value, "created_at")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Europe/Lisbon", "Asia/Kathmandu"])
def test_the_zone_of_the_process_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """Nor does an hour that it leaves out or has twice."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for naive in ("2026-03-08T02:30:00", "2026-03-29T01:30:00", "2026-10-25T01:30:00"):
            assert format_us(parse_us(naive, "since")) == naive + "Z"
        assert parse_us(0, "since") == 0
    finally:
        monkeypatch.undo()
        time.tzset()
