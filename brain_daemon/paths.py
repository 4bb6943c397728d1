"""Where the socket, the store and the policy are unless someone says otherwise. A leaf.

Under systemd its own directories are used, else those of the XDG base directory specification.
"""

import os
from pathlib import Path

NAME = "brain-daemon"
SOCKET_NAME = "brain.sock"
CONFIGURATION_NAME = "config.toml"
POLICY_NAME = "policy.toml"
SYSTEM_SOCKET = Path("/run") / NAME / SOCKET_NAME


def default_socket_path() -> Path:
    """Give the path at which the daemon listens.

    The first of ``BRAIN_SOCKET``; ``brain.sock`` in systemd's ``RUNTIME_DIRECTORY``; in
    ``$XDG_RUNTIME_DIR/brain-daemon``; in ``/run/user/UID/brain-daemon`` if the former is not set
    but that user directory exists; in the store's directory, which is private as well.
    """
    if given := os.environ.get("BRAIN_SOCKET"):
        return Path(given)
    if directory := _systemd_directory("RUNTIME_DIRECTORY"):
        return directory / SOCKET_NAME
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    if runtime.is_dir():
        return runtime / NAME / SOCKET_NAME
    return default_store_dir() / SOCKET_NAME


def find_socket() -> Path:
    """Give the path at which a client should look.

    That of :func:`default_socket_path`, or that of the system's daemon when there is no socket at
    the former, none was asked for, and there is one at the latter.
    """
    path = default_socket_path()
    if "BRAIN_SOCKET" not in os.environ and not path.exists() and SYSTEM_SOCKET.exists():
        return SYSTEM_SOCKET
    return path


def default_store_dir() -> Path:
    """Give the store's folder.

    systemd's ``STATE_DIRECTORY``, else ``$XDG_STATE_HOME/brain-daemon``, else
    ``~/.local/state/brain-daemon``.
    """
    if directory := _systemd_directory("STATE_DIRECTORY"):
        return directory
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / NAME


def default_configuration() -> Path | None:
    """Give the configuration file that is read when none is named, if there is one.

    ``config.toml`` in systemd's ``CONFIGURATION_DIRECTORY``, else in
    ``$XDG_CONFIG_HOME/brain-daemon``, else in ``~/.config/brain-daemon``.
    """
    file = _configuration_dir() / CONFIGURATION_NAME
    try:
        file.lstat()
    except FileNotFoundError:
        return None
    return file


def default_policy_path() -> Path:
    """Give the place at which a policy file is looked for.

    ``policy.toml`` in the same folder as the configuration; the folder without links.
    """
    return _configuration_dir().resolve() / POLICY_NAME


def _configuration_dir() -> Path:
    directory = _systemd_directory("CONFIGURATION_DIRECTORY")
    if directory is None:
        home = os.environ.get("XDG_CONFIG_HOME")
        directory = (Path(home) if home else Path.home() / ".config") / NAME
    return directory


def _systemd_directory(variable: str) -> Path | None:
    """Give the first of the directories that systemd lists, separated by colons."""
    first = os.environ.get(variable, "").split(":")[0]
    return Path(first) if first else None
