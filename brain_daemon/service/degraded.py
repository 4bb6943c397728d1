"""What is answered when there is no store to answer from: the reason, to every call."""

import os
from typing import Any

from brain_daemon.errors import BrainError, Forbidden
from brain_daemon.model import Principal
from brain_daemon.params import decode
from brain_daemon.service.admin import HealthParams
from brain_daemon.service.operation import NoParams


class Degraded:
    """The callable that the protocol layer is given in place of a `Dispatcher`.

    ``ping`` and ``health`` are answered, so that whoever watches can tell a daemon that waits to
    be mended from one that is gone.

    Parameters
    ----------
    reason : BrainError
        Why nothing can be served; raised for every other call.
    """

    def __init__(self, reason: BrainError) -> None:
        self.reason = reason

    def __call__(
        self, method: str, params: dict[str, Any], principal: Principal, notification: bool
    ) -> Any:
        """Answer one call.

        Raises
        ------
        BrainError
            The reason.
        """
        if method == "ping":
            decode(params, NoParams)
            return "pong"
        if method == "health":
            if "operator" not in principal.roles:
                raise Forbidden("health needs the role operator", role="operator")
            decode(params, HealthParams)
            return {
                "status": "degraded",
                "reasons": [self.reason.message],
                "deep": False,
                "free_bytes": None,
                "pid": os.getpid(),
            }
        # A new one each time: an exception that is raised again drags its tracebacks along.
        raise type(self.reason)(self.reason.message, **self.reason.detail)

    def close(self) -> None:
        """Nothing is under way."""
