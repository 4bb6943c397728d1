"""Room that is kept: allocated for real, given once, and not taken where there is none."""

from pathlib import Path

import apsw
import pytest

from brain_daemon.store.reserve import RESERVE_BYTES, Reserve


def test_room_is_allocated_and_given_once(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path)
    assert reserve.hold()
    file = tmp_path / "reserve"
    assert file.stat().st_blocks * 512 >= RESERVE_BYTES
    assert file.stat().st_mode & 0o777 == 0o600
    assert reserve.hold()
    assert reserve.release()
    assert not file.exists()
    assert not reserve.release()
    assert reserve.hold()


def test_room_of_an_earlier_process_is_taken_over(tmp_path: Path) -> None:
    Reserve(tmp_path).hold()
    later = Reserve(tmp_path)
    assert not later.is_held
    assert later.release()


def test_what_is_in_the_way_is_no_full_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert Reserve(tmp_path / "absent").hold()
    (tmp_path / "reserve").symlink_to(tmp_path / "elsewhere")
    assert Reserve(tmp_path).hold()
    assert not (tmp_path / "elsewhere").exists()
    assert len(caplog.records) == 2


@pytest.mark.parametrize("code", [apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_WRITE])
def test_a_disk_that_takes_writes_explains_no_failure(tmp_path: Path, code: int) -> None:
    error = apsw.IOError("disk I/O error")
    error.extendedresult = code
    assert Reserve(tmp_path).explain(error) is error
    assert list(tmp_path.iterdir()) == []
