"""The picture is a PNG that shows every row."""

import struct
from pathlib import Path

from brain_daemon.evaluation.picture import draw


def size(path: Path) -> tuple[int, int]:
    header = path.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", header[16:24])
    return width, height


def report(*names: str) -> dict[str, object]:
    figures = {"nDCG@10": 0.5, "R@10": 0.6}
    return {
        "collection": "tiny",
        "queries": 3,
        "rows": [{"name": name, "figures": figures} for name in names],
    }


def test_a_png_is_written_that_grows_with_the_rows(tmp_path: Path) -> None:
    draw(report("grep", "full fusion"), tmp_path / "two.png")
    draw(report("grep", "vector", "lexical", "full fusion"), tmp_path / "four.png")
    assert size(tmp_path / "two.png")[1] < size(tmp_path / "four.png")[1]
