"""What is answered when there is no store to answer from: the reason, to every call."""

from typing import Any

from brain_daemon.errors import BrainError, Forbidden
from brain_daemon.model import Principal
from brain_daemon.params import decode
from brain_daemon.service.gauges import exposed, of_process
from brain_daemon.service.health import Fault, HealthParams, report
from brain_daemon.service.metrics import Metrics
from brain_daemon.service.operation import NoParams


class Degraded:
    """The callable that the protocol layer is given in place of a `Dispatcher`.

    ``ping``, ``health`` and ``metrics`` are answered, so that whoever watches can tell a daemon
    that waits to be mended from one that is gone.

    Parameters
    ----------
    reason : BrainError
        Why nothing can be served; raised for every other call.
    metrics : Metrics
        What was counted so far.
    """

    def __init__(self, reason: BrainError, metrics: Metrics) -> None:
        self.reason = reason
        self.metrics = metrics

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
        if method in ("health", "metrics"):
            if "operator" not in principal.roles:
                raise Forbidden(f"{method} needs the role operator", role="operator")
            decode(params, HealthParams if method == "health" else NoParams)
            if method == "metrics":
                return exposed(of_process(self.metrics, [self.reason.code]))
            return report([Fault(self.reason.code, self.reason.message)], False, None)
        # A new one each time: an exception that is raised again drags its tracebacks along.
        raise type(self.reason)(self.reason.message, **self.reason.detail)

    def close(self) -> None:
        """Nothing is under way."""
