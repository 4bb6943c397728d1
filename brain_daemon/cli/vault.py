"""Files to ingest: walking folders, ignore rules, reading, and what has vanished since.

Nothing here talks to the daemon. Whatever the file system does in mid-walk becomes a `Problem`
of one path; it never stops the rest.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from pathspec import GitIgnoreSpec

IGNORE_FILE = ".brainignore"
SUFFIXES = frozenset({".md", ".markdown", ".txt"})
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})  # hidden ones are skipped anyway
_READ_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Note:
    """A file to ingest. ``uri`` is that of the resolved path; ``source`` a source kind."""

    path: Path
    uri: str
    source: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A path that cannot be read, and why; ``failed`` is false where that is by intention."""

    path: Path
    reason: str
    failed: bool = True


class Unreadable(Exception):
    """A file has no usable text; the message says why."""


@dataclass(frozen=True, slots=True)
class _Rules:
    folder: Path
    spec: GitIgnoreSpec


class Ignore:
    """Rules in gitignore syntax, each relative to the folder of its file; the last match wins.

    Parameters
    ----------
    root : Path
        The folder that is walked.
    extra : Path, optional
        One more file of rules, relative to ``root``; they win over those found in the folders.

    Raises
    ------
    OSError, UnicodeDecodeError, ValueError
        When ``extra`` cannot be read as rules.
    """

    def __init__(self, root: Path, extra: Path | None = None) -> None:
        self._extra: tuple[_Rules, ...] = ()
        if extra is not None:
            self._extra = (_Rules(root, _read_rules(extra)),)

    def rules_in(self, folder: Path, above: tuple[_Rules, ...]) -> tuple[_Rules, ...]:
        """Add the rules of ``folder``'s own ignore file, if it has one, to those above it."""
        try:
            return (*above, _Rules(folder, _read_rules(folder / IGNORE_FILE)))
        except FileNotFoundError:
            return above

    def ignores(self, path: Path, rules: tuple[_Rules, ...], *, is_folder: bool) -> bool:
        for level in reversed((*rules, *self._extra)):
            relative = path.relative_to(level.folder).as_posix() + ("/" if is_folder else "")
            verdict = level.spec.check_file(relative).include
            if verdict is not None:
                return verdict
        return False


def _read_rules(path: Path) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(path.read_text(encoding="utf-8").splitlines())


def notes_of(path: Path, extra_ignore: Path | None = None) -> Iterator[Note | Problem]:
    """List the notes at ``path``, sorted by path: a folder is walked, a file is itself.

    A file named outright is taken whatever its suffix or the ignore rules. In a folder the
    suffixes are those of `SUFFIXES`; hidden files and folders are left out, and so are links to
    folders, which may loop, and links out of the folder, which may lead to what nobody meant to
    share: both are reported.
    """
    root = path.resolve()
    if not root.is_dir():
        yield Note(root, root.as_uri(), "markdown")
        return
    ignore = Ignore(root, extra_ignore)
    waiting: list[tuple[Path, tuple[_Rules, ...]]] = [(root, ())]
    while waiting:
        folder, above = waiting.pop()
        try:
            rules = ignore.rules_in(folder, above)
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except (OSError, ValueError) as error:
            # Without its ignore file the folder might give away what that was to hold back.
            yield Problem(folder, f"cannot read the folder or its {IGNORE_FILE}: {_why(error)}")
            continue
        inside: list[tuple[Path, tuple[_Rules, ...]]] = []
        for entry in entries:
            path = folder / entry.name
            try:
                if entry.name.startswith(".") or _is_left_out(entry, path, ignore, rules):
                    continue
                if not entry.is_symlink():
                    if entry.is_dir():
                        inside.append((path, rules))
                    else:
                        yield Note(path, path.as_uri(), "vault")
                    continue
                target = path.resolve(strict=True)
                if target.is_file() and target.is_relative_to(root):
                    yield Note(path, target.as_uri(), "vault")
                else:
                    yield Problem(path, f"a link to {target}; name that to ingest it", failed=False)
            except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, Python 3.11
                yield Problem(path, _why(error))
        waiting += reversed(inside)


def _is_left_out(
    entry: os.DirEntry[str], path: Path, ignore: Ignore, rules: tuple[_Rules, ...]
) -> bool:
    is_note = path.suffix.lower() in SUFFIXES
    try:
        is_folder = entry.is_dir()
    except OSError:
        if is_note:
            raise
        return True
    if is_folder and entry.name in SKIPPED_FOLDERS:
        return True
    return not (is_folder or is_note) or ignore.ignores(path, rules, is_folder=is_folder)


def read_text(path: Path, max_bytes: int) -> str:
    """Read a whole file as UTF-8, verbatim but for a byte order mark.

    An editor's atomic save between opening and reading does no harm (the open file stays as it
    was); a file that is written in place while it is read is read again.

    Raises
    ------
    Unreadable
        Not a regular file, too large, not UTF-8, gone, or not allowed.
    """
    try:
        for _ in range(_READ_ATTEMPTS):
            # A FIFO would block an ordinary open.
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(file, "rb") as stream:
                before = os.fstat(file)
                if not stat.S_ISREG(before.st_mode):
                    raise Unreadable("not a regular file")
                content = stream.read(max_bytes + 1)
                after = os.fstat(file)
            if len(content) > max_bytes:
                raise Unreadable(
                    f"{max(after.st_size, len(content))} bytes; the daemon takes {max_bytes}"
                )
            if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, len(content)):
                return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise Unreadable(_why(error)) from error
    raise Unreadable("it kept changing while it was read; try again")


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def vanished(
    stored: Iterable[str], seen: set[str], problems: Iterable[Problem], root: Path
) -> Iterator[tuple[str, str]]:
    """Find the documents of a walked folder that are stored but no longer there.

    Parameters
    ----------
    stored : iterable of str
        URIs that the daemon holds below ``root``.
    seen : set of str
        URIs of the notes that the walk found, readable or not.
    problems : iterable of Problem
        Paths that the walk could not enter: what lies below them is unknown, not gone.
    root : Path
        The folder, resolved.

    Yields
    ------
    uri, reason : str
        ``gone`` from the disk, or ``left out`` by the ignore rules or the suffixes.
    """
    unknown = [problem.path for problem in problems]
    for uri in stored:
        if uri in seen:
            continue
        path = path_of(uri)
        if path is None or not path.is_relative_to(root):
            continue
        if any(path.is_relative_to(folder) for folder in unknown):
            continue
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            yield uri, "gone"
        except OSError:
            continue
        else:
            yield uri, "left out"


def path_of(uri: str) -> Path | None:
    """Give the path of a ``file://`` URI, or None for any other."""
    prefix = "file://"
    if not uri.startswith(prefix + "/"):
        return None
    return Path(os.fsdecode(unquote_to_bytes(uri.removeprefix(prefix))))
