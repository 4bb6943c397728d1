"""Rules in order, of which the first that fits a peer decides; where none does, nobody gets in.

Here: matching, and making a principal of a peer. Not here: the file (``file``), and what a role
lets one do (each operation of the service says which role it needs).
"""

import os
import pwd
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from brain_daemon.errors import BrainError, Forbidden
from brain_daemon.model import PeerCredentials, Principal, Quota

Role = Literal["reader", "writer", "operator", "admin"]
ROLES: frozenset[Role] = frozenset({"reader", "writer", "operator", "admin"})
ANYONE: Literal["anyone"] = "anyone"
"""What an operation names that every principal may call, whatever its roles."""

INCLUDED: dict[str, frozenset[str]] = {
    "reader": frozenset({"reader"}),
    "writer": frozenset({"reader", "writer"}),
    "operator": frozenset({"operator"}),
    "admin": frozenset(ROLES),
}
"""What a role of a rule makes of a principal."""

EVERYTHING = ("*",)
NO_QUOTA = Quota()
INVALID_ID = 2**32 - 1  # -1, which no process has
_DEFAULT_OVERFLOW_ID = 65534
# Names that may become part of a domain: no slash and no star, which would mean more than a name.
_PLAIN_NAME = re.compile(r"[\w.@][\w.@-]*\$?")


def unmapped_ids(kind: Literal["uid", "gid"]) -> frozenset[int]:
    """Give the ids that stand for everybody whom this user namespace has no id for.

    A peer with one of them might be anyone, so no rule may speak of it.
    """
    try:
        overflow = int(Path(f"/proc/sys/kernel/overflow{kind}").read_text(encoding="ascii"))
    except (OSError, ValueError):  # hidden by a sandbox
        overflow = _DEFAULT_OVERFLOW_ID
    return frozenset({_DEFAULT_OVERFLOW_ID, overflow, INVALID_ID})


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, its names resolved.

    Parameters
    ----------
    number : int
        Its place in the file, from 1.
    selector : str
        Whom it speaks of, in the file's words: ``user alice``.
    kind : {"uid", "gid"}
    low, high : int
        The ids that it speaks of, both inclusive.
    roles : frozenset of str
        With what they include; empty: whom it fits is refused.
    principal : str
        The owner of what is written; ``{user}`` and ``{uid}`` stand for the peer's.
    domains, scopes : tuple of str
        Names, or prefixes followed by one ``*``; in domains the same two are replaced.
    quota : Quota
    """

    number: int
    selector: str
    kind: Literal["uid", "gid"]
    low: int
    high: int
    roles: frozenset[str]
    principal: str = "{user}"
    domains: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    quota: Quota = NO_QUOTA

    def fits(self, peer: PeerCredentials) -> bool:
        """Tell whether the rule speaks of this peer; of its groups, any may be meant."""
        ids = (peer.uid,) if self.kind == "uid" else (peer.gid, *peer.groups)
        return any(self.low <= id_ <= self.high for id_ in ids)


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in force, and where they come from; immutable, so it is replaced as a whole.

    Parameters
    ----------
    rules : sequence of Rule
    source : str
        For people: the file's path, or that there is none.
    refusal : str, optional
        Why nobody at all gets in.
    digest : str
        SHA-256 of the file, in hexadecimal.
    """

    rules: Sequence[Rule]
    source: str
    refusal: str | None = None
    digest: str = ""
    _unmapped: frozenset[int] = field(default_factory=lambda: unmapped_ids("uid"))
    _unmapped_groups: frozenset[int] = field(default_factory=lambda: unmapped_ids("gid"))
    _names: dict[int, str | None] = field(default_factory=dict)

    @classmethod
    def of_own_user(cls) -> "Policy":
        """The policy without a file: this process's user may do everything, all others nothing."""
        uid = os.geteuid()
        rule = Rule(
            1, f"uid {uid}", "uid", uid, uid, frozenset(ROLES), "{user}", EVERYTHING, EVERYTHING
        )
        policy = cls((rule,), "")
        policy._names[uid] = _user_name(uid) or f"uid{uid}"
        return policy

    @classmethod
    def closed(cls, reason: str) -> "Policy":
        """A policy that lets nobody in, since the real one cannot be read; ``reason`` is told."""
        return cls((), "", reason)

    def find(self, peer: PeerCredentials) -> Rule | None:
        """Give the first rule that fits; None where none does, or the peer might be anybody."""
        if peer.uid in self._unmapped:
            return None
        known = PeerCredentials(
            peer.pid,
            peer.uid,
            INVALID_ID if peer.gid in self._unmapped_groups else peer.gid,
            tuple(gid for gid in peer.groups if gid not in self._unmapped_groups),
        )
        return next((rule for rule in self.rules if rule.fits(known)), None)

    def admit(self, peer: PeerCredentials) -> Principal:
        """Make a principal of a peer.

        Raises
        ------
        Forbidden
            No rule fits, the rule that does refuses, or the peer's name cannot be put in; the
            message names the rule.
        """
        uid = peer.uid
        if self.refusal is not None:
            raise Forbidden(f"nobody may use this daemon now: {self.refusal}", uid=uid)
        if uid in self._unmapped:
            raise Forbidden(
                f"uid {uid} stands for every user whom the kernel could not map, so no rule "
                "applies to it: connect from the daemon's own user namespace",
                uid=uid,
            )
        rule = self.find(peer)
        if rule is None:
            raise self._unknown(uid)
        told = self.describe(rule)
        if not rule.roles:
            raise Forbidden(
                f"{told} refuses uid {uid}: it has no roles; an earlier rule could let it in",
                uid=uid,
                rule=told,
            )
        uses_name = any("{user}" in text for text in (rule.principal, *rule.domains))
        user = self._name(uid) if uses_name else ""  # to ask may take long on a directory service
        if user is None or (uses_name and not _PLAIN_NAME.fullmatch(user)):
            raise Forbidden(
                f"{told} names its principal by {{user}}, and uid {uid} has "
                + ("no user name" if user is None else f"the name {user!r}, which is no plain one")
                + ": use {uid} in that rule",
                uid=uid,
                rule=told,
            )

        def filled(text: str) -> str:
            return text.replace("{user}", user).replace("{uid}", str(uid))

        return Principal(
            name=filled(rule.principal),
            uid=uid,
            gid=peer.gid,
            pid=peer.pid,
            roles=rule.roles,
            domains=tuple(filled(domain) for domain in rule.domains),
            scopes=rule.scopes,
            quota=rule.quota,
            rule=told,
        )

    def describe(self, rule: Rule) -> str:
        """Name a rule as messages and ``whoami`` do."""
        if not self.source:
            return "the daemon's own user, since there is no policy file"
        return f"rule {rule.number} of {self.source} ({rule.selector})"

    def _unknown(self, uid: int) -> BrainError:
        if not self.source:
            return Forbidden(
                f"uid {uid} may not use this daemon: without a policy file it serves uid "
                f"{self.rules[0].low} only",
                uid=uid,
            )
        return Forbidden(
            f"uid {uid} may not use this daemon: none of the {len(self.rules)} rules of "
            f"{self.source} names it or a group of it",
            uid=uid,
        )

    def _name(self, uid: int) -> str | None:
        """Give the user's name, looked up once while this policy is in force."""
        if uid not in self._names:
            self._names[uid] = _user_name(uid)
        return self._names[uid]


def _user_name(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None
