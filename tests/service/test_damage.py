"""A store that was damaged while nobody looked: it is told, and nothing wrong is served."""

import functools
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from brain_daemon.embedding.model import StaticModel
from brain_daemon.errors import StoreDegraded
from brain_daemon.store import checksums, connection
from tests.service.appliance import Appliance, put
from tests.service.world import ADMIN, ALICE, World

PAGE = checksums.PAGE_BYTES
WORDS = ["harbour", "lighthouse", "ferry", "keeper", "lantern", "tide", "anchor", "pilot"]


@pytest.fixture(autouse=True)
def one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same model for every start: loading it is not what is tested."""
    monkeypatch.setattr(StaticModel, "load", functools.cache(StaticModel.load))


@pytest.fixture
def sound(tmp_path: Path) -> tuple[Path, dict[int, str]]:
    """A store at rest, with free pages and long texts, and the text of each of its chunks."""
    rng = random.Random(7)
    folder = tmp_path / "sound"
    folder.mkdir()
    world = World(folder)
    for number in range(60):
        text = " ".join(rng.choices(WORDS, k=15 + 20 * (number % 9)))
        world.call("remember", text=f"Note {number}. {text}", uri=f"n{number}", entities=["Ana"])
    for number in range(0, 60, 4):
        world.call("forget", uri=f"n{number}")
    reader = world.memory.reader()
    texts = dict(reader.execute("SELECT id, text FROM chunk"))
    world.close()
    assert not Path(f"{folder / 'brain.db'}-wal").exists()
    return folder / "brain.db", texts


def free_pages(path: Path) -> set[int]:
    return checksums._free_pages(checksums._Pages(path))[1]


def flipped(content: bytearray, rng: random.Random) -> bytearray:
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return content


def truncated(content: bytearray, rng: random.Random) -> bytearray:
    return content[: rng.randrange(len(content))]


def zeroed(content: bytearray, rng: random.Random, free: set[int]) -> bytearray:
    while True:
        number = rng.randrange(len(content) // PAGE)
        place = slice(number * PAGE, (number + 1) * PAGE)
        # An unused page that is emptied is as good as before.
        if number + 1 not in free and any(content[place]):
            content[place] = bytes(PAGE)
            return content


def served(world: World, texts: dict[int, str]) -> Iterator[tuple[int, str]]:
    """All that get, recall and export give; a typed error in place of an answer is fine."""
    calls: list[tuple[str, dict[str, Any]]] = [("get", {"id": id_}) for id_ in texts]
    calls += [("recall", {"q": word, "k": 50}) for word in WORDS]
    calls += [("documents", {}), ("export", {"limit": 100})]
    for method, params in calls:
        try:
            answer = world.call(method, ADMIN if method == "export" else ALICE, **params)
        except StoreDegraded:
            continue
        for record in [answer, *answer.get("hits", ())]:
            if "text" in record:
                yield record["id"], record["text"]


def found_out(folder: Path, texts: dict[int, str]) -> str | None:
    """Start on a damaged store; how it came out, None if it did not."""
    try:
        world = World(folder)
    except StoreDegraded:
        return "refused at the start"
    try:
        told = None
        if world.call("health", ADMIN)["status"] == "degraded":
            told = "degraded from the start"
            with pytest.raises(StoreDegraded, match="restore"):
                world.remember("more")
        for id_, text in served(world, texts):
            assert text == texts[id_], "damage was served"
        if told is None and world.call("health", ADMIN, deep=True)["status"] == "degraded":
            told = "found by the deep check"
        return told
    finally:
        world.close()


@pytest.mark.parametrize(("damage", "times"), [(flipped, 200), (zeroed, 60), (truncated, 40)])
def test_random_damage_is_found_out_and_never_served(
    damage: Callable[..., bytearray],
    times: int,
    sound: tuple[Path, dict[int, str]],
    memory_folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, texts = sound
    content = path.read_bytes()
    rng = random.Random(damage.__name__)
    arguments = (free_pages(path),) if damage is zeroed else ()
    outcomes: dict[str | None, int] = {}
    for _ in range(times):
        folder = memory_folder / "store"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        (folder / connection.DATABASE_NAME).write_bytes(damage(bytearray(content), rng, *arguments))
        told = found_out(folder, texts)
        outcomes[told] = outcomes.get(told, 0) + 1
    with capsys.disabled():
        print(f"\n{damage.__name__}: {outcomes}")
    assert None not in outcomes


def test_damage_that_comes_while_the_daemon_serves(sound: tuple[Path, dict[int, str]]) -> None:
    path, texts = sound
    world = World(path.parent)
    assert world.call("health", ADMIN, deep=True)["status"] == "ok"
    content = bytearray(path.read_bytes())
    for start in range(10 * PAGE, len(content), PAGE):
        content[start + 3000] ^= 16
    with path.open("r+b") as file:
        file.write(content)
    refused = 0
    for id_, text in texts.items():
        try:
            assert world.call("get", id=id_)["text"] == text
        except StoreDegraded:
            refused += 1
    assert refused > 10
    health = world.call("health", ADMIN)
    assert health["status"] == "degraded"
    assert "brain restore" in health["reasons"][0]
    with pytest.raises(StoreDegraded, match="takes no writes"):
        world.remember("more")
    assert any(
        "checksums" in reason for reason in world.call("health", ADMIN, deep=True)["reasons"]
    )
    world.close()


def test_a_stopped_daemon_leaves_no_log_behind(sound: tuple[Path, dict[int, str]]) -> None:
    path, _ = sound
    assert {each.name for each in path.parent.glob("brain.db*")} == {"brain.db"}


def test_a_log_that_is_damaged_while_the_daemon_serves_is_not_moved_into_the_file(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    world = World(folder)
    for number in range(5):
        world.remember(f"The lighthouse {number} is lit")
    log = folder / "brain.db-wal"
    content = bytearray(log.read_bytes())
    content[32 + 24 + 3000] ^= 1
    with log.open("r+b") as file:
        file.write(content)
    world.close()
    assert log.read_bytes() == content
    with pytest.raises(StoreDegraded, match="write-ahead log is damaged"):
        World(folder)
    assert log.read_bytes() == content


def test_a_zeroed_end_of_a_block_of_vectors_is_told(tmp_path: Path) -> None:
    """Blocks of vectors are made of zeros, so that such a page alone is no sign of damage."""
    path = tmp_path / "brain.db"
    appliance = Appliance(path)
    for start in range(0, 256, 64):
        appliance.do(*(put(f"note {number}") for number in range(start, start + 64)))
    appliance.close()
    conn = connection.open_reader(path)
    page = conn.execute(
        "SELECT pageno FROM dbstat WHERE name = 'chunk_vec_vector_chunks00' "
        "AND pagetype = 'overflow' ORDER BY path DESC LIMIT 1"
    ).get
    conn.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))
    with pytest.raises(StoreDegraded, match="vectors are damaged"):
        Appliance(path)
