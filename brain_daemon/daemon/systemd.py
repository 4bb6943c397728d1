"""systemd's two small protocols: inherited sockets and state notification. No library needed."""

import logging
import os
import socket
from collections.abc import Mapping, MutableMapping

log = logging.getLogger(__name__)

LISTEN_FDS_START = 3


def inherited_socket(
    environ: MutableMapping[str, str] = os.environ,
) -> socket.socket | None:
    """Take the first listening socket that systemd passed to this very process, if any."""
    if environ.get("LISTEN_PID") != str(os.getpid()) or int(environ.get("LISTEN_FDS", "0")) < 1:
        return None
    for variable in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        environ.pop(variable, None)
    listener = socket.socket(fileno=LISTEN_FDS_START)
    listener.set_inheritable(False)
    listener.setblocking(False)
    return listener


def notify(state: str, environ: Mapping[str, str] = os.environ) -> None:
    """Tell systemd ``READY=1``, ``STOPPING=1``, ``STATUS=…``; without systemd do nothing."""
    address = environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        try:
            channel.connect(address)
            channel.sendall(state.encode())
        except OSError as error:  # a manager that went away is no reason to stop serving
            log.warning("could not notify %s: %s", environ["NOTIFY_SOCKET"], error.strerror)
