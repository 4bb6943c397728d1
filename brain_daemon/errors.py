"""The error tree and its stable wire codes: one table, shared by server and clients.

A message states the value, the limit and the cure. Kernels raise only ValueError, TypeError
and MemoryError; the layer that calls them translates.
"""

from typing import Any, ClassVar


class BrainError(Exception):
    """Base of every error that crosses the socket.

    Parameters
    ----------
    message : str
        For people: what was given, what is accepted, what to do.
    detail : dict, optional
        For programs: names and values, msgpack-encodable.
    """

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, **detail: Any) -> None:
        super().__init__(message)
        self.message = message
        self.detail: dict[str, Any] = detail


class InternalError(BrainError):
    code = "internal"


class BadRequest(BrainError):
    code = "bad_request"


class NotFound(BrainError):
    code = "not_found"


class Conflict(BrainError):
    code = "conflict"


class Forbidden(BrainError):
    code = "forbidden"


class TooLarge(BrainError):
    code = "too_large"


class QuotaExceeded(BrainError):
    """The caller's rule allows no more to be stored; reading and forgetting go on."""

    code = "quota_exceeded"


class CapacityExceeded(BrainError):
    """The store holds as much as its settings allow; reading and forgetting go on."""

    code = "capacity_exceeded"


class Overloaded(BrainError):
    """The queue is full; ``detail["retry_after_ms"]`` says when to try again."""

    code = "overloaded"


class DeadlineExceeded(BrainError):
    code = "deadline_exceeded"


class StoreDegraded(BrainError):
    code = "store_degraded"


class SchemaTooNew(BrainError):
    code = "schema_too_new"


class ModelMismatch(BrainError):
    """The store was embedded by another model; the message names the command that re-embeds."""

    code = "model_mismatch"


class ConnectionLost(BrainError):
    """Client side only: the daemon went away before it answered."""

    code = "connection_lost"


def _codes(root: type[BrainError]) -> dict[str, type[BrainError]]:
    table: dict[str, type[BrainError]] = {}
    for cls in root.__subclasses__():
        if cls.code in table:
            raise RuntimeError(f"wire code {cls.code!r} is used twice")
        table[cls.code] = cls
    return table


ERROR_BY_CODE = _codes(BrainError)


def from_wire(value: Any) -> BrainError:
    """Turn an error value of a response (``{code, message, detail}``) into its exception."""
    if not isinstance(value, dict):
        return InternalError(str(value))
    cls = ERROR_BY_CODE.get(str(value.get("code")), InternalError)
    detail = value.get("detail")
    return cls(str(value.get("message", "")), **(detail if isinstance(detail, dict) else {}))


def to_wire(error: BrainError) -> dict[str, Any]:
    """Give the error value of a response."""
    return {"code": error.code, "message": error.message, "detail": error.detail}
