"""Where a text may hold wanted words, and the stretch of it that shows most of them.

Characters in, offsets out; what a word means, and which are wanted, is decided above
(``text.analyzer``, ``recall.evidence``).
"""

from cpython.unicode cimport (
    PyUnicode_1BYTE_KIND,
    PyUnicode_2BYTE_KIND,
    PyUnicode_DATA,
    PyUnicode_KIND,
)
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

ctypedef fused code_unit:  # as CPython stores a str
    uint8_t
    uint16_t
    uint32_t


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
    cdef int kind = PyUnicode_KIND(text)
    cdef void *data = PyUnicode_DATA(text)
    cdef const uint8_t *table = breaks
    cdef uint64_t pairs[64]
    cdef str beginning
    if len(breaks) != 0x10000 // 8:
        raise ValueError(f"breaks has {len(breaks)} bytes: {0x10000 // 8} are needed")
    memset(pairs, 0 if beginnings is not None else 0xff, sizeof(pairs))
    for beginning in beginnings or ():
        if not beginning or not beginning.isascii():
            raise ValueError(f"a beginning is {beginning!r}: it must be ASCII and not empty")
        if len(beginning) == 1:
            pairs[ord(beginning[0]) & 63] = ~<uint64_t>0
        else:
            pairs[ord(beginning[0]) & 63] |= <uint64_t>1 << (ord(beginning[1]) & 63)
    if kind == PyUnicode_1BYTE_KIND:
        return find_runs(<const uint8_t *>data, len(text), beginnings, pairs, table)
    if kind == PyUnicode_2BYTE_KIND:
        return find_runs(<const uint16_t *>data, len(text), beginnings, pairs, table)
    return find_runs(<const uint32_t *>data, len(text), beginnings, pairs, table)


cdef list find_runs(const code_unit *text, Py_ssize_t n, tuple beginnings, const uint64_t *pairs,
                    const uint8_t *breaks):
    """Runs in which a beginning stands; `pairs` has a bit for what each begins with."""
    cdef Py_ssize_t at = 0, start
    cdef uint32_t following
    cdef bint found
    cdef list result = []
    while at < n:
        if is_break(text[at], breaks):
            at += 1
            continue
        start = at
        found = beginnings is None
        while at < n and not is_break(text[at], breaks):
            if not found:
                if text[at] >= 128:
                    found = True
                else:
                    following = text[at + 1] if at + 1 < n else 0
                    if pairs[lower(text[at]) & 63] >> (lower(following) & 63) & 1:
                        found = begins(text + at, n - at, beginnings)
            at += 1
        if found:
            result.append((start, at))
    return result


cdef bint begins(const code_unit *text, Py_ssize_t n, tuple beginnings):
    """Whether one of the beginnings stands here; none of them holds a break."""
    cdef Py_ssize_t i, length
    cdef str beginning
    cdef const uint8_t *wanted
    for beginning in beginnings:
        length = len(beginning)
        if length > n:
            continue
        wanted = <const uint8_t *>PyUnicode_DATA(beginning)
        for i in range(length):
            if lower(text[i]) != wanted[i]:
                break
        else:
            return True
    return False


def find(str text not None, tuple beginnings, bytes breaks not None, spans not None):
    """Find the wanted stretches of a text.

    Parameters
    ----------
    text, beginnings, breaks
        As of `surfaces`.
    spans : mapping of str to sequence of (int, int)
        The wanted stretches of each run that is found, character offsets in it, ascending and
        disjoint; asked by subscription, so that a missing one may be worked out.

    Returns
    -------
    list of (int, int)
        Character offsets in the text, ascending, disjoint.

    Raises
    ------
    KeyError
        A run is missing.
    ValueError
        As `surfaces`.
    """
    cdef Py_ssize_t start, end, first, last
    cdef list found = []
    for start, end in surfaces(text, beginnings, breaks):
        for first, last in spans[text[start:end]]:
            found.append((start + first, start + last))
    return found


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
    cdef int kind
    if limit < 1:
        raise ValueError(f"limit is {limit}: at least 1 is needed")
    cut.items = NULL
    cut.count = cut.capacity = 0
    try:
        kind = PyUnicode_KIND(text)
        if kind == PyUnicode_1BYTE_KIND:
            split(<const uint8_t *>PyUnicode_DATA(text), len(text), limit, &cut)
        elif kind == PyUnicode_2BYTE_KIND:
            split(<const uint16_t *>PyUnicode_DATA(text), len(text), limit, &cut)
        else:
            split(<const uint32_t *>PyUnicode_DATA(text), len(text), limit, &cut)
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


cdef int split(const code_unit *text, Py_ssize_t n, Py_ssize_t limit, segments *cut) except -1:
    """Cut a text into sentences and lines, without the white space around them."""
    cdef Py_ssize_t start = 0, at = 0, end
    cdef Py_UCS4 char
    while at < n:
        char = text[at]
        at += 1
        if char == u'.' or char == u'!' or char == u'?' or char == u'…':
            end = at
            while end < n and is_closing(text[end]):
                end += 1
            if end == n or not is_space(text[end]):
                continue
            at = end
        elif not (char == u'\n' or char == u'。' or char == u'！' or char == u'？'):
            continue
        add(text, start, at, limit, cut)
        start = at
    return add(text, start, n, limit, cut)


cdef inline bint is_closing(Py_UCS4 char) noexcept nogil:
    return char == u"'" or char == u'"' or char == u')' or char == u']'


cdef inline bint is_space(Py_UCS4 char) noexcept:
    return char.isspace()


cdef int add(const code_unit *text, Py_ssize_t start, Py_ssize_t end, Py_ssize_t limit,
             segments *cut) except -1:
    """Add a sentence, in pieces if it is too long."""
    cdef Py_ssize_t length
    while True:
        while start < end and is_space(text[start]):
            start += 1
        while start < end and is_space(text[end - 1]):
            end -= 1
        if start == end:
            return 0
        length = end - start
        if length > limit:
            length = limit
            while length and not is_space(text[start + length]):
                length -= 1
            while length and is_space(text[start + length - 1]):
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
