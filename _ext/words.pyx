"""The words of a compound such as ``foo_bar.bazQux``.

Characters in, folded words out; what a compound is, and which of its words count, is decided above
(``text.analyzer``).
"""

from cpython.unicode cimport PyUnicode_DATA, PyUnicode_KIND, PyUnicode_READ


def split_compound(str compound not None):
    """Cut a compound into its words.

    A part is a run of letters and digits, or a letter with ``++`` or ``#``; what is not ASCII
    counts as a letter. It is cut into words where it has humps: ``gitHub``, ``HTTPServer``.

    Parameters
    ----------
    compound : str

    Returns
    -------
    whole : str
        From the first part to the last, with what stands between them; empty if it has none.
    words : list of str
        Of all parts.
    wholes : list of str
        What of it is more than a word: the whole, and of several parts those that have humps.

    All of them are case-folded.
    """
    cdef int kind = PyUnicode_KIND(compound)
    cdef void *data = PyUnicode_DATA(compound)
    cdef Py_ssize_t n = len(compound)
    cdef Py_ssize_t at = 0, start, end = 0, first = -1, n_parts = 0, n_before
    cdef list words = []
    cdef list humped = []
    while at < n:
        if not is_word(PyUnicode_READ(kind, data, at)):
            at += 1
            continue
        start = at
        at = end = end_of_part(kind, data, start, n)
        if first < 0:
            first = start
        n_parts += 1
        n_before = len(words)
        add_words(compound, kind, data, start, end, words)
        if len(words) - n_before > 1:
            humped.append(compound[start:end].casefold())
    if first < 0:
        return "", words, humped
    whole = compound[first:end].casefold()
    if n_parts == 1:
        return whole, words, humped  # which is the whole, if anything
    return whole, words, [whole, *humped]


cdef Py_ssize_t end_of_part(int kind, void *data, Py_ssize_t start, Py_ssize_t n) noexcept:
    cdef Py_UCS4 following = PyUnicode_READ(kind, data, start + 1) if start + 1 < n else 0
    cdef Py_UCS4 second = PyUnicode_READ(kind, data, start + 2) if start + 2 < n else 0
    cdef Py_ssize_t end = start + 1
    if is_ascii_letter(PyUnicode_READ(kind, data, start)):
        if following == u"+" and second == u"+":
            return start + 3
        if following == u"#" and not is_word(second):
            return start + 2
    while end < n and is_word(PyUnicode_READ(kind, data, end)):
        end += 1
    return end


cdef int add_words(str compound, int kind, void *data, Py_ssize_t start, Py_ssize_t end,
                   list words) except -1:
    """Cut a part before each capital after a small letter, or between capitals and a small one."""
    cdef Py_ssize_t at
    cdef Py_UCS4 before, here, after
    for at in range(start + 1, end):
        before = PyUnicode_READ(kind, data, at - 1)
        here = PyUnicode_READ(kind, data, at)
        after = PyUnicode_READ(kind, data, at + 1) if at + 1 < end else 0
        if (is_small(before) and is_capital(here)) or (
            is_ascii_capital(before) and is_ascii_capital(here) and u"a" <= after <= u"z"
        ):
            words.append(compound[start:at].casefold())
            start = at
    words.append(compound[start:end].casefold())
    return 0


cdef inline bint is_word(Py_UCS4 char) noexcept nogil:
    return char >= 128 or u"0" <= char <= u"9" or is_ascii_letter(char)


cdef inline bint is_ascii_letter(Py_UCS4 char) noexcept nogil:
    return u"a" <= char <= u"z" or is_ascii_capital(char)


cdef inline bint is_ascii_capital(Py_UCS4 char) noexcept nogil:
    return u"A" <= char <= u"Z"


cdef inline bint is_small(Py_UCS4 char) noexcept nogil:
    return u"a" <= char <= u"z" or u"ß" <= char <= u"ö" or u"ø" <= char <= u"ÿ"


cdef inline bint is_capital(Py_UCS4 char) noexcept nogil:
    return is_ascii_capital(char) or u"À" <= char <= u"Ö" or u"Ø" <= char <= u"Þ"
