"""Where a msgpack message ends, found without building one Python object.

Here: a byte-driven scanner with limits, and what cuts a stream where it says. Not here: decoding
(``protocol.framing``), what the limits are, and what a peer is told when it breaks one. Layer:
kernel; it imports nothing.

A decoder's own buffer limit does not bound what a message becomes: a few hundred kilobytes of
nested or empty containers grow into hundreds of megabytes of objects. So lengths and counts are
checked from the headers alone, before the bytes that they announce have arrived.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport uint8_t, uint64_t

cdef enum:
    MAX_DEPTH = 256

UNBOUNDED = 2**63


class FramingError(ValueError):
    """The stream cannot be followed further: the end of this message is unknown."""


class InvalidByte(FramingError):
    """0xc1, which msgpack never uses."""


class TooManyBytes(FramingError):
    """The message is, or declares itself to be, longer than max_bytes."""


class TooDeep(FramingError):
    """More than max_depth containers are open."""


class TooManyItems(FramingError):
    """A map has more than max_pairs entries, or all containers more than max_items together."""


cdef enum Head:
    HEAD_NONE               # between values
    HEAD_PAYLOAD            # length of a str or bin
    HEAD_EXT                # length of an ext, whose type byte follows
    HEAD_ARRAY
    HEAD_MAP


cdef class Scanner:
    """Follow one msgpack value after another through a stream cut anywhere.

    Each byte is looked at once (payloads are skipped), so a message that arrives a byte at a
    time costs O(n) in total. After an error the scanner must not be fed again.

    Parameters
    ----------
    max_bytes : int
        Longest message, in bytes, at least 1.
    max_depth : int
        Most containers open at once, 1 to 256; the message's own array counts as one.
    max_items : int
        Most container entries in one message, at least 1; a map's key and value count as two.
    max_pairs : int
        Most entries in one map, at least 1.

    Raises
    ------
    ValueError
        If a limit is out of range.
    """

    cdef uint64_t _max_bytes
    cdef uint64_t _max_items
    cdef uint64_t _max_pairs
    cdef Py_ssize_t _max_depth
    cdef uint64_t _n_bytes      # of this message, seen so far
    cdef uint64_t _n_items      # entries declared so far
    cdef uint64_t _owed         # values declared and not begun, at least one byte each
    cdef uint64_t _skip         # bytes of payload still to come
    cdef Py_ssize_t _depth
    cdef int _head              # Head: what the length bytes now arriving belong to
    cdef int _head_left         # of these, how many are missing
    cdef uint64_t _head_value
    cdef bint _in_message
    cdef bint _extension
    cdef uint64_t *_stack       # values left in each open container; as many as may be open

    def __init__(self, max_bytes, max_depth, max_items, max_pairs=UNBOUNDED):
        cdef uint64_t *stack
        if max_bytes < 1 or max_items < 1 or max_pairs < 1:
            raise ValueError(
                f"max_bytes {max_bytes}, max_items {max_items} and max_pairs {max_pairs} must be "
                "at least 1"
            )
        if not 1 <= max_depth <= MAX_DEPTH:
            raise ValueError(f"max_depth {max_depth} is not in 1..{MAX_DEPTH}")
        # Every connection has one of these: no more room than it may use.
        stack = <uint64_t *>PyMem_Realloc(self._stack, max_depth * sizeof(uint64_t))
        if stack == NULL:
            raise MemoryError
        self._stack = stack
        self._max_bytes = max_bytes
        self._max_items = max_items
        self._max_pairs = max_pairs
        self._max_depth = max_depth
        self._reset()

    def __dealloc__(self):
        PyMem_Free(self._stack)

    @property
    def in_message(self):
        """bool : whether a message has begun and not ended."""
        return self._in_message

    @property
    def extension(self):
        """bool : whether the message scanned last holds a value of an extension type."""
        return self._extension

    @property
    def n_items(self):
        """int : container entries that the message begun last has declared so far."""
        return self._n_items

    def feed(self, const uint8_t[::1] data not None, Py_ssize_t start=0):
        """Scan on, from ``data[start]``.

        Parameters
        ----------
        data : bytes-like, shape (n,)
            The bytes that follow those fed before.
        start : int
            Where to begin, 0 to n.

        Returns
        -------
        int
            The offset in `data` just past the end of the message, if it ends there; the next
            call begins another message. 0 if all of `data` was taken and more is needed.

        Raises
        ------
        InvalidByte, TooManyBytes, TooDeep, TooManyItems
            At the first byte, length or count that breaks a rule.
        ValueError
            If `start` is out of range.
        """
        cdef Py_ssize_t n = data.shape[0]
        if start < 0 or start > n:
            raise ValueError(f"start {start} is not in 0..{n}")
        return self._scan(&data[0], n, start) if n else 0

    cdef Py_ssize_t _scan(self, const uint8_t *data, Py_ssize_t n, Py_ssize_t start) except -1:
        cdef Py_ssize_t i = start
        cdef Py_ssize_t step
        cdef uint8_t byte
        if i < n and not self._in_message:
            self._reset()
            self._in_message = True
            self._owed = 1
        while i < n:
            if self._skip:
                step = n - i
                if self._skip < <uint64_t>step:
                    step = <Py_ssize_t>self._skip
                self._skip -= step
                self._n_bytes += step
                i += step
                if self._skip:
                    break
            else:
                byte = data[i]
                i += 1
                self._n_bytes += 1
                if self._head_left:
                    self._head_value = (self._head_value << 8) | byte
                    self._head_left -= 1
                    if self._head_left == 0:
                        self._end_head()
                else:
                    self._begin(byte)
            if self._skip == 0 and self._head_left == 0:
                while self._depth and self._stack[self._depth - 1] == 0:
                    self._depth -= 1
                if self._depth == 0:
                    self._in_message = False
                    return i
        return 0

    cdef void _reset(self) noexcept:
        self._n_bytes = 0
        self._n_items = 0
        self._owed = 0
        self._skip = 0
        self._depth = 0
        self._head = HEAD_NONE
        self._head_left = 0
        self._head_value = 0
        self._in_message = False
        self._extension = False

    cdef int _begin(self, uint8_t byte) except -1:
        """Take the first byte of a value."""
        if self._depth:
            self._stack[self._depth - 1] -= 1
        self._owed -= 1
        if byte <= 0x7F or byte >= 0xE0:        # fixint
            return self._check_bytes()
        if byte <= 0x8F:
            return self._open_map(byte & 0x0F)
        if byte <= 0x9F:
            return self._open(byte & 0x0F)
        if byte <= 0xBF:
            return self._payload(byte & 0x1F)
        if byte == 0xC0 or byte == 0xC2 or byte == 0xC3:
            return self._check_bytes()
        if byte == 0xC1:
            raise InvalidByte("the byte 0xc1 is not msgpack")
        if byte <= 0xC6:                        # bin 8, 16, 32
            return self._await(HEAD_PAYLOAD, 1 << (byte - 0xC4))
        if byte <= 0xC9:                        # ext 8, 16, 32
            return self._await(HEAD_EXT, 1 << (byte - 0xC7))
        if byte == 0xCA:                        # float 32, 64
            return self._payload(4)
        if byte == 0xCB:
            return self._payload(8)
        if byte <= 0xCF:                        # uint 8 to 64
            return self._payload(1 << (byte - 0xCC))
        if byte <= 0xD3:                        # int 8 to 64
            return self._payload(1 << (byte - 0xD0))
        if byte <= 0xD8:                        # fixext 1 to 16, and its type byte
            self._extension = True
            return self._payload(1 + (1 << (byte - 0xD4)))
        if byte <= 0xDB:                        # str 8, 16, 32
            return self._await(HEAD_PAYLOAD, 1 << (byte - 0xD9))
        if byte <= 0xDD:                        # array 16, 32
            return self._await(HEAD_ARRAY, 2 << (byte - 0xDC))
        return self._await(HEAD_MAP, 2 << (byte - 0xDE))

    cdef int _await(self, int head, int n_bytes) except -1:
        self._head = head
        self._head_left = n_bytes
        self._head_value = 0
        return self._check_bytes()

    cdef int _end_head(self) except -1:
        if self._head == HEAD_PAYLOAD:
            return self._payload(self._head_value)
        if self._head == HEAD_EXT:
            self._extension = True
            return self._payload(self._head_value + 1)
        if self._head == HEAD_ARRAY:
            return self._open(self._head_value)
        return self._open_map(self._head_value)

    cdef int _open_map(self, uint64_t n_pairs) except -1:
        if n_pairs > self._max_pairs:
            raise TooManyItems(f"a map of {n_pairs} entries, limit {self._max_pairs}")
        return self._open(2 * n_pairs)

    cdef int _payload(self, uint64_t n_bytes) except -1:
        self._skip = n_bytes
        return self._check_bytes()

    cdef int _open(self, uint64_t n_values) except -1:
        if self._depth == self._max_depth:
            raise TooDeep(f"more than {self._max_depth} containers within one another")
        self._n_items += n_values
        if self._n_items > self._max_items:
            raise TooManyItems(f"{self._n_items} container entries, limit {self._max_items}")
        self._owed += n_values
        self._stack[self._depth] = n_values
        self._depth += 1
        return self._check_bytes()

    cdef int _check_bytes(self) except -1:
        """Refuse by the least size the message can still have. All terms are below 2**35."""
        cdef uint64_t least = self._n_bytes + self._head_left + self._skip + self._owed
        if least > self._max_bytes:
            raise TooManyBytes(f"a message of at least {least} bytes, limit {self._max_bytes}")
        return 0


cdef class Splitter:
    """Cut a stream of msgpack values, cut anywhere, into whole ones.

    Bytes are taken in by :meth:`feed` and values out by :meth:`cut`, so that a receiver under
    back-pressure can leave whole values uncut. After an error it is of no further use.

    Parameters
    ----------
    max_bytes, max_depth, max_items, max_pairs : int
        As of `Scanner`.

    Attributes
    ----------
    n_message_bytes : int
        Length of the value that :meth:`cut` gave last.

    Raises
    ------
    ValueError
        If a limit is out of range.
    """

    cdef Scanner _scanner
    cdef bytes _chunk           # what was fed and not used up; cut up to _start
    cdef Py_ssize_t _start
    cdef bytearray _partial     # of the value that has not ended, what came in earlier chunks
    cdef readonly Py_ssize_t n_message_bytes

    def __init__(self, max_bytes, max_depth, max_items, max_pairs=UNBOUNDED):
        self._scanner = Scanner(max_bytes, max_depth, max_items, max_pairs)
        self._chunk = b""
        self._start = 0
        self._partial = None
        self.n_message_bytes = 0

    @property
    def in_message(self):
        """bool : whether the last of the bytes cut so far begin a value and do not end it."""
        return self._scanner._in_message

    @property
    def has_unread(self):
        """bool : whether bytes were fed that :meth:`cut` has not looked at yet."""
        return PyBytes_GET_SIZE(self._chunk) != 0

    @property
    def n_partial_bytes(self):
        """int : how much of a value that has not ended is kept."""
        return 0 if self._partial is None else len(self._partial)

    @property
    def extension(self):
        """bool : whether the value cut last holds one of an extension type."""
        return self._scanner._extension

    @property
    def n_items(self):
        """int : container entries of the value cut last."""
        return self._scanner._n_items

    def feed(self, bytes data not None):
        """Take in the bytes that follow those fed before."""
        self._chunk = self._chunk[self._start:] + data if self._chunk else data
        self._start = 0

    def clear(self):
        """Let go of all bytes; nothing may be fed any more."""
        self._chunk, self._start = b"", 0
        self._partial = None

    def cut(self):
        """Give the next whole value.

        Returns
        -------
        bytes, bytearray or memoryview, or None
            None if what was fed holds no further one.

        Raises
        ------
        InvalidByte, TooManyBytes, TooDeep, TooManyItems
            As of `Scanner.feed`.
        """
        cdef bytes chunk = self._chunk
        cdef Py_ssize_t start = self._start
        cdef Py_ssize_t n = PyBytes_GET_SIZE(chunk)
        cdef Py_ssize_t end
        if n == 0:
            return None
        end = self._scanner._scan(<const uint8_t *>PyBytes_AS_STRING(chunk), n, start)
        if end == 0 or end == n:    # an idle connection keeps nothing of what it read last
            self._chunk, self._start = b"", 0
        else:
            self._start = end
        if end == 0:
            if self._partial is None:
                self._partial = bytearray()
            self._partial += memoryview(chunk)[start:]
            return None
        if self._partial is not None:
            self._partial += memoryview(chunk)[start:end]
            message, self._partial = self._partial, None
        elif start == 0 and end == n:
            message = chunk
        else:
            message = memoryview(chunk)[start:end]
        self.n_message_bytes = len(message)
        return message
