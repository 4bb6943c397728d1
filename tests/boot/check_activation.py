"""The first call starts the service, on the socket that bears our name, as its own user."""

import stat
from pathlib import Path

from tests.boot import machine


def test_first_call_starts_the_service() -> None:
    assert machine.show("ActiveState") == "inactive"
    assert machine.show("FileDescriptorName", machine.SOCKET) == "brain"
    assert machine.brain("remember", "The quince was pruned in March.")["created"]
    assert machine.show("ActiveState") == "active"
    assert machine.show("StatusText") == "serving /var/lib/brain-daemon (0 chunks)"
    assert machine.brain("recall", "quince")["hits"]


def test_who_and_where() -> None:
    machine.brain("ping")
    process = Path("/proc") / str(machine.main_pid())
    owner = machine.run("id", "--user", machine.USER).strip()
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    assert set(status["Uid"].split()) == {owner}
    assert status["NoNewPrivs"].strip() == "1"
    assert status["Seccomp"].strip() == "2"
    for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert stat.S_IMODE(machine.STATE.stat().st_mode) == 0o700
    for file in machine.STATE.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert stat.S_IMODE(machine.PATH.stat().st_mode) == 0o660
    assert machine.PATH.group() == "brain-clients"


def test_stop_leaves_the_socket_and_the_next_call_starts_anew() -> None:
    machine.brain("remember", "The medlar was grafted.")
    first = machine.main_pid()
    machine.systemctl("stop", machine.SERVICE)
    assert machine.show("Result") == "success"
    assert machine.brain("recall", "medlar")["hits"]
    assert machine.main_pid() not in (0, first)


def test_units_are_undone_as_the_command_says() -> None:
    """All that it wrote and nothing else; then it is installed again."""
    said = machine.run("/opt/brain-daemon/bin/brain-daemon", "install-units")
    assert "wrote" not in said.split("To start:")[0]
    steps = said.split("To undo")[1].splitlines()[1:]
    machine.brain("ping")
    machine.run("bash", "-ec", "\n".join(steps))
    try:
        assert machine.show("LoadState") == "not-found"
        assert machine.show("LoadState", machine.SOCKET) == "not-found"
        assert not machine.PATH.exists()
        assert not list(Path("/etc").rglob("*brain-daemon*.*"))
    finally:
        said = machine.run("/opt/brain-daemon/bin/brain-daemon", "install-units")
        machine.run("bash", "-ec", said.split("To start:")[1].split("To undo")[0])
    assert machine.brain("ping")["answer"] == "pong"
