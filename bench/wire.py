"""The thinnest msgpack-RPC client: raw socket, one thread, encoded messages in, answers out.

It costs less than the product's client, so that the load generator is not what is measured.
"""

import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgpack

RECEIVE_BYTES = 1 << 18
MSGID = 1
TIMEOUT_S = 120.0


def encode(method: str, msgid: int = MSGID, **params: Any) -> bytes:
    """Encode one request."""
    return msgpack.packb([0, msgid, method, [params]])


class Wire:
    """One connection to the daemon."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(os.fspath(path))
        self._unpacker = msgpack.Unpacker(raw=False, max_buffer_size=0)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, request: bytes) -> None:
        self.socket.sendall(request)

    def receive(self) -> Any:
        """Wait for the next answer and give its result.

        Raises
        ------
        RuntimeError
            The answer was an error.
        """
        unpacker = self._unpacker
        while True:
            for _, _, error, result in unpacker:
                if error is not None:
                    raise RuntimeError(f"the daemon answered {error}")
                return result
            data = self.socket.recv(RECEIVE_BYTES)
            if not data:
                raise ConnectionError("the daemon closed the connection")
            unpacker.feed(data)

    def call(self, method: str, **params: Any) -> Any:
        """Send one request and wait for its result."""
        self.send(encode(method, **params))
        return self.receive()

    def pipeline(self, requests: Iterable[bytes], window: int = 96) -> int:
        """Send many requests, at most ``window`` unanswered; give how many there were."""
        half = window // 2
        sent = answered = 0
        waiting: list[bytes] = []
        for request in requests:
            waiting.append(request)
            if len(waiting) == half:
                self.send(b"".join(waiting))
                sent += half
                waiting.clear()
                while sent - answered > half:
                    self.receive()
                    answered += 1
        if waiting:
            self.send(b"".join(waiting))
            sent += len(waiting)
        while answered < sent:
            self.receive()
            answered += 1
        return sent
