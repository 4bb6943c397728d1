"""``brain``: the group of commands, loaded one module at a time, and its help.

What is here: which command lives in which module. The commands never open the store; each is a
call or a few to the daemon over its socket. ``restore`` does, since no daemon may have it open.
"""

import importlib
import io
import sys
from pathlib import Path

import click

from brain_daemon import __version__
from brain_daemon.cli import exits
from brain_daemon.cli.command import Command

# Section of the help -> command -> module of this package.
SECTIONS: dict[str, dict[str, str]] = {
    "Find": {
        "recall": "query",
        "trace": "query",
        "get": "query",
        "verify": "query",
        "graph": "graph",
    },
    "Store and remove": {
        "remember": "write",
        "ingest": "ingest",
        "forget": "write",
        "decayed": "decay",
        "extend": "decay",
        "link": "graph",
        "unlink": "graph",
    },
    "Look at the daemon": {
        "status": "admin",
        "top": "top",
        "stats": "admin",
        "health": "admin",
        "metrics": "metrics",
        "doctor": "doctor",
        "ping": "admin",
        "hello": "admin",
        "whoami": "admin",
        "config": "admin",
    },
    "Look after the store": {
        "backup": "admin",
        "restore": "restore",
        "export": "transfer",
        "import": "transfer",
        "quarantine": "quarantine",
        "policy": "policy",
        "audit": "audit",
        "compact": "admin",
        "reindex": "admin",
    },
    "Measure": {"eval": "evaluation"},
}
MODULES = {name: module for section in SECTIONS.values() for name, module in section.items()}


class CommandGroup(click.Group):
    """Imports a command's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Command | None:
        if cmd_name not in MODULES:
            return None
        module = importlib.import_module(f"brain_daemon.cli.{MODULES[cmd_name]}")
        command: Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in MODULES and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], MODULES, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " `brain --help` lists them."
            ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                for name in commands:
                    command = self.get_command(ctx, name)
                    assert command is not None
                    formatter.write(f"  {name:<9} {command.get_short_help_str(80)}\n")
                    formatter.write(f"  {'':<9}   $ {command.example}\n")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(f"{code}", text) for code, text in exits.MEANINGS.items()])
        with formatter.section("Environment"):
            formatter.write_dl([("BRAIN_SOCKET", "the same as --socket")])


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--socket",
    envvar="BRAIN_SOCKET",
    type=click.Path(path_type=Path),
    help="The daemon's Unix socket. Default: that of your own daemon.",
)
@click.version_option(__version__, prog_name="brain")
def cli(socket: Path | None) -> None:
    """Ask the memory of this machine, and add to it.

    Every command talks to the daemon over its socket. `brain-daemon serve` starts one.
    """


def main() -> None:
    """Run ``brain`` (the console script)."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character must show an escape, not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli.main(prog_name="brain")


if __name__ == "__main__":
    main()
