"""The policy file: read only where nobody else could have written it, then checked as a whole.

Here: what the file may hold and where it may stand. Not here: what its rules do (``rules``).
"""

import grp
import hashlib
import os
import pwd
import re
import stat
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import msgspec

from brain_daemon.errors import BadRequest
from brain_daemon.model import Quota
from brain_daemon.params import decode
from brain_daemon.policy.rules import (
    EVERYTHING,
    INCLUDED,
    INVALID_ID,
    Policy,
    Role,
    Rule,
    unmapped_ids,
)

MAX_FILE_BYTES = 1 << 20
MAX_RULES = 1000
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = re.compile(r"(\d{1,15}) ?(|KiB|MiB|GiB|TiB)")
_BRACES = re.compile(r"\{(?!(?:user|uid)\})|(?<!\{user)(?<!\{uid)\}")

UserId = Annotated[int, msgspec.Meta(ge=0, le=INVALID_ID - 1)]
# A list and not a pair: msgspec 0.23 mixes up the bounds in a union of a bounded int and a pair.
Range = Annotated[list[UserId], msgspec.Meta(min_length=2, max_length=2)]
Principal = Annotated[
    str, msgspec.Meta(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")
]
# A star in any other place would look like a wildcard and be none.
Pattern = Annotated[str, msgspec.Meta(min_length=1, max_length=128, pattern=r"^[^*]*\*?$")]
Patterns = tuple[Pattern, ...]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
_SELECTORS = ("user", "uid", "group", "gid")


class LimitsTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    connections: Count | None = None
    in_flight: Count | None = None
    bytes: Annotated[int, msgspec.Meta(ge=0, le=2**62)] | str | None = None


class RuleTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A ``[[rule]]``, as it is written."""

    roles: tuple[Role, ...]
    user: str | None = None
    uid: UserId | Range | None = None
    group: str | None = None
    gid: UserId | Range | None = None
    principal: Principal | None = None
    domains: Patterns | None = None
    scopes: Patterns | None = None
    limits: LimitsTable = LimitsTable()


class PolicyTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    version: Literal[1]
    rule: Annotated[list[Any], msgspec.Meta(max_length=MAX_RULES)] = []


def load(path: Path) -> Policy:
    """Read a policy, resolve the names in it, and refuse it whole for any fault.

    Parameters
    ----------
    path : Path
        A regular file of root's or of this process's user that nobody else may write, in a
        folder of which the same holds, named without links.

    Raises
    ------
    BadRequest
        The message names the file, the rule, the value and what to do.
    """
    data = _read_safely(path)
    try:
        document = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        _refuse(path, f"it is not TOML: {error}")
    try:
        table = decode(document, PolicyTable)
    except BadRequest as error:
        _refuse(path, error.message)
    rules = []
    for number, entry in enumerate(table.rule, 1):
        try:
            rules.append(_rule(number, decode(entry, RuleTable)))
        except BadRequest as error:
            _refuse(path, f"rule {number}: {error.message}", rule=number)
    return Policy(tuple(rules), str(path), digest=hashlib.sha256(data).hexdigest())


def load_default(given: str, default: Path) -> Policy:
    """Load the file that is named, else the default one if it exists, else give the own user's.

    Raises
    ------
    BadRequest
        As `load`; that the file named is missing is a fault, too.
    """
    if given:
        return load(Path(given))
    return load(default) if os.path.lexists(default) else Policy.of_own_user()


def _read_safely(path: Path) -> bytes:
    path = path.absolute()
    _check_folders(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            _refuse(path, f"it is a link; name the file itself, {path.resolve()}")
        _refuse(path, f"it cannot be read: {error.strerror}")
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            _refuse(path, "it is not a regular file")
        _check_owner(path, path, about, f"chmod go-w {path}")
        data = b""
        while (part := os.read(descriptor, MAX_FILE_BYTES)) and len(data) <= MAX_FILE_BYTES:
            data += part
    except OSError as error:
        _refuse(path, f"it cannot be read: {error.strerror}")
    finally:
        os.close(descriptor)
    if len(data) > MAX_FILE_BYTES:
        _refuse(path, f"it has more than {MAX_FILE_BYTES} bytes; make a group of many users")
    return data


def _check_folders(path: Path) -> None:
    """Check that nobody else can put another file, or another folder, in the place of this one."""
    folder = path.parent
    real = Path(os.path.realpath(folder))
    if real != Path(os.path.normpath(folder)):
        _refuse(path, f"its folder is reached over a link; name it as {real / path.name}")
    for above in (real, *real.parents):
        try:
            about = above.stat()
        except OSError as error:
            _refuse(path, f"the folder {above} cannot be looked at: {error.strerror}")
        # In a folder with the sticky bit others may add, but neither rename nor remove.
        is_shared = above != real and about.st_mode & stat.S_ISVTX
        _check_owner(path, above, about, f"chmod go-w {above}", may_be_shared=bool(is_shared))


def _check_owner(
    path: Path, what: Path, about: os.stat_result, cure: str, *, may_be_shared: bool = False
) -> None:
    mode = f"{stat.S_IMODE(about.st_mode):04o}"
    if about.st_uid not in (0, os.geteuid()):
        _refuse(
            path,
            f"{what} belongs to uid {about.st_uid}, who may change it at any time: "
            f"chown it to root or to uid {os.geteuid()}",
        )
    if about.st_mode & _WRITABLE_BY_OTHERS and not may_be_shared:
        _refuse(path, f"{what} has mode {mode}, so others may write it: {cure}")


def _rule(number: int, table: RuleTable) -> Rule:
    given = [name for name in _SELECTORS if getattr(table, name) is not None]
    if len(given) != 1:
        raise BadRequest(
            f"it has {len(given)} of user, uid, group and gid ({', '.join(given) or 'none'}); "
            "give exactly one"
        )
    (name,) = given
    value = getattr(table, name)
    kind: Literal["uid", "gid"] = "uid" if name in ("user", "uid") else "gid"
    low, high = _ids(name, value)
    if low == high and low in unmapped_ids(kind):
        raise BadRequest(
            f"{name} {value!r} is {kind} {low}, which stands for everybody whom the kernel could "
            "not map; no rule may speak of it"
        )
    roles = frozenset().union(*(INCLUDED[role] for role in table.roles))
    domains, scopes = _compartments(table, roles)
    for text in (table.principal or "", *domains, *scopes):
        if _BRACES.search(text) or (text in scopes and "{" in text):
            raise BadRequest(
                f"{text!r} holds a brace; {{user}} and {{uid}} are replaced in principal and "
                "domains, and nothing else is"
            )
        if "}*" in text:
            raise BadRequest(
                f"{text!r} is also the prefix of other users' domains (uid 1 of uid 10); put "
                "something between, such as a slash"
            )
    shown = f"{low} to {high}" if isinstance(value, list) else str(value)
    return Rule(
        number=number,
        selector=f"{name} {shown}",
        kind=kind,
        low=low,
        high=high,
        roles=roles,
        principal=table.principal or "{user}",
        domains=domains,
        scopes=scopes,
        quota=Quota(table.limits.connections, table.limits.in_flight, _bytes(table.limits.bytes)),
    )


def _ids(name: str, value: Any) -> tuple[int, int]:
    try:
        if name == "user":
            id_ = pwd.getpwnam(value).pw_uid
        elif name == "group":
            id_ = grp.getgrnam(value).gr_gid
        elif isinstance(value, list):
            low, high = value
            if low > high:
                raise BadRequest(f"{name} {low} to {high} is no range; give the lower id first")
            return low, high
        else:
            id_ = value
    except (KeyError, ValueError):
        raise BadRequest(
            f"there is no {name} {value!r} on this machine; create it, or mend the name"
        ) from None
    return id_, id_


def _compartments(table: RuleTable, roles: frozenset[str]) -> tuple[Any, Any]:
    """Give the domains and scopes, which only who reads or writes has."""
    if "admin" in roles:
        if table.domains is not None or table.scopes is not None:
            raise BadRequest(
                "an admin exports, imports and restores whole stores, so domains and scopes do "
                "not bind one; leave them out, or give reader and writer instead"
            )
        return EVERYTHING, EVERYTHING
    if "reader" not in roles:
        if table.domains or table.scopes:
            who = "an operator sees no content" if roles else "no roles means refused"
            raise BadRequest(f"{who}, so domains and scopes say nothing; leave them out")
        return (), ()
    if table.domains is None:
        raise BadRequest('domains is missing; list them, such as ["shared", "team/*"] or ["*"]')
    return table.domains, table.scopes or ()


def _bytes(value: int | str | None) -> int | None:
    if not isinstance(value, str):
        return value
    found = _SIZE.fullmatch(value)
    if found is None:
        raise BadRequest(
            f"limits.bytes is {value!r}; give a number of bytes, or one with "
            f"{', '.join(filter(None, _UNITS))}"
        )
    return int(found[1]) * _UNITS[found[2]]


def _refuse(path: Path, reason: str, **detail: Any) -> NoReturn:
    raise BadRequest(f"the policy {path} is refused: {reason}", path=str(path), **detail)
