"""Who may call: identity comes from the kernel, never from the request.

Without a policy file the daemon serves its own user alone, who may do everything.
"""

import os
import pwd

from brain_daemon.errors import Forbidden
from brain_daemon.model import Principal, Tags
from brain_daemon.protocol.peer import PeerCredentials

ROLES = frozenset({"reader", "writer", "operator", "admin"})
UNMAPPED_UIDS = frozenset({65534, 2**32 - 1})  # a peer from another user namespace


def authenticate(peer: PeerCredentials) -> Principal:
    """Map a peer to its principal.

    Raises
    ------
    Forbidden
        The peer is another user, or one whom the kernel could not map.
    """
    if peer.uid in UNMAPPED_UIDS or peer.uid != os.geteuid():
        raise Forbidden(
            f"uid {peer.uid} may not use this daemon: it serves uid {os.geteuid()} only",
            uid=peer.uid,
        )
    return Principal(
        name=_user_name(peer.uid), uid=peer.uid, gid=peer.gid, pid=peer.pid, roles=ROLES
    )


def may_change(principal: Principal, tags: Tags) -> bool:
    """Only its owner may replace or forget a memory, unless the caller is an admin."""
    return tags.owner == principal.name or "admin" in principal.roles


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid{uid}"
