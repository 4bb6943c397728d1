"""The log: its two forms, requests that can be found in it, and what never stands in it."""

import asyncio
import io
import logging
import os
import re
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest

from brain_daemon import calls
from brain_daemon.client import Client
from brain_daemon.daemon import logs
from brain_daemon.errors import BrainError, NotFound
from brain_daemon.protocol.server import Server
from brain_daemon.service import dispatch
from brain_daemon.service.writer import WriteJob
from tests.daemon_process import Daemon
from tests.service.world import ADMIN, World

MARK = "wobblequark"
FORMS = (logs._Formatter, logs._JournalFormatter)


class Written:
    """All that this process logs, in one of the forms."""

    def __init__(self, form: type[logging.Formatter]) -> None:
        self._stream = io.StringIO()
        self.handler = logging.StreamHandler(self._stream)
        self.handler.setFormatter(form())

    @property
    def text(self) -> str:
        return self._stream.getvalue()


@pytest.fixture(params=FORMS, ids=["terminal", "journal"])
def written(request: pytest.FixtureRequest) -> Iterator[Written]:
    kept = Written(request.param)
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(kept.handler)
    yield kept
    root.removeHandler(kept.handler)
    root.setLevel(level)


log = logging.getLogger("somewhere")


def test_a_record_is_one_line_whatever_it_holds(written: Written) -> None:
    fields = {"operation": "recall", "took_ms": 1.23456, "path": 'a "b"=c\nd', "n": 3}
    log.warning("slow\n<2>forged \x1b[1m", extra={"fields": fields})
    (line,) = written.text.splitlines()
    assert line.endswith(
        r"somewhere: slow\n<2>forged \x1b[1m operation=recall took_ms=1.235 "
        r'path="a \"b\"=c\nd" n=3'
    )


def test_a_line_names_the_request_that_it_belongs_to(written: Written) -> None:
    token = calls.current.set(calls.Call(7, 42))
    log.info("within")
    calls.current.reset(token)
    log.info("without")
    within, without = written.text.splitlines()
    assert within.endswith("within request=7-42")
    assert without.endswith("without")


def raise_with_text() -> None:
    try:
        {}[MARK]
    except KeyError as error:
        raise NotFound(MARK) from error


def test_of_an_exception_kind_and_place_are_told_and_not_its_words(written: Written) -> None:
    try:
        raise_with_text()
    except NotFound:
        log.exception("it failed")
    try:
        open(f"/nonexistent/{MARK}")  # noqa: PTH123, SIM115
    except OSError:
        log.exception("it failed")
    assert "brain_daemon.errors.NotFound (not_found)" in written.text
    assert "builtins.KeyError" in written.text
    assert "builtins.FileNotFoundError (2)" in written.text
    assert f"{__file__}:" in written.text
    assert " in raise_with_text" in written.text
    assert MARK not in written.text


def test_the_journal_has_a_priority_on_every_line() -> None:
    form = logs._JournalFormatter()
    for level, priority in ((10, 7), (20, 6), (30, 4), (40, 3), (50, 2)):
        record = log.makeRecord("n", level, "f", 1, "x", (), (ValueError, ValueError(), None))
        lines = form.format(record).splitlines()
        assert len(lines) == 2
        assert all(line.startswith(f"<{priority}>") for line in lines)


@pytest.mark.parametrize("is_journal", [True, False])
def test_the_form_is_that_of_where_standard_error_leads(tmp_path: Path, is_journal: bool) -> None:
    daemon = Daemon(tmp_path)
    daemon.log.touch()
    status = daemon.log.stat()
    # A process that was started by a service inherits the variable, and not the stream.
    stream = f"{status.st_dev}:{status.st_ino + (not is_journal)}"
    daemon.environment["JOURNAL_STREAM"] = stream
    daemon.start()
    assert daemon.stop() == 0
    lines = daemon.log.read_text().splitlines()
    assert lines
    assert all(bool(re.match(r"<[3-7]>brain", line)) == is_journal for line in lines)
    assert all(bool(re.match(r"\d{4}-\d\d-\d\d ", line)) != is_journal for line in lines)


# ---- finding a request, and what was slow


def test_an_error_names_the_request_that_its_line_names(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path).start("--log-level", "debug")
    requests = []
    for _ in range(2):
        with daemon.client() as client:
            for method, params in (("get", {"id": 999}), ("forget", {"uri": "x"})):
                with pytest.raises(NotFound) as caught:
                    client.call(method, **params)
                requests.append((method, caught.value.detail["request"]))
    assert daemon.stop() == 0
    assert len(set(requests)) == 4
    for method, request in requests:
        line = f"call failed operation={method} code=not_found request={request}\n"
        assert daemon.log.read_text().count(line) == 1


@pytest.mark.parametrize("inline_rows", ["200000", "0"])  # on the event loop, and on a thread
def test_a_slow_line_tells_what_took_how_long(tmp_path: Path, inline_rows: str) -> None:
    daemon = Daemon(tmp_path, BRAIN_SLOW_CALL_MS="0", BRAIN_RECALL_INLINE_ROWS=inline_rows).start()
    with daemon.client() as client:
        client.remember("the boiler needs bleeding each October")
        client.recall("boiler")
        client.documents()
        with pytest.raises(NotFound):
            client.get(id=999)
    assert daemon.stop() == 0
    slow = dict(re.findall(r"slow call operation=(\S+) (.*)", daemon.log.read_text()))
    recall = dict(field.split("=") for field in slow["recall"].split())
    assert recall["n_hits"] == recall["visible"] == "1"
    assert re.fullmatch(r"\d+-\d+", recall["request"])
    took = float(recall["took_ms"])
    legs = [float(recall[f"{leg}_ms"]) for leg in ("vector", "lexical", "graph")]
    assert 0 < sum(legs) < took
    assert "n_chunk_ids=1" in slow["remember"]
    assert "n_documents=1" in slow["documents"]
    assert "code=not_found" in slow["get"]


def test_what_is_quick_is_not_told(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, BRAIN_SLOW_CALL_MS="3600000").start("--log-level", "debug")
    with daemon.client() as client:
        client.remember("the boiler needs bleeding each October")
        client.recall("boiler")
    assert daemon.stop() == 0
    assert "slow call" not in daemon.log.read_text()


# ---- what never stands in it


def sendable(method: str) -> Iterator[dict[str, Any]]:
    """Parameters that hold the mark in every place, fit and unfit."""
    fields = msgspec.structs.fields(dispatch.OPERATIONS[method].params)
    texts = {f.encode_name: MARK for f in fields if f.type in (str, str | None) or "str" in str(f)}
    yield {}
    yield {MARK: 1}
    yield texts
    for field in fields:
        for value in (MARK, [MARK], {MARK: MARK}, 1, f"{MARK}:1999-99-99"):
            yield texts | {field.encode_name: value}
            yield {field.encode_name: value}


GOOD: dict[str, dict[str, Any]] = {
    "remember": {
        **dict.fromkeys(("text", "title", "uri", "domain", "node_kind", "thread"), MARK),
        "relations": [{"subject": MARK, "relation": MARK, "object": "x"}],
        "entities": [MARK],
    },
    "ingest_markdown": {"content": f"---\ntags: [: {MARK}\n---\n# {MARK}", "uri": MARK},
    "recall": {"q": MARK, "trace": True, "render": True, "abstain": False},
    "graph.entity": {"name": MARK},
    "graph.traverse": {"name": MARK},
    "link": {"subject": MARK, "relation": MARK, "object": "y"},
    "unlink": {"subject": MARK, "relation": MARK, "object": "y"},
    "verify": {"chunk_id": 1, "claim": MARK},
    "hello": {"client": MARK},
}


@pytest.mark.parametrize("journal", [False, True], ids=["terminal", "journal"])
def test_no_operation_and_no_error_brings_text_into_the_log(tmp_path: Path, journal: bool) -> None:
    daemon = Daemon(tmp_path, BRAIN_SLOW_CALL_MS="0")
    if journal:
        daemon.log.touch()
        status = daemon.log.stat()
        daemon.environment["JOURNAL_STREAM"] = f"{status.st_dev}:{status.st_ino}"
    daemon.start("--log-level", "debug")
    n_failed = 0
    with daemon.client() as client:
        for method, params in GOOD.items():
            client.call(method, **params)
        for method in sorted(dispatch.OPERATIONS):
            if method in ("compact", "reindex"):
                client.call(method)
                continue
            for params in sendable(method):
                try:
                    client.call(method, **params)
                except BrainError:
                    n_failed += 1
        with pytest.raises(NotFound):
            client.call(MARK)
    send_nonsense(daemon.socket)
    assert daemon.stop() == 0
    text = daemon.log.read_text()
    told = set(re.findall(r"slow call operation=(\S+)", text))
    assert told == set(dispatch.OPERATIONS)
    assert text.count("call failed") >= 300 <= n_failed
    assert text.count("error answered code=") >= n_failed + len(("unknown", *"nonsense"))
    assert "markdown_it" not in text
    assert MARK not in text.lower()


def send_nonsense(path: Path) -> None:
    """Messages that are none, and calls that nobody waits for."""
    mark = MARK.encode()
    for data in (
        mark,
        b"\xc1" + mark,
        msgpack.packb([0, MARK, MARK, MARK]),
        msgpack.packb([9, 1, MARK]),
        msgpack.packb([2, MARK, [{MARK: MARK}]]),
        msgpack.packb([2, "remember", [{"text": MARK}]]),
        msgpack.packb([2, "get", [{MARK: MARK}]]),
        msgpack.packb([0, 1, "get", [{1: MARK}]]),
        b"\x94\x00\x01\xa3get\x91\x81\xa1a\xa5\xff" + mark,
        msgpack.packb({MARK: MARK}),
        f"GET /{MARK} HTTP/1.1\r\n\r\n".encode(),
    ):
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(os.fspath(path))
            channel.sendall(data)
            channel.shutdown(socket.SHUT_WR)
            while channel.recv(4096):
                pass


@pytest.mark.parametrize("method", sorted(dispatch.OPERATIONS))
def test_an_unforeseen_error_of_any_operation_keeps_its_words_to_itself(
    world: World, method: str, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apply(*_: object) -> Any:
        raise RuntimeError(MARK) from ValueError(MARK)

    def run(*_: object) -> Any:
        return WriteJob(apply) if method == "remember" else apply()

    operation = replace(dispatch.OPERATIONS[method], run=run, params=msgspec.defstruct("P", []))
    monkeypatch.setitem(
        dispatch.OPERATIONS, method, replace(operation, heavy=lambda *_: method == "recall")
    )
    with pytest.raises(RuntimeError) as caught:
        world.call(method, ADMIN)
    server = Server(lambda *_: None, lambda peer: peer)
    answer = msgpack.unpackb(server.failure(3, 4, caught.value))
    assert (answer[2]["code"], answer[2]["detail"]) == ("internal", {"request": "3-4"})
    assert MARK not in str(answer)
    assert "internal error request=3-4" in written.text
    assert "builtins.RuntimeError" in written.text
    assert "builtins.ValueError" in written.text
    assert MARK not in written.text


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "store").mkdir(mode=0o700)
    opened = World(tmp_path / "store")
    yield opened
    opened.close()


def test_neither_thread_nor_callback_prints_what_an_exception_says(
    written: Written, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(_: str) -> None:
        raise ValueError(MARK)

    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr("sys.excepthook", threading.excepthook)
    monkeypatch.setattr("sys.unraisablehook", sys.unraisablehook)
    handlers, level = logging.root.handlers[:], logging.root.level
    logs.configure("debug")
    logging.root.addHandler(written.handler)
    thread = threading.Thread(target=fail, args=(MARK,), name="worker")
    thread.start()
    thread.join()
    undead = type("Undead", (), {"__del__": fail, "__repr__": lambda _: MARK})()
    del undead

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(logs.note_loop_error)
        loop.call_soon(fail, MARK)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(scenario())
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    assert "the thread worker ended by an exception" in written.text
    assert "a callback of the event loop failed" in written.text
    assert "an exception could not be raised" in written.text
    assert written.text.count("builtins.ValueError") == 3
    assert MARK not in written.text + "".join(capfd.readouterr())


def test_a_client_is_told_the_number_of_its_own_connection(daemon: Daemon) -> None:
    def number() -> int:
        with Client(daemon.socket) as client, pytest.raises(NotFound) as caught:
            client.get(id=999)
        return int(caught.value.detail["request"].split("-")[0])

    first = number()
    assert [number(), number()] == [first + 1, first + 2]
