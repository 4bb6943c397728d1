"""Names of entities to the keys that make two spellings one entity.

Here: the key only. Which spans of a text are names is decided in ``ingest``.
"""

import unicodedata
from functools import lru_cache

# Kept at the end of a name, where it tells C# from C; "+" is no punctuation to Unicode.
_KEPT_AT_END = "#"
_EDGE_SYMBOLS = "`^~"  # symbols to Unicode, quotation or emphasis in text


@lru_cache(maxsize=4_096)
def entity_key(name: str) -> str:
    """Fold a name: compatibility forms, case, white space, invisible characters, edge punctuation.

    Idempotent. A name of punctuation only keeps it; the key is empty only if the name has nothing
    visible.

    Parameters
    ----------
    name : str
        Any text.

    Returns
    -------
    str
        Without control characters or surrogates; safe to store and to show.
    """
    folded = name
    if not (name.isascii() and name.isprintable()):
        folded = "".join(
            " " if char.isspace() else char
            for char in unicodedata.normalize("NFKC", name)
            if char.isspace() or unicodedata.category(char) not in ("Cc", "Cf", "Cs")
        )
    # Case folding can undo the composition, and composing again can give an upper-case letter.
    folded = unicodedata.normalize("NFKC", folded.casefold()).casefold()
    collapsed = " ".join(folded.split())
    start, end = 0, len(collapsed)
    while start < end and _is_edge(collapsed[start]):
        start += 1
    while end > start and collapsed[end - 1] not in _KEPT_AT_END and _is_edge(collapsed[end - 1]):
        end -= 1
    stripped = collapsed[start:end]
    return stripped if stripped.strip(_KEPT_AT_END) else collapsed


def _is_edge(char: str) -> bool:
    return char == " " or char in _EDGE_SYMBOLS or unicodedata.category(char)[0] == "P"
