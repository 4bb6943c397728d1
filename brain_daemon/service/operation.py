"""What an operation is: the row type of the one table in `dispatch`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from brain_daemon.model import Principal
from brain_daemon.policy.rules import Role
from brain_daemon.service.memory import Memory

Id = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Cursor = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class NoParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An operation without parameters."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of the wire protocol.

    ``run(memory, params, principal)`` gives the result, or a job that the dispatcher queues for
    the writer thread. What ``writes``, be it the store or another file, must be a request, whose
    answer is read. ``heavy(memory, params)`` tells that ``run`` would hold the event loop too long
    and belongs on a thread. ``role`` is the one that a caller needs; this is the only place that
    says so. What is ``audited`` is told to the audit log.
    """

    method: str
    params: type[msgspec.Struct]
    run: Callable[[Memory, Any, Principal], Any]
    role: Role | Literal["anyone"]
    writes: bool = False
    audited: bool = False
    heavy: Callable[[Memory, Any], bool] | None = None


def always(memory: Memory, params: Any) -> bool:
    """For operations whose ``run`` always belongs on a thread."""
    return True
