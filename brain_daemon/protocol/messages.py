"""The three messages of msgpack-RPC: what they must look like, and how they are encoded.

Here: requests ``[0, msgid, method, [params]]``, responses ``[1, msgid, error, result]`` and
notifications ``[2, method, [params]]``. Not here: the byte stream (``framing``) and what methods
exist (the service above). Layer: protocol; used by the client as well.
"""

from typing import Any

import msgpack

from brain_daemon.errors import BadRequest
from brain_daemon.protocol.framing import Undecodable

PROTOCOL_VERSION = 1

REQUEST = 0
RESPONSE = 1
NOTIFICATION = 2

MAX_MSGID = 2**32 - 1

_KEEP_BYTES = 1024 * 1024  # a packer's buffer never shrinks, so one that grew above this is dropped


class Malformed(Exception):
    """A message that is whole, but no call.

    Parameters
    ----------
    error : BadRequest
        What the peer is to be told.
    msgid : int, optional
        Of the request, when it could be read.
    foreign : bool
        Whether this can only be another protocol: a bare number, nil or boolean.
    notification : bool
        Whether it is one, which is never answered.
    """

    def __init__(
        self,
        error: BadRequest,
        msgid: int | None = None,
        *,
        foreign: bool = False,
        notification: bool = False,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.msgid = msgid
        self.foreign = foreign
        self.notification = notification


def parse_call(message: Any) -> tuple[int | None, str, dict[str, Any]]:
    """Take a decoded request or notification apart.

    Returns
    -------
    msgid : int or None
        None for a notification.
    method : str
    params : dict
        Empty if none were sent.

    Raises
    ------
    Malformed
        If `message` is neither.
    """
    if type(message) is not list:
        foreign = message is None or isinstance(message, int | float)
        raise Malformed(BadRequest("a message must be an array"), foreign=foreign)
    kind = message[0] if message else None
    if type(kind) is int and kind == REQUEST and len(message) == 4:
        _, msgid, method, arguments = message
        if type(msgid) is not int or not 0 <= msgid <= MAX_MSGID:
            raise Malformed(BadRequest(f"the msgid must be an integer in 0..{MAX_MSGID}"))
    elif type(kind) is int and kind == NOTIFICATION and len(message) == 3:
        _, method, arguments = message
        msgid = None
    else:
        raise _malformed(
            kind,
            message[1] if len(message) > 1 else None,
            "a message must be [0, msgid, method, [params]] or [2, method, [params]]",
        )
    if type(method) is not str:
        raise _malformed(kind, msgid, "the method must be a string")
    if type(arguments) is list:
        if not arguments:
            return msgid, method, {}
        params = arguments[0]
        if len(arguments) == 1 and type(params) is dict:
            if not params or all(type(name) is str for name in params):
                return msgid, method, params
            raise _malformed(kind, msgid, "parameter names must be strings")
    raise _malformed(kind, msgid, "params must be an array that holds one map, or nothing")


def malformed_from(undecodable: Undecodable) -> Malformed:
    """Say of an undecodable message what can be said of a malformed one."""
    return _malformed(undecodable.kind, undecodable.msgid, undecodable.reason)


def _malformed(kind: Any, msgid: Any, reason: str) -> Malformed:
    is_request = type(kind) is int and kind == REQUEST
    known = is_request and type(msgid) is int and 0 <= msgid <= MAX_MSGID
    return Malformed(
        BadRequest(f"not a valid call: {reason}"),
        msgid if known else None,
        notification=kind == NOTIFICATION,
    )


class Encoder:
    """Encode messages. An encoder belongs to one thread.

    Methods raise ValueError, TypeError or OverflowError for what msgpack cannot hold, such as
    integers beyond 64 bits.
    """

    def __init__(self) -> None:
        self._packer = msgpack.Packer()

    def request(self, msgid: int, method: str, params: dict[str, Any]) -> bytes:
        """Encode a request; `msgid` in 0..2**32-1."""
        return self._pack((REQUEST, msgid, method, (params,)))

    def response(self, msgid: int | None, error: dict[str, Any] | None, result: Any) -> bytes:
        """Encode a response; `msgid` is None when the request's own could not be read."""
        return self._pack((RESPONSE, msgid, error, result))

    def _pack(self, message: tuple[Any, ...]) -> bytes:
        data: bytes = self._packer.pack(message)
        if len(data) > _KEEP_BYTES:
            self._packer = msgpack.Packer()
        return data
