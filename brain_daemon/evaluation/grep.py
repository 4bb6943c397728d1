"""What a person with grep would find: the floor under every other row.

``grep -i -w`` for each word of the question that is not a function word; first the documents
that hold the most distinct words (so all of them before any of them), then the most matching
words in total, then the order of the corpus. No stems, no weights, no index.
"""

import re
from collections import Counter
from collections.abc import Sequence

from brain_daemon.evaluation.collection import Document, Query
from brain_daemon.text.stopwords import STOP_WORDS

_WORD = re.compile(r"\w+")


class Grep:
    """Documents as bags of case-folded words."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._found: dict[str, dict[int, int]] = {}
        for position, document in enumerate(documents):
            for word, n_times in Counter(_words(document.words)).items():
                self._found.setdefault(word, {})[position] = n_times

    def rank(self, query: Query, k: int) -> list[str]:
        """Give the ids of the best k documents of the question's domain."""
        words = set(_words(query.text))
        distinct: Counter[int] = Counter()
        total: Counter[int] = Counter()
        for word in words - STOP_WORDS["english"] or words:
            for position, n_times in self._found.get(word, {}).items():
                if query.domain is None or self._documents[position].domain == query.domain:
                    distinct[position] += 1
                    total[position] += n_times
        best = sorted(distinct, key=lambda p: (-distinct[p], -total[p], p))
        return [self._documents[position].id for position in best[:k]]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
