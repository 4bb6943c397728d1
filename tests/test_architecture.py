"""The architecture as `docs/architecture.md` draws it: imports point down, libraries stay home."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "brain_daemon"

# What each room may import from the others; leaves are open to all.
MAY_IMPORT: dict[str, set[str]] = {
    "_ext": set(),
    "text": {"_ext"},
    "embedding": {"_ext"},
    "store": {"text", "_ext"},
    "index": {"store", "text", "_ext"},
    "ingest": {"embedding", "text", "_ext"},
    "recall": {"index", "store", "embedding", "text", "_ext"},
    "policy": set(),
    "audit": set(),
    "protocol": {"_ext"},
    "client": {"protocol"},
    "service": {
        *("recall", "ingest", "index", "store", "embedding", "text", "_ext"),
        *("policy", "audit", "protocol"),
    },
    "daemon": {"service", "policy", "protocol"},
    "evaluation": {"service", "recall", "store", "policy", "text"},
    # all but the client are loaded by the commands that need no daemon
    "cli": {"client", "evaluation", "policy", "audit", "store"},
}
LEAVES = {
    *("calls", "errors", "model", "config", "durable", "heap", "lock", "timestamps"),
    *("params", "paths"),
}
HOMES = {
    "apsw": {"store", "index", "recall", "service"},  # who passes a connection on names its type
    "sqlite_vec": {"store"},
    "msgpack": {"protocol"},
    "uvloop": {"daemon"},
    "tokenizers": {"embedding"},
    "safetensors": {"embedding"},
    "markdown_it": {"ingest"},
    "Stemmer": {"text"},
    "click": {"cli", "daemon"},
    "rich": {"cli"},
    "ir_measures": {"evaluation"},
    "matplotlib": {"evaluation"},
    "pyrage": {"store"},
}


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_ext" not in path.parts)


def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            names.update(f"{module}.{alias.name}" for alias in node.names)
    return names


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else path.stem


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    allowed = MAY_IMPORT.get(room, set()) | LEAVES | {room, "__version__"}
    for name in imported_modules(path):
        if name.startswith("brain_daemon."):
            assert name.split(".")[1] in allowed, f"{room} imports {name}"


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_libraries_stay_in_their_rooms(path: Path) -> None:
    for name in imported_modules(path):
        homes = HOMES.get(name.split(".")[0])
        assert homes is None or room_of(path) in homes, f"{path.name} imports {name}"


def test_every_room_is_known() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] != "_"}
    assert rooms - {"__pycache__"} == set(MAY_IMPORT) - {"_ext"}


def test_sql_is_written_in_the_store_only() -> None:
    words = ("SELECT ", "INSERT ", "DELETE FROM", "UPDATE ", "PRAGMA ")
    for path in sources():
        if room_of(path) == "store":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not node.value.lstrip().startswith(words), f"{path}: {node.value[:60]!r}"


@pytest.mark.parametrize(
    "module",
    [
        "brain_daemon.client",
        "brain_daemon.cli.main",
        "brain_daemon.cli.evaluation",
        "brain_daemon.cli.restore",
    ],
)
def test_clients_import_neither_numpy_nor_database_nor_model(module: str) -> None:
    heavy = "{'numpy', 'apsw', 'tokenizers', 'safetensors', 'sqlite_vec', 'markdown_it'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.strip() == "[]"
