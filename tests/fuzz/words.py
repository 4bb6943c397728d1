"""What requests are made of, for a fuzzer that would not guess whole names."""

from pathlib import Path

import msgpack
from msgspec import inspect

from brain_daemon.service.dispatch import OPERATIONS


def words() -> list[bytes]:
    """Methods and fields, encoded; and odd values."""
    names = set(OPERATIONS)
    for operation in OPERATIONS.values():
        info = inspect.type_info(operation.params)
        assert isinstance(info, inspect.StructType)
        names |= {field.encode_name for field in info.fields}
    odd = [2**64 - 1, -(2**63), float("nan"), float("inf"), "\0", "2026-02-30", b"\xff", {1: 2}]
    return [*map(msgpack.packb, sorted(names)), *map(msgpack.packb, odd), b"\x94\x00\x01"]


def write_dictionary(path: Path) -> Path:
    lines = ("".join(f"\\x{byte:02x}" for byte in word) for word in words())
    path.write_text("".join(f'"{line}"\n' for line in lines))
    return path
