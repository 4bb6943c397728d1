"""Who gets in: the policy in force, how many connections each principal has, and reloading.

Called by the protocol layer on the event loop, once for each connection and again for all of
them after a reload. What a principal may do then is each operation's role (`dispatch`).
"""

import logging
from collections import Counter
from collections.abc import Callable

from brain_daemon.audit.log import AuditLog
from brain_daemon.errors import BadRequest, BrainError, Forbidden, Overloaded
from brain_daemon.model import PeerCredentials, Principal
from brain_daemon.policy.rules import Policy

log = logging.getLogger(__name__)

RETRY_AFTER_MS = 1000


class Admission:
    """The policy in force; replaced as a whole, so that no call sees half of two.

    Parameters
    ----------
    policy : Policy
    load : callable
        Gives the policy that a reload puts in its place. Raises BrainError for one that is bad.

    Attributes
    ----------
    audit : AuditLog or None
        Is told of refusals and reloads; None as long as no store is open.
    reload_failure : str or None
        Why the last reload changed nothing, if it did not.
    readmit : callable
        Called after a reload; the composition root lets it judge all open connections anew.
    """

    def __init__(self, policy: Policy, load: Callable[[], Policy] = Policy.of_own_user) -> None:
        self.policy = policy
        self.audit: AuditLog | None = None
        self.reload_failure: str | None = None
        self.readmit: Callable[[], None] = lambda: None
        self._load = load
        self._connections: Counter[str] = Counter()

    def admit(self, peer: PeerCredentials) -> Principal:
        """Let a peer in and count its connection, until `leave`.

        Raises
        ------
        Forbidden
            The policy does not let it in.
        Overloaded
            Its principal has as many connections as its rule allows.
        """
        try:
            principal = self.policy.admit(peer)
        except Forbidden as error:
            if self.audit is not None:
                self.audit.denied(peer.uid, peer.pid, "connect", error.message)
            raise
        limit = principal.quota.connections
        count = self._connections[principal.name]
        if limit is not None and count >= limit:
            raise Overloaded(
                f"{principal.name} has {count} connections, limit {limit} ({principal.rule}); "
                "close one, or have the rule's limits.connections raised",
                retry_after_ms=RETRY_AFTER_MS,
            )
        self._connections[principal.name] = count + 1
        return principal

    def leave(self, principal: Principal) -> None:
        """Take a connection of a principal off the count."""
        self._connections[principal.name] -= 1
        if not self._connections[principal.name]:
            del self._connections[principal.name]

    def connections(self, principal: Principal) -> int:
        """Give how many connections a principal has."""
        return self._connections[principal.name]

    def replace(self, policy: Policy) -> None:
        """Put a policy in force.

        Open connections are judged anew: whom the new policy refuses is told so at the next call
        and closed, everybody else goes on with what the new one gives. Calls under way end as
        they began.
        """
        self.policy = policy
        self.readmit()

    def reload(
        self, by: Principal | None = None, load: Callable[[], Policy] | None = None
    ) -> Policy:
        """Read the policy again and `replace` the old one by it, or keep that.

        Parameters
        ----------
        by : Principal, optional
            Who asked; None is a signal.
        load : callable, optional
            Used instead of the one given at first.

        Raises
        ------
        BrainError
            The new policy is bad, or its file is gone; the old one stays in force.
        """
        who = {"by": by.name, "uid": by.uid, "pid": by.pid} if by else {"by": "signal"}
        try:
            policy = (load or self._load)()
            if self.policy.source and not policy.source:
                raise BadRequest(
                    f"the policy {self.policy.source} is gone: put it back, or restart the daemon "
                    "to serve its own user only"
                )
        except BrainError as error:
            self.reload_failure = error.message
            self._tell(step="failed", reason=error.message, **who)
            raise
        self._tell(step="done", **told(policy), **who)  # what cannot be told is not done
        self.reload_failure = None
        self.replace(policy)
        log.info("the policy was reloaded: %s", policy.source or "none, the own user only")
        return policy

    def _tell(self, **fields: object) -> None:
        if self.audit is not None:
            self.audit.append("policy.reload", **fields)
            self.audit.sync()


def told(policy: Policy) -> dict[str, object]:
    """Give what the audit log says of a policy."""
    return {"source": policy.source, "sha256": policy.digest, "rules": len(policy.rules)}
