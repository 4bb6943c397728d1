"""What has passed the socket since the process began, in numbers. Layer: protocol."""

from collections import Counter


class Traffic:
    """Counters that connections write on the event loop, and others read.

    Attributes
    ----------
    accepted, closed, refused : int
        Connections made, those of them that are gone, and those that were not let in.
    received_bytes, sent_bytes : int
    errors : Counter of str
        Answers that told an error, by its code.
    """

    __slots__ = ("accepted", "closed", "errors", "received_bytes", "refused", "sent_bytes")

    def __init__(self) -> None:
        self.accepted = 0
        self.closed = 0
        self.refused = 0
        self.received_bytes = 0
        self.sent_bytes = 0
        self.errors: Counter[str] = Counter()
