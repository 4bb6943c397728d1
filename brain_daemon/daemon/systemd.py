"""systemd's small protocols: inherited sockets, state notification, watchdog. No library needed."""

import logging
import os
import socket
import stat
import time
from collections.abc import Mapping, MutableMapping

log = logging.getLogger(__name__)

LISTEN_FDS_START = 3
SOCKET_NAME = "brain"
"""The ``FileDescriptorName=`` of the socket unit."""


class ActivationError(Exception):
    """The sockets that were passed to this process are not the one it serves on."""


def inherited_socket(
    environ: MutableMapping[str, str] = os.environ,
) -> socket.socket | None:
    """Take the listening socket named ``brain`` that systemd passed to this very process, if any.

    A single socket without a name is taken as well: not everyone who passes sockets names them.

    Raises
    ------
    ActivationError
        Sockets were passed, but none of that name, more than one, or no Unix stream socket.
    """
    if environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    count = int(environ.get("LISTEN_FDS", "0"))
    names = environ.get("LISTEN_FDNAMES", SOCKET_NAME).split(":")
    for variable in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        environ.pop(variable, None)  # not meant for our children
    if count < 1:
        return None
    if len(names) != count or names.count(SOCKET_NAME) != 1:
        raise ActivationError(
            f"{count} sockets were passed, named {':'.join(names)!r}; exactly one must be named "
            f"{SOCKET_NAME!r}: set FileDescriptorName={SOCKET_NAME} in the socket unit"
        )
    for number in range(count):
        os.set_inheritable(LISTEN_FDS_START + number, False)
    descriptor = LISTEN_FDS_START + names.index(SOCKET_NAME)
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        raise ActivationError(f"descriptor {descriptor} ({SOCKET_NAME}) is not a socket")
    listener = socket.socket(fileno=descriptor)
    if (listener.family, listener.type) != (socket.AF_UNIX, socket.SOCK_STREAM) or (
        not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    ):
        raise ActivationError(
            f"the socket {SOCKET_NAME!r} is no listening Unix stream socket: the socket unit needs "
            "ListenStream= with a path, and Accept=no"
        )
    listener.setblocking(False)
    return listener


def notify(*assignments: str, environ: Mapping[str, str] = os.environ) -> None:
    """Tell systemd ``READY=1``, ``STOPPING=1``, ``STATUS=…``; without systemd do nothing."""
    address = environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    # One assignment a line: whatever an error's text holds must not become another assignment.
    state = "\n".join(" ".join(each.splitlines()) for each in assignments)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        try:
            channel.connect(address)
            channel.sendall(state.encode(errors="replace"))
        except OSError as error:  # a manager that went away is no reason to stop serving
            log.warning("could not notify %s: %s", environ["NOTIFY_SOCKET"], error.strerror)


def notify_reloading() -> None:
    """Tell systemd that a reload began; ``READY=1`` ends it."""
    now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    notify("RELOADING=1", f"MONOTONIC_USEC={now_us}")


def watchdog_timeout_s(environ: Mapping[str, str] = os.environ) -> float | None:
    """Give the seconds after which systemd ends a process that has not said ``WATCHDOG=1``.

    None where nobody watches, or somebody watches another process.
    """
    timeout_us = environ.get("WATCHDOG_USEC", "")
    if not timeout_us.isdigit() or environ.get("WATCHDOG_PID", str(os.getpid())) != str(
        os.getpid()
    ):
        return None
    return int(timeout_us) / 1e6 or None
