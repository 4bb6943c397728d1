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
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.rule import Rule

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
QUESTIONS = (
    ["recall", "How do I keep a daemon running after I log out?"],
    ["recall", "what happens to a memory when the power fails", "--k", "3"],
    [
        "recall",
        "why is the socket answer different from a plain keyword search?",
        "--k",
        "2",
        "--explain",
    ],
)
NEXT_STEPS = """\
[bold]Keep a daemon of your own[/bold]

  . .venv/bin/activate
  brain-daemon serve &            [dim]# your own socket and store, private to you[/dim]
  brain remember "The boiler was serviced in May 2026"
  brain ingest ~/notes            [dim]# files or whole vaults, again when they change[/dim]
  brain recall "when was the boiler serviced?"

The README shows how to run it as a service of your user session."""

console = Console(highlight=False)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="brain-demo-") as folder:
        daemon = start(Path(folder))
        try:
            tour(Path(folder) / "brain.sock")
        finally:
            daemon.terminate()
            daemon.wait(timeout=30)
    console.print(Rule())
    console.print(NEXT_STEPS)


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start the daemon and wait until it says that it is ready."""
    notify = folder / "notify.sock"
    command = [BIN / "brain-daemon", "serve", "--store", folder / "store"]
    command += ["--socket", folder / "brain.sock", "--log-level", "warning"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(os.fspath(notify))
        channel.settimeout(60)
        daemon = subprocess.Popen(command, env={**os.environ, "NOTIFY_SOCKET": os.fspath(notify)})
        channel.recv(256)
    return daemon


def tour(socket_path: Path) -> None:
    documents = ["README.md", "docs"]
    brain(socket_path, ["ingest", *documents])
    brain(
        socket_path,
        [
            "remember",
            "The demo was run to see whether local memory is worth having.",
            "--title",
            "Demo note",
        ],
    )
    for question in QUESTIONS:
        brain(socket_path, question)
    brain(socket_path, ["status"])


def brain(socket_path: Path, arguments: list[str]) -> None:
    """Show a command as a person would type it, then run it."""
    console.print(Rule())
    console.print(
        f"[bold green]$[/bold green] [bold]brain {escape(shlex.join(arguments))}[/bold]\n"
    )
    subprocess.run(
        [BIN / "brain", "--socket", socket_path, *arguments],
        cwd=ROOT,
        check=True,
    )


if __name__ == "__main__":
    main()
