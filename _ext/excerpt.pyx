"""Where a text may hold wanted words, and the stretch of it that shows most of them.

Characters in, offsets out; what a word means, and which are wanted, is decided above
(``text.analyzer``, ``recall.evidence``).
"""

from cpython.unicode cimport PyUnicode_DATA, PyUnicode_KIND, PyUnicode_READ
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

ctypedef struct segment:
    Py_ssize_t start
    Py_ssize_t end


cdef struct segments:
    segment *items
    Py_ssize_t count
    Py_ssize_t capacity


cdef inline bint is_break(uint32_t char, const uint8_t *breaks) noexcept nogil:
    return char < 0x10000 and (breaks[char >> 3] >> (char & 7)) & 1 != 0


cdef inline uint32_t lower(uint32_t char) noexcept nogil:
    return char | 0x20 if 65 <= char <= 90 else char


def surfaces(str text not None, tuple beginnings, bytes breaks not None):
    """Find the runs of unbroken characters in which a wanted word may stand.

    Parameters
    ----------
    text : str
    beginnings : tuple of str, or None
        What wanted words begin with, lower-case ASCII, none of them empty. A run is found if one
        stands anywhere in it, whatever its case, or if it has a character beyond ASCII. None:
        every run is found.
    breaks : bytes, of length 8192
        One bit for each of the first 65,536 characters, the lowest bit first: 1 where the
        character is part of no run.

    Returns
    -------
    list of (int, int)
        Character offsets, ascending, disjoint.

    Raises
    ------
    ValueError
        `breaks` has another length, or a beginning is empty or not ASCII.
    """
    cdef Py_ssize_t n = len(text), at = 0, start
    cdef int kind = PyUnicode_KIND(text)
    cdef void *data = PyUnicode_DATA(text)
    cdef const uint8_t *table = breaks
    cdef uint8_t first[128]
    cdef Py_UCS4 char
    cdef bint found, all_runs = beginnings is None
    cdef str beginning
    if len(breaks) != 0x10000 // 8:
        raise ValueError(f"breaks has {len(breaks)} bytes: {0x10000 // 8} are needed")
    memset(first, 0, sizeof(first))
    if not all_runs:
        for beginning in beginnings:
            if not beginning or not beginning.isascii():
                raise ValueError(f"a beginning is {beginning!r}: it must be ASCII and not empty")
            first[lower(ord(beginning[0]))] = 1
    result = []
    while at < n:
        char = PyUnicode_READ(kind, data, at)
        if is_break(char, table):
            at += 1
            continue
        start = at
        found = all_runs
        while at < n:
            char = PyUnicode_READ(kind, data, at)
            if is_break(char, table):
                break
            if not found:
                if char >= 128:
                    found = True
                elif first[lower(char)]:
                    found = begins(kind, data, n, at, beginnings)
            at += 1
        if found:
            result.append((start, at))
    return result


cdef bint begins(int kind, void *data, Py_ssize_t n, Py_ssize_t at, tuple beginnings):
    """Whether one of the beginnings stands at a place; none of them holds a break."""
    cdef Py_ssize_t i, length
    cdef str beginning
    cdef void *wanted
    for beginning in beginnings:
        length = len(beginning)
        if length > n - at:
            continue
        wanted = PyUnicode_DATA(beginning)
        for i in range(length):
            if lower(PyUnicode_READ(kind, data, at + i)) != (<uint8_t *>wanted)[i]:
                break
        else:
            return True
    return False


def window(str text not None, list spans not None, Py_ssize_t limit):
    """Choose whole sentences or lines that hold most of the spans.

    Parameters
    ----------
    text : str
    spans : list of (int, int)
        Character offsets of words, ascending, disjoint.
    limit : int
        Most characters to give, at least 1. A sentence longer than that is cut at white space,
        or anywhere where there is none.

    Returns
    -------
    start, end : int
        Character offsets. Most distinct words (without regard to case), then most words, then the
        first; what room is left is filled with what stands before.

    Raises
    ------
    ValueError
        `limit` is below 1.
    """
    cdef segments cut
    if limit < 1:
        raise ValueError(f"limit is {limit}: at least 1 is needed")
    cut.items = NULL
    cut.count = cut.capacity = 0
    try:
        split(text, limit, &cut)
        if not cut.count:
            return 0, 0
        return choose(text, spans, limit, &cut)
    finally:
        free(cut.items)


cdef tuple choose(str text, list spans, Py_ssize_t limit, const segments *cut):
    cdef Py_ssize_t n_spans = len(spans), i, j, home = 0, last, start, end
    cdef Py_ssize_t best_distinct = 0, best_words = 0, chosen = 0, chosen_last, first
    cdef const segment *items = cut.items
    cdef set distinct
    words = []  # of each span, folded
    homes = []  # of each span, its segment
    for span in spans:
        start, end = span
        while home + 1 < cut.count and items[home + 1].start <= start:
            home += 1
        words.append(text[start:end].casefold())
        homes.append(home)
    chosen_last = last_within(cut, 0, limit)
    i = 0
    while i < n_spans:
        first = homes[i]
        last = last_within(cut, first, limit)
        j = i
        while j < n_spans and <Py_ssize_t>homes[j] <= last:
            j += 1
        distinct = set(words[i:j])
        if len(distinct) > best_distinct or (len(distinct) == best_distinct
                                             and j - i > best_words):
            best_distinct, best_words = len(distinct), j - i
            chosen, chosen_last = first, last
        while i < n_spans and <Py_ssize_t>homes[i] == first:
            i += 1
    end = items[chosen_last].end
    while chosen and end - items[chosen - 1].start <= limit:
        chosen -= 1
    return items[chosen].start, end


cdef Py_ssize_t last_within(const segments *cut, Py_ssize_t first, Py_ssize_t limit) noexcept nogil:
    """The last segment that fits in with the first."""
    cdef Py_ssize_t last = first, reach = cut.items[first].start + limit
    while last + 1 < cut.count and cut.items[last + 1].end <= reach:
        last += 1
    return last


cdef int split(str text, Py_ssize_t limit, segments *cut) except -1:
    """Cut a text into sentences and lines, without the white space around them."""
    cdef Py_ssize_t n = len(text), start = 0, at = 0, end
    cdef int kind = PyUnicode_KIND(text)
    cdef void *data = PyUnicode_DATA(text)
    cdef Py_UCS4 char
    while at < n:
        char = PyUnicode_READ(kind, data, at)
        at += 1
        if char == u'.' or char == u'!' or char == u'?' or char == u'…':
            end = at
            while end < n and is_closing(PyUnicode_READ(kind, data, end)):
                end += 1
            if end == n or not PyUnicode_READ(kind, data, end).isspace():
                continue
            at = end
        elif not (char == u'\n' or char == u'。' or char == u'！' or char == u'？'):
            continue
        add(kind, data, start, at, limit, cut)
        start = at
    return add(kind, data, start, n, limit, cut)


cdef inline bint is_closing(Py_UCS4 char) noexcept nogil:
    return char == u"'" or char == u'"' or char == u')' or char == u']'


cdef int add(int kind, void *data, Py_ssize_t start, Py_ssize_t end, Py_ssize_t limit,
             segments *cut) except -1:
    """Add a sentence, in pieces if it is too long."""
    cdef Py_ssize_t length
    while True:
        while start < end and PyUnicode_READ(kind, data, start).isspace():
            start += 1
        while start < end and PyUnicode_READ(kind, data, end - 1).isspace():
            end -= 1
        if start == end:
            return 0
        length = end - start
        if length > limit:
            length = limit
            while length and not PyUnicode_READ(kind, data, start + length).isspace():
                length -= 1
            while length and PyUnicode_READ(kind, data, start + length - 1).isspace():
                length -= 1
            if not length:  # nowhere to cut
                length = limit
        append(cut, start, start + length)
        start += length


cdef int append(segments *cut, Py_ssize_t start, Py_ssize_t end) except -1:
    cdef segment *grown
    if cut.count == cut.capacity:
        grown = <segment *>realloc(cut.items, (2 * cut.capacity + 16) * sizeof(segment))
        if grown == NULL:
            raise MemoryError
        cut.items = grown
        cut.capacity = 2 * cut.capacity + 16
    cut.items[cut.count].start = start
    cut.items[cut.count].end = end
    cut.count += 1
    return 0
