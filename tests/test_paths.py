from pathlib import Path

import pytest

from brain_daemon import paths

VARIABLES = (
    "BRAIN_SOCKET",
    "RUNTIME_DIRECTORY",
    "STATE_DIRECTORY",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "CONFIGURATION_DIRECTORY",
    "XDG_CONFIG_HOME",
)


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(paths, "SYSTEM_SOCKET", tmp_path / "system.sock")


def test_socket_by_precedence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    assert paths.default_socket_path() == tmp_path / "home/.local/state/brain-daemon/brain.sock"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert paths.default_socket_path() == tmp_path / "brain-daemon/brain.sock"
    monkeypatch.setenv("RUNTIME_DIRECTORY", "/run/a:/run/b")
    assert paths.default_socket_path() == Path("/run/a/brain.sock")
    monkeypatch.setenv("BRAIN_SOCKET", "/elsewhere/s")
    assert paths.default_socket_path() == Path("/elsewhere/s")


def test_store_by_precedence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert paths.default_store_dir() == tmp_path / "home/.local/state/brain-daemon"
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert paths.default_store_dir() == Path("/state/brain-daemon")
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/brain-daemon")
    assert paths.default_store_dir() == Path("/var/lib/brain-daemon")


def test_a_client_turns_to_the_systems_daemon_when_the_user_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    own = tmp_path / "brain-daemon" / "brain.sock"
    assert paths.find_socket() == own
    paths.SYSTEM_SOCKET.touch()
    assert paths.find_socket() == paths.SYSTEM_SOCKET
    monkeypatch.setenv("BRAIN_SOCKET", "/elsewhere/s")
    assert paths.find_socket() == Path("/elsewhere/s")
    monkeypatch.delenv("BRAIN_SOCKET")
    own.parent.mkdir()
    own.touch()
    assert paths.find_socket() == own


@pytest.mark.parametrize("variable", ["HOME", "XDG_CONFIG_HOME", "CONFIGURATION_DIRECTORY"])
def test_configuration_by_precedence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    places = {
        "HOME": tmp_path / "home/.config/brain-daemon",
        "XDG_CONFIG_HOME": tmp_path / "xdg/brain-daemon",
        "CONFIGURATION_DIRECTORY": tmp_path / "etc",
    }
    for place in places.values():
        place.mkdir(parents=True)
        (place / "config.toml").touch()
    for name in list(places)[1 : list(places).index(variable) + 1]:
        value = places[name] if name == "CONFIGURATION_DIRECTORY" else places[name].parent
        monkeypatch.setenv(name, str(value))
    assert paths.default_configuration() == places[variable] / "config.toml"


def test_no_configuration_is_none_and_a_dangling_one_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CONFIGURATION_DIRECTORY", str(tmp_path))
    assert paths.default_configuration() is None
    (tmp_path / "config.toml").symlink_to(tmp_path / "gone")
    assert paths.default_configuration() == tmp_path / "config.toml"
