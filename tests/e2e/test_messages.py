"""Hostile and broken messages at the real daemon; afterwards a ping always answers."""

import os
import socket
from collections.abc import Iterator

import msgpack
import pytest

from tests.daemon_process import Daemon


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("messages"), BRAIN_MESSAGE_TIMEOUT_MS="1000").start()
    with daemon.client() as client:
        client.remember(text="something to recall")
    yield daemon
    assert daemon.stop() == 0


def request(method: object, params: object, msgid: object = 1) -> bytes:
    return msgpack.packb([0, msgid, method, [params]])


NESTED = b"\x94\x00\x01\xa4ping\x91" + b"\x91" * 2000 + b"\xc0"
MESSAGES = {
    "4 GiB declared": b"\x94\x00\x01\xa6recall\x91\x81\xa1q\xdb\xff\xff\xff\xff",
    "4 GiB array": b"\xdd\xff\xff\xff\xff",
    "10 MB": request("recall", {"q": "x" * 10_000_000}),
    "nesting 2,000 deep": NESTED,
    "invalid byte": b"\xc1",
    "invalid UTF-8": b"\xa1\xff",
    "invalid UTF-8 in a field": b"\x94\x00\x01\xa6recall\x91\x81\xa1q\xa1\xff",
    "integer map key": msgpack.packb([0, 1, "recall", [{1: 2}]]),
    "2^70 as extension": msgpack.packb(
        [0, 1, "recall", [{"q": "x", "k": msgpack.ExtType(5, b"\x40" + bytes(8))}]]
    ),
    "NaN": request("recall", {"q": "x", "since": float("nan")}),
    "infinity": request("remember", {"text": "x", "expires_at": float("inf")}),
    "uint64 maximum": request("recall", {"q": "x", "k": 2**64 - 1}),
    "bytes for text": request("recall", {"q": b"x"}),
    "method is a number": request(7, {}),
    "msgid is text": request("ping", {}, "one"),
    "msgid is negative": request("ping", {}, -1),
    "params is text": request("ping", "x"),
    "empty array": b"\x90",
    "a map": msgpack.packb({"method": "ping"}),
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "zeros": bytes(10_000),
    "random": os.urandom(4096),
    "a million empty arrays": b"\x94\x00\x01\xa4ping\x91\xdc\xff\xff" + b"\x90" * 65535,
}  # fmt: skip


def pings(daemon: Daemon) -> bool:
    with daemon.client() as client:
        return client.ping() == "pong"


@pytest.mark.parametrize("name", MESSAGES)
def test_answered_or_closed_and_the_daemon_lives(target: Daemon, name: str) -> None:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(20)
        channel.connect(str(target.socket))
        try:
            channel.sendall(MESSAGES[name])
            channel.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: channel.recv(65536), b""))
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
    unpacker = msgpack.Unpacker()
    unpacker.feed(answer)
    for kind, _, error, _ in unpacker:
        assert kind == 1
        if error is not None:
            assert error["code"] != "internal", error
            assert error["message"]
    assert pings(target)


@pytest.mark.parametrize("split", ["one byte at a time", "half, then closed"])
def test_dribbled_messages(target: Daemon, split: str) -> None:
    message = request("recall", {"q": "something"})
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(20)
        channel.connect(str(target.socket))
        if split == "half, then closed":
            channel.sendall(message[: len(message) // 2])
        else:
            for i in range(len(message)):
                channel.sendall(message[i : i + 1])
            assert msgpack.unpackb(channel.recv(1 << 20))[2] is None
    assert pings(target)
