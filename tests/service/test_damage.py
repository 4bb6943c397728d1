"""A store that was damaged while nobody looked: it is told, and nothing wrong is served."""

import functools
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from brain_daemon.embedding.model import StaticModel
from brain_daemon.errors import StoreDegraded
from brain_daemon.service import writer
from brain_daemon.store import checksums, connection
from tests.protocol.serving import wait_until
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


def test_what_a_deep_check_found_is_told_from_then_on_and_nothing_is_written_over_it(
    sound: tuple[Path, dict[int, str]],
) -> None:
    path, texts = sound
    world = World(path.parent)
    content = bytearray(path.read_bytes())
    content[-1000] ^= 16
    with path.open("r+b") as file:
        file.write(content)
    assert world.call("health", ADMIN)["status"] == "ok"  # nobody has looked yet
    assert "damaged" in world.call("health", ADMIN, deep=True)["codes"]
    health = world.call("health", ADMIN)
    assert health["codes"] == ["damaged"]
    assert "brain restore" in health["reasons"][0]
    with pytest.raises(StoreDegraded, match="takes no writes"):
        world.remember("more")
    assert dict(served(world, texts))  # what is sound
    world.close()


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


def damage_log(world: World) -> None:
    """Change a word in every page in the log, so that nothing but a checksum can tell."""
    log = world.memory.directory / "brain.db-wal"
    content = log.read_bytes()
    assert b"lighthouse" in content
    with log.open("r+b") as file:
        file.write(content.replace(b"lighthouse", b"lightbouse"))


def log_is_moved(world: World) -> bool:
    n_pages, n_moved = world.memory.reader().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    return n_moved == n_pages > 0 == world.memory.writer.log_pages


def test_a_deep_check_and_a_backup_verify_the_log(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    world = World(folder)
    world.remember("The lighthouse is lit")
    assert world.call("health", ADMIN, deep=True)["reasons"] == []
    world.call("backup", ADMIN, path=str(tmp_path / "sound.db"))
    damage_log(world)
    assert world.call("health", ADMIN)["reasons"] == []  # it looks at no page
    with pytest.raises(StoreDegraded, match="a copy would be, too"):
        world.call("backup", ADMIN, path=str(tmp_path / "damaged.db"))
    assert not (tmp_path / "damaged.db").exists()
    reasons = world.call("health", ADMIN, deep=True)["reasons"]
    assert "the write-ahead log is damaged" in reasons[0]
    with pytest.raises(StoreDegraded, match="takes no writes"):
        world.remember("more")
    with pytest.raises(StoreDegraded, match="a copy would be, too"):
        world.call("backup", ADMIN, path=str(tmp_path / "damaged.db"))
    world.close()


def test_an_old_log_is_moved_into_the_file_where_its_pages_have_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOG_AGE_S", 0.2)
    world = World(tmp_path)
    chunk_id = world.remember("The lighthouse is lit")
    wait_until(lambda: log_is_moved(world))
    damage_log(world)  # nobody reads it any more
    assert world.call("get", id=chunk_id)["text"] == "The lighthouse is lit"
    assert world.call("health", ADMIN, deep=True)["reasons"] == []
    world.remember("The log is begun anew")
    assert world.call("health", ADMIN, deep=True)["reasons"] == []
    wait_until(lambda: log_is_moved(world))
    assert world.call("health", ADMIN, deep=True)["reasons"] == []
    world.close()


def test_a_log_that_maintenance_emptied_is_not_taken_for_damaged(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.remember("The lighthouse is lit")
    world.call("compact", ADMIN)
    assert world.memory.writer.log_pages == 0
    assert world.call("health", ADMIN, deep=True)["reasons"] == []
    world.close()
    assert world.memory.writer.failure is None


def test_an_old_log_that_is_damaged_is_not_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOG_AGE_S", 1.0)
    world = World(tmp_path)
    for number in range(2):  # of the last commit a start could not tell damage from a torn write
        world.remember(f"The lighthouse {number} is lit")
    damage_log(world)
    wait_until(lambda: world.memory.writer.failure is not None)
    assert "the write-ahead log is damaged" in world.call("health", ADMIN)["reasons"][0]
    world.close()
    with pytest.raises(StoreDegraded):
        World(tmp_path)


def test_a_log_that_a_reader_needs_is_moved_when_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOG_AGE_S", 0.1)
    world = World(tmp_path)
    world.remember("one")
    reader = connection.open_reader(world.memory.database)
    reader.execute("BEGIN")
    n_seen = reader.execute("SELECT count(*) FROM chunk").get
    world.remember("two")
    thread = world.memory.writer
    due = thread._log_due
    wait_until(lambda: thread._log_due > due and thread.log_pages > 0)  # it was tried
    assert reader.execute("SELECT count(*) FROM chunk").get == n_seen
    reader.execute("COMMIT")
    wait_until(lambda: log_is_moved(world))
    reader.close()
    world.close()


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
