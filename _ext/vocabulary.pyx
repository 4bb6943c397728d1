"""Term vocabulary: dense ids for analysed terms, without a Python object per term.

Terms arrive as bytes separated by single spaces; what a term is, is decided above.
"""

import os

cimport cython
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy

import numpy as np

cdef extern from "csr.h" nogil:
    void brain_sort_by_key(const uint32_t *keys, uint32_t n, uint32_t *order, uint32_t *spare)

cdef enum:
    ABSENT = 0xffffffff

ctypedef struct slot:
    uint32_t tag
    uint32_t id


@cython.final
cdef class Vocabulary:
    """Terms and their dense ids, from 0 in the order of first appearance; never shrinks.

    An open-addressing hash table over one arena of bytes: about 20 bytes a term beside its
    text.  Calls hold the GIL, which is what makes one writer and many readers safe.
    """

    cdef char *arena
    cdef size_t arena_size
    cdef uint64_t *ends              # of each term in the arena
    cdef Py_ssize_t n_terms, terms_size
    cdef slot *slots
    cdef size_t n_slots              # a power of two
    cdef uint64_t seed
    cdef uint32_t *ids               # scratch of `count`, three times as long as `scratch_size`
    cdef size_t scratch_size

    def __cinit__(self):
        # Terms come from outside: an unpredictable seed keeps chains short.
        self.seed = int.from_bytes(os.urandom(8), "little")
        self.arena_size, self.terms_size, self.n_slots = 1 << 12, 1 << 8, 1 << 10
        self.arena = <char *>malloc(self.arena_size)
        self.ends = <uint64_t *>malloc(self.terms_size * sizeof(uint64_t))
        self.slots = new_slots(self.n_slots)
        if self.arena == NULL or self.ends == NULL or self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.arena)
        free(self.ends)
        free(self.slots)
        free(self.ids)

    def __len__(self):
        return self.n_terms

    @property
    def nbytes(self):
        """Bytes of memory held."""
        return (self.arena_size + self.terms_size * sizeof(uint64_t)
                + self.n_slots * sizeof(slot) + 3 * self.scratch_size * sizeof(uint32_t))

    def count(self, bytes terms not None):
        """Count the terms of a text; unknown ones get the next ids.

        Parameters
        ----------
        terms : bytes
            Separated by ``b" "``; empty ones are ignored.

        Returns
        -------
        ids : uint32 array, shape (u,)
            Ascending, distinct.
        tfs : uint16 array, shape (u,)
            Occurrences of each, at most 65,535.
        length : int
            Number of terms in the text.
        """
        cdef const char *text = terms
        cdef size_t end = len(terms), start = 0, n = 0, i
        cdef size_t stop
        cdef uint32_t *order
        cdef Py_ssize_t u = 0
        if end > 0xffffffff:
            raise ValueError(f"a text of {end} bytes: less than 4 GiB is needed")
        self.reserve_scratch(end // 2 + 1)
        while next_term(text, end, &start, &stop):
            self.ids[n] = <uint32_t>self.intern(text + start, stop - start)
            n += 1
            start = stop
        order = self.ids + self.scratch_size
        brain_sort_by_key(self.ids, <uint32_t>n, order, order + self.scratch_size)
        for i in range(n):
            u += i == 0 or self.ids[order[i]] != self.ids[order[i - 1]]
        distinct, occurrences = np.empty(u, np.uint32), np.zeros(u, np.uint16)
        cdef uint32_t[::1] ids = distinct
        cdef uint16_t[::1] tfs = occurrences
        u = -1
        for i in range(n):
            if i == 0 or self.ids[order[i]] != self.ids[order[i - 1]]:
                u += 1
                ids[u] = self.ids[order[i]]
            if tfs[u] < 0xffff:
                tfs[u] += 1
        return distinct, occurrences, n

    def lookup(self, bytes terms not None):
        """Ids of terms, without adding any.

        Parameters
        ----------
        terms : bytes
            Separated by ``b" "``; empty ones are ignored.

        Returns
        -------
        int32 array, shape (n,)
            In the order of `terms`; -1 = not in the vocabulary.
        """
        cdef const char *text = terms
        cdef size_t end = len(terms), start = 0, stop
        cdef Py_ssize_t n = 0
        cdef uint32_t found
        while next_term(text, end, &start, &stop):
            n += 1
            start = stop
        output = np.empty(n, np.int32)
        cdef int32_t[::1] ids = output
        n, start = 0, 0
        while next_term(text, end, &start, &stop):
            found = self.slots[self.find(text + start, stop - start)].id
            ids[n] = -1 if found == ABSENT else <int32_t>found
            n += 1
            start = stop
        return output

    def term(self, Py_ssize_t id):
        """The term with this id.

        Raises
        ------
        ValueError
            There is none.
        """
        if id < 0 or id >= self.n_terms:
            raise ValueError(f"term id {id} is outside a vocabulary of {self.n_terms}")
        return self.arena[self.start(id):self.ends[id]]

    cdef uint64_t start(self, Py_ssize_t id) noexcept:
        return self.ends[id - 1] if id else 0

    cdef size_t find(self, const char *term, size_t length) noexcept:
        """The slot that holds the term, or the free one where it belongs."""
        cdef uint64_t hashed = hash_bytes(term, length, self.seed)
        cdef uint32_t tag = <uint32_t>(hashed >> 32)
        cdef size_t at = hashed & (self.n_slots - 1)
        cdef uint32_t id
        cdef uint64_t start
        while self.slots[at].id != ABSENT:
            if self.slots[at].tag == tag:
                id = self.slots[at].id
                start = self.start(id)
                if (self.ends[id] - start == length
                        and memcmp(self.arena + start, term, length) == 0):
                    return at
            at = (at + 1) & (self.n_slots - 1)
        self.slots[at].tag = tag     # harmless while the slot is free
        return at

    cdef int64_t intern(self, const char *term, size_t length) except -1:
        cdef size_t at = self.find(term, length)
        cdef uint64_t used
        if self.slots[at].id != ABSENT:
            return self.slots[at].id
        if self.n_terms >= 0x7fffffff:
            raise ValueError("the vocabulary is full: a term id must fit int32")
        used = self.ends[self.n_terms - 1] if self.n_terms else 0
        if used + length > self.arena_size:
            self.arena_size = grow(<void **>&self.arena, used + length, 1)
        if self.n_terms == self.terms_size:
            self.terms_size = grow(<void **>&self.ends, self.n_terms + 1, sizeof(uint64_t))
        if 2 * <size_t>(self.n_terms + 1) > self.n_slots:
            self.rehash()
            at = self.find(term, length)
        memcpy(self.arena + used, term, length)
        self.ends[self.n_terms] = used + length
        self.slots[at].id = <uint32_t>self.n_terms
        self.n_terms += 1
        return self.slots[at].id

    cdef int rehash(self) except -1:
        """Double the table."""
        cdef slot *slots = new_slots(2 * self.n_slots)
        cdef Py_ssize_t id
        cdef uint64_t hashed, start
        cdef size_t at
        if slots == NULL:
            raise MemoryError
        free(self.slots)
        self.slots = slots
        self.n_slots *= 2
        for id in range(self.n_terms):
            start = self.start(id)
            hashed = hash_bytes(self.arena + start, self.ends[id] - start, self.seed)
            at = hashed & (self.n_slots - 1)
            while slots[at].id != ABSENT:
                at = (at + 1) & (self.n_slots - 1)
            slots[at].tag = <uint32_t>(hashed >> 32)
            slots[at].id = <uint32_t>id
        return 0

    cdef int reserve_scratch(self, size_t n) except -1:
        if n > self.scratch_size:
            free(self.ids)
            self.scratch_size = 0
            self.ids = <uint32_t *>malloc(3 * n * sizeof(uint32_t))
            if self.ids == NULL:
                raise MemoryError
            self.scratch_size = n
        return 0


cdef slot *new_slots(size_t n) noexcept:
    cdef slot *slots = <slot *>malloc(n * sizeof(slot))
    cdef size_t i
    if slots != NULL:
        for i in range(n):
            slots[i].id = ABSENT
    return slots


cdef size_t grow(void **memory, size_t needed, size_t item_size) except 0:
    """Enlarge by half as much again as is needed; returns the new number of items."""
    cdef size_t n = needed + needed // 2
    cdef void *larger = realloc(memory[0], n * item_size)
    if larger == NULL:
        raise MemoryError
    memory[0] = larger
    return n


cdef bint next_term(const char *text, size_t end, size_t *start, size_t *stop) noexcept nogil:
    """Move `start` to the next term and `stop` behind it; False at the end."""
    cdef const char *space
    while start[0] < end and text[start[0]] == b" ":
        start[0] += 1
    if start[0] == end:
        return False
    space = <const char *>memchr(text + start[0], b" ", end - start[0])
    stop[0] = space - text if space != NULL else end
    return True


cdef uint64_t hash_bytes(const char *text, size_t length, uint64_t seed) noexcept nogil:
    cdef uint64_t hashed = seed ^ length, word
    while length >= 8:
        memcpy(&word, text, 8)
        hashed = (hashed ^ word) * <uint64_t>0x9e3779b97f4a7c15
        hashed ^= hashed >> 29
        text += 8
        length -= 8
    word = 0
    memcpy(&word, text, length)
    hashed = (hashed ^ word) * <uint64_t>0xbf58476d1ce4e5b9
    hashed ^= hashed >> 32
    hashed *= <uint64_t>0x94d049bb133111eb
    return hashed ^ hashed >> 31
