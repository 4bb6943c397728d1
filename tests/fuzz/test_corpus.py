"""What the fuzzer has found worth keeping, replayed without it."""

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_that_was_kept_holds(name: str) -> None:
    inputs = sorted((CORPUS / name).iterdir())
    assert len(inputs) > 8
    for path in inputs:
        assert path.stat().st_size <= 1024
        TARGETS[name](path.read_bytes())


def test_there_is_a_target_for_each_corpus() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
