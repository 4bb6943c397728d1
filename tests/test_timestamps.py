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
    ],
)
def test_what_utc_cannot_show_is_refused_by_name(value: object) -> None:
    with pytest.raises(BadRequest, match="created_at is"):
        parse_us(value, "created_at")
