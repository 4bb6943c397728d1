"""The call that is being carried out, for whoever has to name it: log lines, errors, figures.

A leaf. The protocol layer makes one for each message and sets it while the message is served.
"""

from contextvars import ContextVar

from msgspec import Struct


class Call(Struct, eq=False, gc=False):
    """One call, and what was measured of it.

    Attributes
    ----------
    connection : int
        The number of its connection, from 1, unique for the life of the process.
    msgid : int or None
        As its sender chose it; None for a notification.
    leg_ns : dict of str to int
        How long each leg of a recall took, in nanoseconds.
    """

    connection: int
    msgid: int | None
    leg_ns: dict[str, int] | None = None

    @property
    def request(self) -> str:
        """What it is called in the log and in the detail of its error."""
        return request_id(self.connection, self.msgid)


def request_id(connection: int, msgid: int | None) -> str:
    """Name a request: the number of its connection, and its msgid if it has one."""
    return str(connection) if msgid is None else f"{connection}-{msgid}"


current: ContextVar[Call | None] = ContextVar("call", default=None)
"""The call under way in this task or thread; None outside of any."""
