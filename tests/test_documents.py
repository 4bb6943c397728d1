"""The documents hold: what they name exists, what exists is named, what they show runs.

Fields and error codes of the protocol are held by ``tests/service/test_protocol_document.py``,
settings by ``tests/test_config.py``.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from brain_daemon import config
from brain_daemon.cli import exits
from brain_daemon.cli.main import MODULES, cli
from brain_daemon.client import Client
from brain_daemon.daemon.main import EXIT_CONFIGURATION, EXIT_TEMPORARY
from brain_daemon.daemon.main import main as server
from tests.daemon_process import ROOT, Daemon

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
CLI_TEXT = (ROOT / "docs" / "cli.md").read_text()
SECTIONS = dict(
    re.findall(r"^### `(brain(?:-daemon)? [^`]+)`\n(.*?)(?=^##|\Z)", CLI_TEXT, re.M | re.S)
)
NAME = re.compile(r"`((?:brain_daemon|tests|docs|tools|bench|_ext|[a-z]+)/[\w/.-]*\w\.\w+)`")

each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)


def blocks(path: Path, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```", path.read_text(), re.M | re.S)
    return [text for name, text in found if name == language]


def shell_lines(path: Path) -> Iterator[str]:
    """The lines of the blocks without a language: without prompt, continuations joined."""
    for block in blocks(path, ""):
        for line in block.replace("\\\n", " ").splitlines():
            yield line.removeprefix("$ ")


def commands() -> dict[str, click.Command]:
    """Every command of both programs, as it is typed."""
    found: dict[str, click.Command] = {}
    for program, group in (("brain", cli), ("brain-daemon", server)):
        context = click.Context(group, info_name=program)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            found[f"{program} {name}"] = command
    return found


def long_options(command: click.Command) -> set[str]:
    """What a command takes besides ``--help`` and ``--json``, which all have."""
    options = {o for p in command.params for o in p.opts if o.startswith("--")}
    return options - {"--help", "--json"}


def test_every_command_has_its_section_with_its_arguments() -> None:
    typed = set()
    for name, command in commands().items():
        arguments = [
            p.metavar or str(p.name).upper()
            for p in command.params
            if isinstance(p, click.Argument)
        ]
        typed.add(" ".join([name, *arguments]))
    assert set(SECTIONS) == typed


@pytest.mark.parametrize("heading", SECTIONS)
def test_a_section_names_exactly_the_options_that_exist(heading: str) -> None:
    known = commands()
    name = " ".join(heading.split()[:2])
    text = SECTIONS[heading]
    if name == "brain-daemon reembed":  # "the options are those of serve"
        assert long_options(known[name]) == long_options(known["brain-daemon serve"])
        return
    assert set(re.findall(r"--[a-z][a-z-]*", text)) == long_options(known[name])


@pytest.mark.parametrize("name", MODULES)
def test_every_command_takes_json_as_the_document_says(name: str) -> None:
    assert any("--json" in parameter.opts for parameter in commands()[f"brain {name}"].params)


def exit_codes(program: str) -> dict[int, str]:
    (table,) = re.findall(rf"^\| `{program}` \| \|\n\|---\|---\|\n((?:\|.*\n)+)", CLI_TEXT, re.M)
    return {int(code): text for code, text in re.findall(r"^\| (\d+) \| (.*) \|$", table, re.M)}


def test_exit_codes_are_those_of_the_table_in_the_code() -> None:
    assert exit_codes("brain") == exits.MEANINGS


def test_exit_codes_of_the_server() -> None:
    assert set(exit_codes("brain-daemon")) == {0, 2, EXIT_TEMPORARY, EXIT_CONFIGURATION}


@each_document
def test_every_command_line_is_one_that_its_program_takes(path: Path) -> None:
    known = commands()
    makefile = (ROOT / "Makefile").read_text()
    for line in shell_lines(path):
        for part in line.split("|") if line.startswith("echo") else [line]:
            words = shlex.split(part, comments=True)
            if words[:1] == ["make"]:
                assert re.search(rf"^{words[1]}:", makefile, re.M), line
            elif words[:1] in (["brain"], ["brain-daemon"]):
                command = known[" ".join(words[:2])]
                arguments = [word for word in words[2:] if word != "&"]
                # Raises for an option that does not exist.
                command.make_parser(click.Context(command)).parse_args(arguments)


@each_document
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if target.startswith(("https://", "http://")):
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.M)
            assert anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


@each_document
def test_every_file_of_ours_that_is_named_exists(path: Path) -> None:
    for name in NAME.findall(path.read_text()):
        assert (ROOT / name).exists() or (ROOT / "brain_daemon" / name).exists(), name


@each_document
def test_every_test_that_is_named_exists(path: Path) -> None:
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", path.read_text()):
        assert f"def {name}(" in (ROOT / file).read_text(), f"{file}::{name}"


@each_document
def test_every_variable_that_is_named_is_read_somewhere(path: Path) -> None:
    known = {setting.variable for setting in config.SETTINGS}
    elsewhere = (ROOT / "setup.py").read_text() + (ROOT / "tests" / "conftest.py").read_text()
    for variable in re.findall(r"\bBRAIN_[A-Z_]+[A-Z]\b", path.read_text()):
        assert variable in known or variable in elsewhere, variable


def person(daemon: Daemon, home: Path) -> dict[str, str]:
    """The environment of somebody who reads along: a home with notes, both programs on the path."""
    (home / "notes").mkdir(parents=True)
    (home / "notes" / "boats.md").write_text("# Boats\n\nThe Nautilus is [[captain::Nemo]]'s.\n")
    (home / "README.md").write_text("# A folder\n\nThis is the README of the folder.\n")
    programs = home / "bin"
    programs.mkdir()
    for name, module in (("brain", "cli"), ("brain-daemon", "daemon")):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -m brain_daemon.{module}.main "$@"\n')
        script.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "BRAIN_SOCKET": str(daemon.socket),
    }


@pytest.mark.parametrize("name", ["README.md", "docs/quickstart.md", "docs/operations.md"])
def test_the_commands_succeed_in_the_order_in_which_they_stand(
    name: str, daemon: Daemon, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    environment = person(daemon, home)
    ran = 0
    for line in shell_lines(ROOT / name):
        if re.match(r"(?:echo .*\| )?brain ", line):
            done = subprocess.run(
                ["bash", "-c", line],
                env=environment,
                cwd=home,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
            ran += 1
    assert ran >= 4


@pytest.mark.parametrize("name", ["quickstart.md", "operations.md"])
def test_the_unit_starts_the_installed_program(name: str, daemon: Daemon, tmp_path: Path) -> None:
    home = tmp_path / "home"
    environment = person(daemon, home) | {"XDG_CONFIG_HOME": str(home / ".config")}
    (block,) = [b for b in blocks(ROOT / "docs" / name, "") if "install-units --user" in b]
    script = "\n".join(line for line in block.splitlines() if not line.startswith("systemctl"))
    subprocess.run(["bash", "-ec", script], env=environment, check=True, timeout=60)
    unit = (home / ".config" / "systemd" / "user" / "brain-daemon.service").read_text()
    (program,) = re.findall(r"^ExecStart=(\S+) serve$", unit, re.M)
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("brain-daemon")


PYTHON_BLOCKS = [
    (path, number, code)
    for path in DOCUMENTS
    for number, code in enumerate(blocks(path, "python"), 1)
]


@pytest.mark.parametrize(
    "code", [pytest.param(code, id=f"{path.name}-{n}") for path, n, code in PYTHON_BLOCKS]
)
def test_python_examples_run_and_print_an_answer(
    code: str, daemon: Daemon, client: Client, tmp_path: Path
) -> None:
    client.remember(text="The spare key is with Marta")
    script = tmp_path / "example.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        env={**os.environ, "BRAIN_SOCKET": str(daemon.socket), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Marta" in done.stdout


def test_documents_have_python_examples() -> None:
    assert {path.name for path, _, _ in PYTHON_BLOCKS} == {
        "README.md",
        "quickstart.md",
        "protocol.md",
    }


def test_toml_examples_are_settings(tmp_path: Path) -> None:
    settings = [path for path in DOCUMENTS if path.name != "policy.md"]
    examples = [code for path in settings for code in blocks(path, "toml")]
    assert examples
    for number, code in enumerate(examples):
        file = tmp_path / f"{number}.toml"
        file.write_text(code)
        assert str(file) in config.load({}, {}, file).sources.values()


def test_a_restored_backup_answers_as_operations_tells_it(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d").start()
    home = tmp_path / "home"
    environment = person(daemon, home)
    texts = blocks(ROOT / "docs" / "operations.md", "")
    (backup,) = [b for b in texts if "brain backup" in b]
    (restore,) = [b for b in texts if "brain restore" in b]
    with daemon.client() as client:
        client.remember(text="The lighthouse is open in May")
        subprocess.run(["bash", "-ec", backup], env=environment, check=True, timeout=60)
        client.remember(text="A xylophone came later")
    assert daemon.stop() == 0
    environment["BRAIN_STORE"] = str(daemon.store)
    subprocess.run(["bash", "-ec", restore], env=environment, check=True, timeout=60)
    daemon.start()
    try:
        with daemon.client() as client:
            texts = [hit["text"] for hit in client.recall("lighthouse xylophone")["hits"]]
            assert texts == ["The lighthouse is open in May"]
    finally:
        assert daemon.stop() == 0
