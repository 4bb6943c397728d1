"""One table of settings: it feeds the flags, the environment, the file and the docs. A leaf.

Precedence: command-line flag, ``BRAIN_*`` environment variable, TOML file, default. A key that is
not in the table fails at start-up and names the nearest one that is.
"""

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brain_daemon import paths
from brain_daemon.errors import BadRequest

SettingValue = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table; ``minimum`` and ``maximum`` bound a number, inclusive."""

    name: str
    default: SettingValue
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()  # of a text; empty: any

    @property
    def variable(self) -> str:
        return "BRAIN_" + self.name.upper()


SETTINGS: tuple[Setting, ...] = (
    Setting("socket", "", "Path of the Unix socket; empty: the user's or systemd's run-time dir."),
    Setting("store", "", "Folder of the store; empty: the user's or systemd's state dir."),
    Setting("model", "", "Folder of a model2vec model, or a hub name; empty: the packaged one."),
    Setting("policy", "", "File of who may do what; empty: policy.toml in the config dir, if any."),
    Setting("language", "english", "Snowball stemmer of the store's text; none: no stemming."),
    Setting("log_level", "info", "debug, info, warning or error."),
    Setting("slow_call_ms", 250, "Calls slower than this are logged (never their text).", 0, 3.6e6),
    Setting("recall_graph_enabled", True, "Run the graph leg unless a request says graph=false."),
    Setting("recall_leg_depth", 100, "How many candidates each leg lists.", 10, 1000),
    Setting("recall_exact_rows", 25_000, "Up to so many rows the vector scan is exact.", 0, 1e9),
    Setting("recall_bit_candidates", 400, "Candidates of the bit scan above that.", 100, 10_000),
    Setting("recall_inline_rows", 200_000, "Above so many rows recall runs on a thread.", 0, 1e9),
    Setting("graph_damping", 0.5, "Damping of Personalized PageRank.", 0.05, 0.95),
    Setting("graph_epsilon", 1e-4, "Residual at which forward push stops.", 1e-8, 1e-2),
    Setting("max_message_bytes", 8 << 20, "Largest request.", 4096, 1 << 30),
    Setting("max_response_bytes", 32 << 20, "Largest response.", 4096, 1 << 30),
    Setting("max_depth", 32, "Containers within one another in a request.", 4, 256),
    Setting("max_items", 200_000, "Container entries in a request.", 100, 1e8),
    Setting("max_connections", 4096, "Connections at one time.", 1, 1_000_000),
    Setting("max_in_flight", 128, "Unanswered calls of one connection.", 1, 100_000),
    Setting("max_in_flight_bytes", 2 << 20, "Their requests, decoded, in bytes.", 4096, 1 << 30),
    Setting(
        "max_unsent_bytes",
        64 << 10,
        "Unread responses of one connection; as many do not count in `max_held_bytes`.",
        4096,
        1 << 30,
    ),
    Setting(
        "max_held_bytes",
        64 << 20,
        "Half messages, open requests and unread responses of all connections, in bytes.",
        1 << 20,
        1 << 40,
    ),
    Setting("message_timeout_ms", 10_000, "From a message's first byte to its last.", 10, 3.6e6),
    Setting("call_timeout_ms", 300_000, "Deadline of one call.", 10, 3.6e6),
    Setting("write_timeout_ms", 30_000, "How long a peer may read nothing.", 10, 3.6e6),
    Setting("drain_timeout_ms", 10_000, "How long SIGTERM waits for open calls.", 0, 3.6e6),
    Setting("write_batch", 256, "Most writes in one commit.", 1, 10_000),
    Setting("write_queue", 4096, "Writes that may wait before overloaded is answered.", 1, 1e6),
    Setting("max_chunks", 0, "Chunks in the store before new ones are refused; 0: any.", 0, 1e9),
    Setting("max_store_bytes", 0, "Bytes of the store, likewise; 0: any number.", 0, 1 << 50),
    Setting(
        "screening_policy",
        "quarantine",
        "A text that reads like an order to a model: quarantine, reject or allow it.",
        choices=("quarantine", "reject", "allow"),
    ),
    Setting("audit_file_bytes", 16 << 20, "At this size audit.log is put aside.", 4096, 1 << 40),
    Setting("audit_files", 16, "Files of the audit log that are kept.", 2, 64),
    Setting("max_text_bytes", 2 << 20, "Longest text of one memory, UTF-8.", 1024, 1 << 28),
    Setting("inline_text_bytes", 16_384, "Longer texts are prepared on a thread.", 0, 1 << 30),
)
AT_START = (
    *("socket", "store", "model", "language", "write_batch", "write_queue"),
    *("audit_file_bytes", "audit_files"),
)
"""Settings that are read when the store is opened, and not again by a reload."""

_TRUE = {"true", "1", "yes", "on"}
_FALSE = {"false", "0", "no", "off"}
BY_NAME = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    """The effective values and where each came from (``flag``, ``environment``, a file's path)."""

    values: Mapping[str, SettingValue]
    sources: Mapping[str, str]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def taken_over_by(self, running: "Settings") -> tuple["Settings", list[str]]:
        """Give what a process that runs with other settings can take over of these.

        Returns
        -------
        Settings
            These, but for those of `AT_START`, which stay as they are.
        list of str
            The names of the latter whose values differ.
        """
        pending = [name for name in AT_START if self[name] != running[name]]
        kept = {name: running[name] for name in AT_START}
        origins = {name: running.sources[name] for name in AT_START}
        return Settings({**self.values, **kept}, {**self.sources, **origins}), pending

    @property
    def socket_path(self) -> Path:
        return Path(self["socket"] or paths.default_socket_path())

    @property
    def store_dir(self) -> Path:
        return Path(self["store"] or paths.default_store_dir())


def load(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
    file: Path | None = None,
) -> Settings:
    """Resolve every setting.

    Raises
    ------
    BadRequest
        For an unknown key or a value of the wrong type or range; names the nearest known key.
    """
    values: dict[str, SettingValue] = {s.name: s.default for s in SETTINGS}
    sources = dict.fromkeys(values, "default")
    layers: list[tuple[str, Mapping[str, Any]]] = []
    if file is not None:
        layers.append((str(file), _read_file(file)))
    layers.append(("environment", _read_environment(environ)))
    layers.append(("flag", {k: v for k, v in (flags or {}).items() if v is not None}))
    for source, layer in layers:
        for name, value in layer.items():
            values[name] = _convert(_setting(name, source), value, source)
            sources[name] = source
    return Settings(values, sources)


def _read_file(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise BadRequest(f"cannot read the configuration {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"the configuration {file} is not TOML: {error}") from error


def _read_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Take the table's variables; refuse what is nearly one (others may use the prefix too)."""
    known = {setting.variable: setting.name for setting in SETTINGS}
    for variable in environ:
        if variable.startswith("BRAIN_") and variable not in known:
            near = difflib.get_close_matches(variable, known, n=1, cutoff=0.85)
            if near:
                raise BadRequest(f"unknown variable {variable}; did you mean {near[0]}?")
    return {name: environ[variable] for variable, name in known.items() if environ.get(variable)}


def _setting(name: str, source: str) -> Setting:
    if name in BY_NAME:
        return BY_NAME[name]
    near = difflib.get_close_matches(name, BY_NAME, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise BadRequest(f"unknown setting {name!r} ({source}){hint}", field=name)


def _convert(setting: Setting, value: Any, source: str) -> SettingValue:
    kind = type(setting.default)
    try:
        if kind is bool:
            converted: SettingValue = _boolean(value)
        elif kind is str or isinstance(value, bool):
            if not isinstance(value, str):
                raise ValueError
            converted = value
        else:
            converted = kind(value)
            if isinstance(value, float) and converted != value:
                raise ValueError
    except (ValueError, TypeError, OverflowError) as error:  # int(inf) overflows
        raise _invalid(setting, value, source, f"a value of type {kind.__name__}") from error
    if setting.choices and converted not in setting.choices:
        raise _invalid(setting, value, source, ", ".join(setting.choices))
    if isinstance(converted, int | float) and kind is not bool:
        low, high = setting.minimum, setting.maximum
        if low is not None and high is not None and not low <= converted <= high:  # nan neither
            raise _invalid(setting, value, source, f"{low:,.15g} to {high:,.15g}")
    return converted


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in _TRUE | _FALSE:
        raise ValueError
    return text in _TRUE


def _invalid(setting: Setting, value: Any, source: str, accepted: str) -> BadRequest:
    return BadRequest(
        f"{setting.name} = {value!r} ({source}) is not accepted; give {accepted}",
        field=setting.name,
    )
