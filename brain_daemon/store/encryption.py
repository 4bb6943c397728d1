"""Backups that only a key opens: the age format, by pyrage (the extra ``encrypt``).

The daemon is given a public key (``age1…``) alone, so it cannot read its own backups. Any age
program opens them, too.
"""

import shutil
from pathlib import Path
from types import ModuleType

from brain_daemon.errors import BadRequest

_MAGIC = b"age-encryption.org/"


def encrypt(source: Path, target: Path, recipient: str) -> None:
    """Write an encrypted copy.

    Parameters
    ----------
    source, target : Path
        The target exists and is empty.
    recipient : str
        A public key, as ``age-keygen`` prints it.

    Raises
    ------
    BadRequest
        It is no such key, or pyrage is not installed.
    """
    pyrage = library()
    pyrage.encrypt_file(str(source), str(target), [parse(recipient)])


def parse(recipient: str) -> object:
    """Read a public key; see `encrypt` for what is raised."""
    pyrage = library()
    try:
        return pyrage.x25519.Recipient.from_str(recipient)
    except pyrage.RecipientError as error:
        raise BadRequest(
            f"recipient is {recipient[:80]!r}: {error}; give a public key as age-keygen prints it "
            "(age1…)",
            field="recipient",
        ) from error


def is_encrypted(path: Path) -> bool:
    """Tell whether a file is in the age format, by its first bytes."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def copy_plain(source: Path, target: Path, identity: Path | None) -> None:
    """Copy a backup, decrypting it if it is encrypted.

    Raises
    ------
    BadRequest
        It is encrypted and no key was given, or the key does not open it; or it was changed.
    """
    if not is_encrypted(source):
        shutil.copyfile(source, target)
        return
    if identity is None:
        raise BadRequest(f"{source} is encrypted: give the file of its key with --identity")
    pyrage = library()
    try:
        keys = [
            pyrage.x25519.Identity.from_str(line.strip())
            for line in identity.read_text(encoding="utf-8").splitlines()
            if line.strip() and not line.startswith("#")
        ]
    except (pyrage.IdentityError, UnicodeDecodeError) as error:
        raise BadRequest(f"{identity} holds no age key: {error}") from error
    target.touch(mode=0o600)
    try:
        pyrage.decrypt_file(str(source), str(target), keys)
    except (pyrage.DecryptError, OSError) as error:  # the latter where the text was changed
        raise BadRequest(f"{source} cannot be decrypted with {identity}: {error}") from error


def library() -> ModuleType:
    """Give pyrage.

    Raises
    ------
    BadRequest
        It is not installed.
    """
    try:
        import pyrage
    except ImportError as error:
        raise BadRequest(
            "encrypted backups need pyrage: pip install 'brain-daemon[encrypt]'"
        ) from error
    return pyrage
