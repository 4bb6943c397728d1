"""A peer that follows a script, for what a sound server would not do."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack


class Scripted:
    """Serve one connection after another, each by the next function of the script."""

    def __init__(self, path: Path, *script: Callable[[socket.socket], None]) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._listener.settimeout(30)
        self._script = script
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Scripted":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(30)
        self._listener.close()

    def _run(self) -> None:
        for step in self._script:
            sock, _ = self._listener.accept()
            with sock:
                sock.settimeout(30)
                step(sock)


def read_requests(sock: socket.socket, n: int = 1) -> list[Any]:
    unpacker = msgpack.Unpacker()
    found: list[Any] = []
    while len(found) < n:
        unpacker.feed(sock.recv(65536))
        found.extend(unpacker)
    return found


def answer(sock: socket.socket) -> None:
    """Answer one request with its method's name."""
    ((_, msgid, method, _),) = read_requests(sock)
    sock.sendall(msgpack.packb([1, msgid, None, method]))


def read_and_close(sock: socket.socket) -> None:
    read_requests(sock)


def close(sock: socket.socket) -> None:
    """Close without reading."""
