"""What `make demo` shows: a daemon of its own, the project's documents as memories, and answers.

Everything typed here is what a reader would type; the daemon, its store and its socket live in a
temporary folder and are gone afterwards.
"""

import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.rule import Rule

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
QUESTIONS = (
    ["recall", "Are forgotten words really gone from the file?", "--k", "2"],
    ["recall", "how do I change the model", "--k", "2"],
    ["recall", "Whom can I call about the cranes on a Friday?", "--k", "2", "--explain"],
    ["recall", "who won the world cup in 1998?"],
)
MEMORIES = (
    "Mira Reis moved to Porto in May. She works with Tomas Holub on the harbour cranes.",
    "Tomas Holub is on call every Friday night, phone 4411.",
)
NEXT_STEPS = """\
[bold]Keep a daemon of your own[/bold]

  . .venv/bin/activate
  brain-daemon serve &       [dim]# your own socket and store, private to you[/dim]
  brain remember "The boiler was serviced in May 2026"
  brain ingest ~/notes       [dim]# files or vaults, again when they change[/dim]
  brain recall "when was the boiler serviced?"

docs/quickstart.md shows how to run it as a service of your user session."""

console = Console(highlight=False)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="brain-demo-") as name, daemon(Path(name)) as path:
        tour(path)
    console.print(Rule())
    console.print(NEXT_STEPS)


@contextmanager
def daemon(folder: Path) -> Iterator[Path]:
    """Run a daemon and give its socket once it says that it is ready, as systemd would."""
    notify, path = folder / "notify.sock", folder / "brain.sock"
    command = [BIN / "brain-daemon", "serve", "--store", folder / "store", "--socket", path]
    environment = {**os.environ, "NOTIFY_SOCKET": os.fspath(notify), "BRAIN_LOG_LEVEL": "warning"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(os.fspath(notify))
        channel.settimeout(60)
        with subprocess.Popen(command, env=environment) as process:
            try:
                channel.recv(256)
                yield path
            finally:
                process.terminate()


def tour(socket_path: Path) -> None:
    brain(socket_path, ["ingest", "README.md", "docs"])
    for text in MEMORIES:
        brain(socket_path, ["remember", text])
    for question in QUESTIONS:
        brain(socket_path, question)
    brain(socket_path, ["status"])


def brain(socket_path: Path, arguments: list[str]) -> None:
    """Show a command as a person would type it, then run it."""
    console.print(Rule())
    console.print(
        f"[bold green]$[/bold green] [bold]brain {escape(shlex.join(arguments))}[/bold]\n"
    )
    done = subprocess.run([BIN / "brain", "--socket", socket_path, *arguments], cwd=ROOT)
    if done.returncode not in (0, 1):  # 1: there is no answer, and it says why
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
