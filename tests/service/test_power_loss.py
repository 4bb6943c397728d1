"""Power cuts at every write and sync: what was acknowledged is there, nothing is half there.

Each scenario is recorded once on a `disk.Disk`; then every image that a cut may leave is opened as
a start of the daemon would, and has to hold the state of the last acknowledgement, or of the batch
that was under way, whole.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from brain_daemon.errors import BrainError
from brain_daemon.service import writer
from brain_daemon.service.writer import Job
from brain_daemon.store import connection, maintenance, schema
from tests.service import disk
from tests.service.appliance import (
    FACTS,
    Appliance,
    alone,
    analyse_again,
    disagreements,
    embed_again,
    forget,
    forget_chunk,
    picture,
    put,
)

Batch = list[Job]
PROBES = ("harbour", "changing", "lighthous", "bay0", "bay1", "absent")


def _few() -> Iterator[Batch]:
    yield [put("The harbour opens at six", uri="h", names=("Harbour",))]
    yield [put("first words|more words|changing words", uri="c"), put("bay0 lighthouse")]


def _writes() -> Iterator[Batch]:
    """Batches of one and of many: new, revised, removed whole and in part, linked."""
    for number in range(8):
        yield [
            put(f"bay{number % 3} note {number} {i}", uri=f"n{number}/{i}", names=(f"Bay {i}",))
            for i in range(1 + number % 4)
        ]
        yield [put(f"changing {number}|tail {number}", uri="changing", names=("Bay 0",))]
        if number % 3 == 2:
            yield [forget(f"n{number}/0"), put("linked", relations=(("Bay 0", "near", "Bay 1"),))]
        if number % 4 == 3:
            yield [forget_chunk(number)]


def _large() -> Iterator[Batch]:
    """Batches of many pages, so that a torn one has many ways to be torn."""
    for number in range(4):
        texts = [f"lighthouse {number} {i} " + "harbour salt " * 300 for i in range(6)]
        yield [put(text, uri=f"l{number}/{i}") for i, text in enumerate(texts)]
        yield [forget(f"l{number}/{i}") for i in range(0, 6, 2)]


def _compacted() -> Iterator[Batch]:
    yield from _few()
    yield [put(f"harbour {i} " + "salt " * 200, uri=f"s{i}") for i in range(20)]
    yield [forget(f"s{i}") for i in range(0, 20, 2)]
    yield [alone(maintenance.compact)]
    yield from _few()


def _derived_anew() -> Iterator[Batch]:
    yield from _few()
    yield [put(f"harbour bay{i % 2} {i}", uri=f"s{i}") for i in range(10)]
    yield [alone(embed_again)]
    yield [alone(analyse_again)]
    yield [put("changing afterwards", uri="c")]


# name: (batches, pages in the log before it is moved into the file, least number of images)
SCENARIOS: dict[str, tuple[Callable[[], Iterator[Batch]], int, int]] = {
    "creation": (_few, 1000, 300),
    "writes": (_writes, 1000, 1000),
    "writes, the log moved often": (_writes, 30, 1700),
    "large writes": (_large, 60, 1000),
    "compaction": (_compacted, 1000, 600),
    "terms and vectors derived anew": (_derived_anew, 20, 600),
}


def test_the_scenarios_make_enough_images() -> None:
    assert sum(at_least for _, _, at_least in SCENARIOS.values()) >= 2_500


def recorded(
    batches: Iterator[Batch], folder: Path, synchronous: str = "full"
) -> tuple[disk.Disk, list[tuple[int, str]]]:
    """Run the batches; the disk, and (operations done, state) at each acknowledgement."""
    with disk.installed() as under:
        appliance = Appliance(folder / "brain.db")
        appliance.do(alone(lambda conn: conn.pragma("synchronous", synchronous)))
        states = [(0, appliance.picture())]
        for batch in batches:
            appliance.do(*batch)
            states.append((len(under.log), appliance.picture()))
        appliance.close()
    return under, states


def distinct(
    under: disk.Disk, states: list[tuple[int, str]]
) -> Iterator[tuple[disk.Image, set[str]]]:
    """Each image once, and the states that it may show."""
    seen: set[tuple[int, int]] = set()
    for n_done, image in disk.crashes(under.log, seed=1):
        last = max(place for place, (acked, _) in enumerate(states) if acked <= n_done)
        key = (last, hash(tuple(sorted(image.items()))))
        if key not in seen:
            seen.add(key)
            yield image, {state for _, state in states[last : last + 2]}


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_acknowledged_write_is_lost_and_none_is_partial(
    name: str,
    tmp_path: Path,
    memory_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    batches, log_pages, at_least = SCENARIOS[name]
    monkeypatch.setattr(writer, "LOG_PAGES", log_pages)
    under, states = recorded(batches(), tmp_path)
    n_images = 0
    for image, allowed in distinct(under, states):
        disk.lay_out(image, memory_folder)
        check(memory_folder / "brain.db", allowed, goes_on=n_images % 20 == 0)
        n_images += 1
    with capsys.disabled():
        print(f"\n{name}: {n_images} images of {len(under.log)} operations")
    assert n_images >= at_least


@pytest.mark.parametrize("synchronous", ["normal", "off"])
def test_the_model_finds_what_a_store_loses_that_does_not_sync(
    synchronous: str, tmp_path: Path, memory_folder: Path
) -> None:
    under, states = recorded(_few(), tmp_path, synchronous)

    def cut_everywhere() -> None:
        for image, allowed in distinct(under, states):
            disk.lay_out(image, memory_folder)
            check(memory_folder / "brain.db", allowed, goes_on=False)

    with pytest.raises((AssertionError, BrainError, apsw.Error)):
        cut_everywhere()


def check(path: Path, allowed: set[str], *, goes_on: bool) -> None:
    """Start on what the cut left: the state is one that is allowed, and writing goes on."""
    conn = connection.open_writer(path)
    try:
        assert maintenance.settle(conn).findings == []
        schema.prepare(conn, **FACTS)
        assert picture(conn) in allowed
        assert disagreements(conn, PROBES) == []
    finally:
        conn.close()
    if goes_on:
        appliance = Appliance(path)
        appliance.do(put("after the cut", uri="after"))
        after = appliance.picture()
        appliance.close()
        conn = connection.open_writer(path)
        assert picture(conn) == after not in allowed
        assert disagreements(conn, PROBES) == []
        conn.close()
