"""docs/protocol.md names every method, every field and every error code."""

import re
from pathlib import Path

import msgspec
import pytest

from brain_daemon.errors import ERROR_BY_CODE
from brain_daemon.service.dispatch import OPERATIONS

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "protocol.md").read_text()
SECTIONS = dict(re.findall(r"^### `([\w.]+)`\n(.*?)(?=^##|\Z)", TEXT, re.M | re.S))


def test_exactly_the_methods_that_exist() -> None:
    assert set(SECTIONS) == set(OPERATIONS)


@pytest.mark.parametrize("method", sorted(OPERATIONS))
def test_every_field_is_described(method: str) -> None:
    for field in msgspec.structs.fields(OPERATIONS[method].params):
        assert f"`{field.encode_name}`" in SECTIONS[method], field.name


def test_every_error_code_is_described() -> None:
    table = TEXT.split("## Errors")[1].split("## Limits")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == set(ERROR_BY_CODE)
