"""A pytest plugin: the suite's `Daemon` is the service of this machine.

Loaded with ``-p``, before any test module takes the class. Whatever only root may do is asked of
the program that started the tests (`check_suite`), a line each on a socket. Of several daemons at
one time the first is the service, the others are ordinary processes.
"""

import json
import os
import socket
from pathlib import Path
from typing import Any, ClassVar

from brain_daemon.client import Client
from tests import daemon_process
from tests.boot.machine import PATH, STATE

Plain = daemon_process.Daemon
_is_taken = False


def pytest_runtest_setup() -> None:
    global _is_taken
    _is_taken = False


def order(action: str, **details: Any) -> Any:
    """Have root do something; gives what it says."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(os.environ["BOOT_CONTROL"])
        channel.sendall(json.dumps({"action": action, **details}).encode() + b"\n")
        with channel.makefile() as answer:
            return json.loads(answer.readline())


class UnitDaemon(Plain):
    """The service, with an empty store from its making on."""

    last_environment: ClassVar[dict[str, str] | None] = None

    def __new__(cls, folder: Path, **environment: str) -> Any:
        global _is_taken
        if _is_taken:
            other = object.__new__(Plain)
            Plain.__init__(other, folder, **environment)
            return other
        _is_taken = True
        return object.__new__(cls)

    def __init__(self, folder: Path, **environment: str) -> None:
        super().__init__(folder, **environment)
        self.store, self.socket = STATE, PATH
        if not (environment == UnitDaemon.last_environment and _is_unused()):
            order("empty", environment=environment)
            UnitDaemon.last_environment = environment

    def start(self, *options: str) -> "UnitDaemon":
        assert not options, "the service takes none"
        order("start")
        return self

    @property
    def pid(self) -> int:
        return int(order("pid"))

    def stop(self) -> int:
        UnitDaemon.last_environment = None  # the next one must not be taken for unused
        return int(order("stop"))

    def spawn(self, *options: str, **environment: str) -> Any:
        raise NotImplementedError("a second process of the service")


def _is_unused() -> bool:
    """Tell whether the service runs on a store into which nothing was ever written."""
    if not order("pid"):
        return False
    with Client(PATH) as client:
        return bool(client.call("stats")["commits"] == 0)


daemon_process.Daemon = UnitDaemon  # type: ignore[misc]
