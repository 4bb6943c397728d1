"""WordPiece: words to token ids by the longest piece that the vocabulary has.

What a text is made of where it is not plain (normal forms, other scripts, added tokens) is decided
above.
"""

cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

import numpy as np

cdef enum:
    MAX_PIECE_BYTES = 256
    MAX_WORD_BYTES = 4096
    SHORT_BYTES = 16384              # read sooner than the interpreter is given away and back

ctypedef struct piece:
    uint32_t tag                     # of its hash, never 0; 0 = a free slot
    uint32_t offset                  # in the arena
    int32_t id
    uint8_t n_bytes
    uint8_t is_inner                 # continues a word


@cython.final
cdef class WordPiece:
    """A vocabulary of pieces, and the greedy reading of words by it.

    Immutable and thread-safe.

    Parameters
    ----------
    tokens : dict of str to int
        Tokens and their ids; those that start with ``##`` continue a word. Longer ones than 255
        bytes are not found.
    unknown_id : int
        Stands for a word that the pieces do not make up.
    max_word_chars : int
        A longer word is unknown; 1 to 1,024.
    lowercase : bool
        Whether A to Z are read as a to z.

    References
    ----------
    Song et al., Fast WordPiece Tokenization, 2021 (the greedy reading, by which a longest piece is
    never given back).
    """

    cdef piece *slots
    cdef size_t n_slots              # a power of two, twice the pieces at least
    cdef char *arena
    cdef Py_ssize_t longest, max_word_chars
    cdef int32_t unknown_id
    cdef bint lowercase

    def __init__(self, dict tokens not None, int32_t unknown_id, Py_ssize_t max_word_chars=100,
                 bint lowercase=True):
        if not 1 <= max_word_chars <= MAX_WORD_BYTES // 4:
            raise ValueError(f"max_word_chars is {max_word_chars}, outside 1..1024")
        if self.slots != NULL:
            raise ValueError("a WordPiece is initialised once")
        encoded = [(token.encode(), token_id) for token, token_id in tokens.items()]
        cdef size_t used = 0
        cdef bytes text
        self.unknown_id, self.max_word_chars, self.lowercase = unknown_id, max_word_chars, lowercase
        self.n_slots = 16
        while self.n_slots < 2 * <size_t>len(encoded):
            self.n_slots *= 2
        self.slots = <piece *>calloc(self.n_slots, sizeof(piece))
        self.arena = <char *>malloc(sum([len(text) for text, _ in encoded]) + 1)
        if self.slots == NULL or self.arena == NULL:
            raise MemoryError
        for text, token_id in encoded:
            is_inner = text.startswith(b"##")
            text = text[2:] if is_inner else text
            if 0 < len(text) < MAX_PIECE_BYTES:
                used += self.add(text, len(text), is_inner, token_id, used)

    def __dealloc__(self):
        free(self.slots)
        free(self.arena)

    def encode(self, str text not None):
        """Read a text.

        Parameters
        ----------
        text : str
            Words parted by spaces; each ASCII punctuation mark is a word of its own. Any other
            character belongs to a word.

        Returns
        -------
        int32 array, shape (n,)
            Token ids, unknown words included.

        Raises
        ------
        UnicodeEncodeError
            The text has a lone surrogate.
        """
        cdef Py_ssize_t n_bytes, n_ids
        cdef const char *data = PyUnicode_AsUTF8AndSize(text, &n_bytes)
        if n_bytes == 0:
            return np.empty(0, np.int32)
        output = np.empty(n_bytes, np.int32)
        cdef int32_t[::1] ids = output
        if n_bytes < SHORT_BYTES:
            n_ids = self.read(data, n_bytes, &ids[0])
        else:
            with nogil:
                n_ids = self.read(data, n_bytes, &ids[0])
        return output[:n_ids]

    cdef size_t add(self, const char *text, Py_ssize_t n_bytes, bint is_inner, int32_t id,
                    size_t offset) noexcept:
        """Put a piece into the table and the arena; give the bytes taken there."""
        cdef uint64_t hashed = first_hash(is_inner)
        cdef Py_ssize_t i
        cdef piece *slot
        for i in range(n_bytes):
            hashed = next_hash(hashed, text[i])
        memcpy(self.arena + offset, text, n_bytes)
        slot = &self.slots[hashed & (self.n_slots - 1)]
        while slot.tag:
            slot = self.after(slot)
        slot.tag, slot.offset, slot.id = tag_of(hashed), <uint32_t>offset, id
        slot.n_bytes, slot.is_inner = <uint8_t>n_bytes, is_inner
        self.longest = max(self.longest, n_bytes)
        return n_bytes

    cdef piece *after(self, piece *slot) noexcept nogil:
        slot += 1
        return self.slots if slot == self.slots + self.n_slots else slot

    cdef Py_ssize_t read(self, const char *text, Py_ssize_t n_bytes, int32_t *ids) noexcept nogil:
        cdef char word[MAX_WORD_BYTES]
        cdef Py_ssize_t at = 0, start, n_ids = 0, length, n_chars
        while at < n_bytes:
            start = at
            at += 1
            if text[start] == b" ":
                continue
            if not is_mark(text[start]):
                while at < n_bytes and text[at] != b" " and not is_mark(text[at]):
                    at += 1
            n_chars = 0
            for length in range(at - start):
                n_chars += (text[start + length] & 0xc0) != 0x80
                if n_chars > self.max_word_chars:
                    break
                word[length] = text[start + length]
                if self.lowercase and b"A" <= word[length] <= b"Z":
                    word[length] += 32
            if n_chars > self.max_word_chars:
                ids[n_ids] = self.unknown_id
                n_ids += 1
            else:
                n_ids += self.split(word, at - start, ids + n_ids)
        return n_ids

    cdef Py_ssize_t split(self, const char *word, Py_ssize_t n_bytes, int32_t *ids) noexcept nogil:
        """Cut a word into pieces, the longest first; give their number."""
        cdef uint64_t hashes[MAX_PIECE_BYTES]
        cdef Py_ssize_t start = 0, length, n_ids = 0
        cdef uint64_t hashed
        cdef const piece *found
        while start < n_bytes:
            hashed = first_hash(start > 0)
            length = 0
            while length < self.longest and start + length < n_bytes:
                hashed = next_hash(hashed, word[start + length])
                hashes[length] = hashed
                length += 1
            found = NULL
            while length and found == NULL:
                found = self.find(word + start, length, start > 0, hashes[length - 1])
                length -= 1
            if found == NULL:
                ids[0] = self.unknown_id
                return 1
            ids[n_ids] = found.id
            n_ids += 1
            start += found.n_bytes
        return n_ids

    cdef const piece *find(self, const char *text, Py_ssize_t n_bytes, bint is_inner,
                           uint64_t hashed) noexcept nogil:
        cdef piece *slot = &self.slots[hashed & (self.n_slots - 1)]
        while slot.tag:
            if (slot.tag == tag_of(hashed) and slot.n_bytes == n_bytes
                    and slot.is_inner == is_inner
                    and memcmp(self.arena + slot.offset, text, n_bytes) == 0):
                return slot
            slot = self.after(slot)
        return NULL


cdef inline bint is_mark(char c) noexcept nogil:
    """ASCII punctuation, symbols included, as BERT counts it."""
    return b"!" <= c <= b"/" or b":" <= c <= b"@" or b"[" <= c <= b"`" or b"{" <= c <= b"~"


cdef inline uint64_t first_hash(bint is_inner) noexcept nogil:
    return <uint64_t>0xcbf29ce484222325 + is_inner


cdef inline uint64_t next_hash(uint64_t hashed, char c) noexcept nogil:
    hashed = (hashed ^ <uint8_t>c) * <uint64_t>0x9e3779b97f4a7c15
    return hashed ^ hashed >> 32


cdef inline uint32_t tag_of(uint64_t hashed) noexcept nogil:
    return <uint32_t>(hashed >> 32) | 1
