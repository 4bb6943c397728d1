"""Calls without pause, a connection each, and what became of them. A program of its own.

Runs until its input ends, then prints one JSON object: how many calls were answered, how many
connections were refused, how many calls were cut off (connected, but closed before the answer),
the longest time of a call, and the ids of the memories whose storing was acknowledged.
"""

import json
import socket
import sys
import threading
import time
from collections import Counter
from typing import Any

import msgpack

THREADS = 4


class Caller(threading.Thread):
    def __init__(self, path: str, number: int, stopped: threading.Event) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.stored: list[int] = []
        self.errors: list[str] = []
        self.worst_s = 0.0
        self._path = path
        self._number = number
        self._stopped = stopped

    def run(self) -> None:
        while not self._stopped.wait(0.005):
            began = time.monotonic()
            self.counts[self._call()] += 1
            self.worst_s = max(self.worst_s, time.monotonic() - began)

    def _call(self) -> str:
        n = sum(self.counts.values())
        method, params = "recall", {"q": "note", "k": 1}
        if n % 2:
            method, params = "remember", {"text": f"note {n} of caller {self._number}"}
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(60)
            try:
                sock.connect(self._path)
            except OSError as error:
                self.errors.append(repr(error))
                return "refused"
            try:
                sock.sendall(msgpack.packb([0, n, method, [params]]))
                response = _read(sock)
            except OSError:  # reset by a process that was killed
                return "cut off"
        if response is None:
            return "cut off"
        if response[2] is not None:
            self.errors.append(repr(response[2]))
            return "error"
        if method == "remember":
            self.stored.append(response[3]["id"])
        return "answered"


def _read(sock: socket.socket) -> Any:
    unpacker = msgpack.Unpacker()
    while data := sock.recv(65536):
        unpacker.feed(data)
        for message in unpacker:
            return message
    return None


def main() -> None:
    stopped = threading.Event()
    callers = [Caller(sys.argv[1], number, stopped) for number in range(THREADS)]
    for caller in callers:
        caller.start()
    sys.stdin.read()
    stopped.set()
    for caller in callers:
        caller.join()
    counts = sum((caller.counts for caller in callers), Counter())
    report = {
        "answered": counts["answered"],
        "refused": counts["refused"],
        "cut off": counts["cut off"],
        "error": counts["error"],
        "worst_s": max(caller.worst_s for caller in callers),
        "stored": [each for caller in callers for each in caller.stored],
        "errors": [each for caller in callers for each in caller.errors][:10],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
