"""What a client notices while others attack: its round trips with and without, in turn.

``python -m bench.hostile``. The attackers are processes of their own with the least priority, so
that what they do to the daemon is measured, not what they take from the cores. Round trips are wall
time: look at the ratio of neighbouring blocks, on a quiet machine.
"""

import multiprocessing
import os
import selectors
import shutil
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bench.daemon import Daemon
from bench.figures import percentile
from bench.wire import Wire, encode

BLOCKS = 4
PINGS = 1000
RECALLS = 250
N_ATTACKERS = 2
N_CONNECTIONS = 50  # of each
N_MEMORIES = 2000


class Attack(NamedTuple):
    """``data`` in pieces of ``n_at_once`` bytes, again and again, with a wait if it ``reads``."""

    data: bytes
    reads: bool = True
    n_at_once: int = 1 << 18


ATTACKS = {
    "idle connections": Attack(b""),
    "half messages": Attack(encode("remember", text="x" * 8_000_000)[:-1]),
    "one byte at a time": Attack(encode("recall", q="x" * 4000), n_at_once=1),
    "garbage": Attack(b"\xc1"),
    "190,000 empty lists": Attack(encode("recall", q=[[]] * 190_000)),
    "95,000 unknown names": Attack(encode("recall", **{str(i): i for i in range(95_000)})),
    "8 MB of text": Attack(encode("recall", q="x" * 8_000_000)),
    "recalls never read": Attack(encode("recall", q="the ferry to Lisbon", k=20), reads=False),
    "lists never read": Attack(encode("documents", limit=1000), reads=False),
    "pings without end": Attack(encode("ping") * 1000),
}


def main() -> None:
    """Run all attacks and print a line for each."""
    folder = Path(tempfile.mkdtemp(prefix="brain-bench-"))
    daemon = Daemon(folder).start()
    try:
        with daemon.connect() as wire:
            wire.pipeline(
                encode(
                    "remember", text=f"Number {i} is a fact about the ferry to Lisbon and {i * 7}"
                )
                for i in range(N_MEMORIES)
            )
            print(f"{'':24}{'ping p50':>22}{'ping p99':>22}{'recall p99':>22}")
            print(f"{'':24}" + f"{'alone':>8}{'attacked':>9}{'x':>5}" * 3 + "   (ms)")
            for name, attack in ATTACKS.items():
                print(f"{name:24}" + _compare(daemon, wire, attack), flush=True)
    finally:
        daemon.stop()
        shutil.rmtree(folder)


def _compare(daemon: Daemon, wire: Wire, attack: Attack) -> str:
    pings: tuple[list[float], list[float]] = ([], [])
    recalls: tuple[list[float], list[float]] = ([], [])
    for _ in range(BLOCKS):
        for is_attacked in (False, True):
            attackers = _start(daemon, attack) if is_attacked else []
            pings[is_attacked].extend(_round_trips(wire, encode("ping"), PINGS // BLOCKS))
            request = encode("recall", q="a fact about Lisbon", k=5)
            recalls[is_attacked].extend(_round_trips(wire, request, RECALLS // BLOCKS))
            for attacker in attackers:
                attacker.kill()
                attacker.join()
    told = ""
    for (alone, attacked), share in ((pings, 0.5), (pings, 0.99), (recalls, 0.99)):
        a, b = (percentile(sorted(times), share) for times in (alone, attacked))
        told += f"{a:8.2f}{b:9.2f}{b / a:5.1f}"
    return told


def _round_trips(wire: Wire, request: bytes, number: int) -> list[float]:
    """Give milliseconds."""
    times = []
    for _ in range(number):
        started = time.perf_counter_ns()
        wire.send(request)
        wire.receive()
        times.append((time.perf_counter_ns() - started) / 1e6)
    return times


def _start(daemon: Daemon, attack: Attack) -> list[multiprocessing.Process]:
    context = multiprocessing.get_context("fork")
    attackers = []
    for _ in range(N_ATTACKERS):
        ready = context.Event()
        attackers.append(context.Process(target=_attack, args=(daemon.socket, attack, ready)))
        attackers[-1].start()
        ready.wait()
    return attackers


def _attack(path: Path, attack: Attack, ready: "multiprocessing.synchronize.Event") -> None:
    """Attack with all connections until killed; whoever is cut off comes back."""
    os.nice(19)
    selector = selectors.DefaultSelector()

    def connect() -> None:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(os.fspath(path))
        sock.setblocking(False)
        selector.register(sock, selectors.EVENT_WRITE if attack.data else selectors.EVENT_READ, 0)

    for _ in range(N_CONNECTIONS):
        connect()
    ready.set()
    while True:
        for key, _ in selector.select():
            sock: socket.socket = key.fileobj  # type: ignore[assignment]
            try:
                _step(selector, sock, key.events, key.data, attack)
            except OSError:
                selector.unregister(sock)
                sock.close()
                with suppress(OSError):
                    connect()


def _step(
    selector: selectors.BaseSelector, sock: socket.socket, events: int, n_sent: int, attack: Attack
) -> None:
    """Send a little more, or take the answer and begin anew."""
    if events == selectors.EVENT_READ:
        if not sock.recv(1 << 18):
            raise ConnectionResetError
        n_sent = 0
    else:
        n_sent += sock.send(attack.data[n_sent : n_sent + attack.n_at_once])
        if n_sent == len(attack.data) and not attack.reads:
            n_sent = 0
    waits = n_sent == len(attack.data)
    selector.modify(sock, selectors.EVENT_READ if waits else selectors.EVENT_WRITE, n_sent)


if __name__ == "__main__":
    main()
