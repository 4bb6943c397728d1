import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest
import uvloop

from brain_daemon.client import AsyncClient
from brain_daemon.errors import (
    BadRequest,
    ConnectionLost,
    DeadlineExceeded,
    Forbidden,
    NotFound,
    TooLarge,
)
from brain_daemon.protocol.framing import Limits
from tests.client.peers import Scripted, answer, read_and_close
from tests.protocol.serving import Serving, wait_until


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Awaitable[Any]], Any]:
    return asyncio.run if request.param == "asyncio" else uvloop.run  # type: ignore[return-value]


def test_call(serving: Serving, run: Callable[..., Any]) -> None:
    async def use() -> None:
        async with AsyncClient(serving.path) as client:
            assert await client.ping() == "pong"
            assert await client.call("echo", a=1, method="x") == {"a": 1, "method": "x"}
            with pytest.raises(NotFound, match="no such thing"):
                await client.call("fail", **{"with": "not_found"})
            with pytest.raises(BadRequest):
                await client.call("echo", n=2**70)
            many = await asyncio.gather(*(client.call("later", i=i) for i in range(100)))
            assert many == [{"i": i} for i in range(100)]
            assert serving.server.n_connections == 1

    run(use())
    wait_until(lambda: serving.server.n_connections == 0)


def test_pipeline(serving: Serving, run: Callable[..., Any]) -> None:
    calls = [("later", {"i": 0}), ("fail", {"with": "not_found"}), ("ping", {})]

    async def use() -> list[Any]:
        async with AsyncClient(serving.path) as client:
            return [item async for item in client.pipeline(calls, in_flight=2)]

    first, second, third = run(use())
    assert (first, third) == ({"i": 0}, "pong")
    assert isinstance(second, NotFound)


def test_much_both_ways_does_not_deadlock(tmp_path: Path, run: Callable[..., Any]) -> None:
    calls = (("echo", {"x": "y" * 50_000}) for _ in range(200))

    async def use() -> list[int]:
        async with AsyncClient(tmp_path / "s") as client:
            return [len(item["x"]) async for item in client.pipeline(calls, in_flight=200)]

    with Serving(tmp_path / "s", Limits(max_unsent_bytes=4096)):
        assert run(use()) == [50_000] * 200


def test_a_late_answer_is_never_mistaken_for_another(
    serving: Serving, run: Callable[..., Any]
) -> None:
    async def use() -> None:
        async with AsyncClient(serving.path, timeout_s=0.05) as client:
            with pytest.raises(DeadlineExceeded, match="hold"):
                await client.call("hold")
            client.timeout_s = 30
            while not serving.held:
                await client.ping()
            serving.resolve(0, "late")
            assert await client.call("echo", i=1) == {"i": 1}
            assert serving.server.n_connections == 1

    run(use())


def test_a_read_whose_answer_was_lost_is_repeated(tmp_path: Path, run: Callable[..., Any]) -> None:
    async def use() -> Any:
        async with AsyncClient(tmp_path / "s") as client:
            return await client.recall("x")

    with Scripted(tmp_path / "s", read_and_close, answer):
        assert run(use()) == "recall"


def test_a_write_whose_answer_was_lost_is_not_repeated(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    async def use() -> None:
        async with AsyncClient(tmp_path / "s") as client:
            with pytest.raises(ConnectionLost, match="may have been carried out"):
                await client.remember("x")
            assert await client.ping() == "ping"

    with Scripted(tmp_path / "s", read_and_close, answer):
        run(use())


def test_a_restarted_daemon_is_found_again(tmp_path: Path, run: Callable[..., Any]) -> None:
    async def use() -> None:
        client = AsyncClient(tmp_path / "s")
        for _ in range(3):
            with Serving(tmp_path / "s"):
                assert await client.ping() == "pong"
                assert await client.call("echo", write=1) == {"write": 1}
        with pytest.raises(ConnectionLost, match="brain-daemon serve"):
            await client.ping()

    run(use())


def test_a_message_over_the_limit_is_told_so_although_it_is_still_being_sent(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    async def use() -> None:
        async with AsyncClient(tmp_path / "s") as client:
            with pytest.raises(TooLarge, match="limit 100000"):
                await client.remember("x" * 20_000_000)
            assert await client.ping() == "pong"

    with Serving(tmp_path / "s", Limits(max_message_bytes=100_000)):
        run(use())


def test_a_stranger_is_told_so(tmp_path: Path, run: Callable[..., Any]) -> None:
    def refuse(peer: Any) -> Any:
        raise Forbidden("not you")

    async def use() -> None:
        async with AsyncClient(tmp_path / "s") as client:
            for _ in range(3):
                with pytest.raises(Forbidden, match="not you"):
                    await client.remember("x")
            calls = [("remember", {"text": str(i)}) for i in range(5)]
            found = [type(item) async for item in client.pipeline(calls)]
            assert found == [Forbidden] * 5

    with Serving(tmp_path / "s", authenticate=refuse):
        run(use())


def test_a_peer_of_another_protocol(tmp_path: Path, run: Callable[..., Any]) -> None:
    def http(sock: socket.socket) -> None:
        sock.recv(1000)
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        sock.recv(1000)

    async def use() -> None:
        async with AsyncClient(tmp_path / "s") as client:
            with pytest.raises(ConnectionLost, match="msgpack-RPC"):
                await client.remember("x")

    with Scripted(tmp_path / "s", http):
        run(use())


def test_calls_in_one_turn_share_one_connection(serving: Serving, run: Callable[..., Any]) -> None:
    async def use() -> None:
        client = AsyncClient(serving.path)
        await asyncio.gather(*(client.ping() for _ in range(20)))
        assert serving.server.n_connections == 1
        client.close()

    run(use())


def test_a_cancelled_call_leaves_the_connection_in_order(
    serving: Serving, run: Callable[..., Any]
) -> None:
    async def use() -> None:
        async with AsyncClient(serving.path) as client:
            task = asyncio.create_task(client.call("hold"))
            while not serving.held:
                await client.ping()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            serving.resolve(0, "late")
            assert await client.call("echo", i=1) == {"i": 1}

    run(use())


def test_the_message_is_msgpack_rpc(tmp_path: Path, run: Callable[..., Any]) -> None:
    seen: list[bytes] = []

    def record(sock: socket.socket) -> None:
        seen.append(sock.recv(1000))
        msgid = msgpack.unpackb(seen[0])[1]
        sock.sendall(msgpack.packb([1, msgid, None, "ok"]))

    async def use() -> None:
        async with AsyncClient(tmp_path / "s") as client:
            assert await client.recall("x", k=3) == "ok"

    with Scripted(tmp_path / "s", record):
        run(use())
    kind, _, method, params = msgpack.unpackb(seen[0])
    assert (kind, method, params) == (0, "recall", [{"q": "x", "k": 3}])
