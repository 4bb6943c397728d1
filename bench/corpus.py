"""Documents and questions with the term statistics of real prose, from text any machine has.

Sentences come from docstrings of the standard library, the Python manual's topics, texts that
came with installed packages, manual pages and /usr/share/doc. A seeded generator recombines runs
of them into documents, and adds what the sources lack: names of people, places and projects, and
identifiers that occur once or twice. Same machine and seed, same corpus; another machine has
other sentences, so a run's report carries `Corpus.digest`.
"""

import ast
import gzip
import hashlib
import random
import re
import sysconfig
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

MAN = Path("/usr/share/man")
DOC = Path("/usr/share/doc")
MAX_FILE_BYTES = 1 << 20

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_PARAGRAPH = re.compile(r"\n\s*\n")
_ROFF_ESCAPE = re.compile(r"\\f(?:\[[^]]*\]|\(..|.)|\\s[-+]?\d|\\&|\\\||\\,|\\/")
_ROFF_FONT = re.compile(r"\.(?:B|I|BR|IR|RB|RI|BI|IB|SM|SB|Nm|Fl|Ar|Cm|Xr|Pa|Em|Sy)\s+")
_IDENTIFIER = re.compile(r"DEC-\d{5,6}|node_\d+\.cfg")
_CONSONANTS = [
    "b",
    "br",
    "d",
    "dr",
    "f",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "kr",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "io", "ou"]


@dataclass(frozen=True, slots=True)
class Document:
    """One memory: ``remember(text, title)``; the title may be empty."""

    text: str
    title: str


class Corpus:
    """An endless, reproducible stream of documents, and questions about them.

    Parameters
    ----------
    seed : int
        Document n of a seed is always the same one.
    max_source_words : int
        Stop reading sources after so many words; fewer words repeat sooner.
    """

    def __init__(self, seed: int = 1, max_source_words: int = 2_000_000) -> None:
        self.seed = seed
        self.sentences = list(_sentences(max_source_words))
        self.source_words = sum(sentence.count(" ") + 1 for sentence in self.sentences)
        self.digest = hashlib.sha256("\n".join(self.sentences).encode()).hexdigest()[:16]
        names = random.Random(seed)
        self._people = [f"{_name(names)} {_name(names)}" for _ in range(4000)]
        self._places = [_name(names) for _ in range(400)]

    def document(self, number: int, mean_words: int = 90) -> Document:
        """Give document ``number``; lengths are log-normal around ``mean_words``."""
        rng = random.Random(self.seed * 1_000_003 + number)
        wanted = min(max(rng.lognormvariate(0, 0.45) * mean_words * 0.85, 6), 6 * mean_words)
        parts: list[str] = []
        n_words = 0
        while n_words < wanted:
            # A run of neighbours from one source: terms keep their company.
            start = rng.randrange(len(self.sentences))
            for sentence in self.sentences[start : start + rng.randint(1, 4)]:
                parts.append(sentence)
                n_words += sentence.count(" ") + 1
                if n_words >= wanted:
                    break
        title = ""
        if rng.random() < 0.3:
            title = " ".join(parts[0].split()[: rng.randint(2, 5)]).strip(".,:;()")
        if rng.random() < 0.5:
            parts.insert(rng.randrange(len(parts) + 1), self._event(rng))
        return Document(" ".join(parts), title)

    def documents(self, start: int, stop: int, mean_words: int = 90) -> Iterator[Document]:
        """Give the documents ``start <= number < stop``."""
        return (self.document(number, mean_words) for number in range(start, stop))

    def questions(self, count: int, n_documents: int) -> list[str]:
        """Give ``count`` questions about the first ``n_documents`` documents.

        Two to ten words of one document with its stop words (60 %), words of two documents
        (15 %), a name and words (10 %), an identifier (10 %), words found nowhere (5 %).
        """
        rng = random.Random(self.seed + 7)
        return [self._question(rng, n_documents) for _ in range(count)]

    def _question(self, rng: random.Random, n_documents: int) -> str:
        kind = rng.random()
        words = self._span(rng, n_documents, rng.randint(2, 10))
        if kind < 0.60:
            return words
        if kind < 0.75:
            return f"{words} {self._span(rng, n_documents, rng.randint(2, 5))}"
        if kind < 0.85:
            return f"{self._person(rng)} {self._span(rng, n_documents, 3)}"
        if kind < 0.95:
            return f"{self._stored_identifier(rng, n_documents)} {self._span(rng, n_documents, 2)}"
        return f"{_name(rng).lower()}x {_name(rng).lower()}q"

    def _span(self, rng: random.Random, n_documents: int, length: int) -> str:
        words = self.document(rng.randrange(n_documents)).text.split()
        start = rng.randrange(max(len(words) - length, 0) + 1)
        # Words only: a hyphen or a quotation mark that happens to stand there would be an operator.
        return " ".join(word.strip('"`-') for word in words[start : start + length])

    def _stored_identifier(self, rng: random.Random, n_documents: int) -> str:
        while True:
            text = self.document(rng.randrange(n_documents)).text
            if found := _IDENTIFIER.search(text):
                return found.group()

    def _event(self, rng: random.Random) -> str:
        person, other = self._person(rng), self._person(rng)
        place, identifier = self._places[_zipf(rng, len(self._places))], _identifier(rng)
        return rng.choice(
            (
                f"{person} and {other} settled {identifier} in {place}.",
                f"On {rng.randint(1, 28)} May {person} wrote to {other} about {identifier}.",
                f"The office in {place} closed {identifier} after {person} had agreed.",
                f"{person} moved from {place} and left {identifier} to {other}.",
            )
        )

    def _person(self, rng: random.Random) -> str:
        return self._people[_zipf(rng, len(self._people))]


def _zipf(rng: random.Random, n: int) -> int:
    """Draw a rank from 0 with probability about 1 / (rank + 1)."""
    return min(int(n ** rng.random()) - 1, n - 1)


def _name(rng: random.Random) -> str:
    syllables = (rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(rng.randint(2, 3)))
    return ("".join(syllables) + rng.choice(("", "n", "r", "l", "s"))).capitalize()


def _identifier(rng: random.Random) -> str:
    number = rng.randrange(200_000)
    return rng.choice(
        (f"DEC-{number:05d}", f"node_{number}.cfg", f"{number * 2654435761 % 2**32:x}")
    )


def _sentences(max_words: int) -> Iterator[str]:
    """Give distinct sentences of 5 to 40 words, source after source, up to ``max_words``."""
    seen: set[str] = set()
    n_words = 0
    for sentence in _candidates():
        if sentence in seen:
            continue
        seen.add(sentence)
        yield sentence
        n_words += sentence.count(" ") + 1
        if n_words >= max_words:
            return


def _candidates() -> Iterator[str]:
    for source in (_topics, _docstrings, _package_texts, _manual_pages, _doc_texts):
        for text in source():
            for paragraph in _PARAGRAPH.split(text):
                for raw in _SENTENCE_END.split(" ".join(paragraph.split())):
                    letters = sum(map(str.isalpha, raw))
                    # Prose only: tables, code and addresses have few letters.
                    if 5 <= raw.count(" ") + 1 <= 40 and letters > 0.72 * len(raw):
                        yield raw


def _topics() -> Iterator[str]:
    from pydoc_data import topics

    yield from (topics.topics[key] for key in sorted(topics.topics))


def _docstrings() -> Iterator[str]:
    library = Path(sysconfig.get_paths()["stdlib"])
    skip = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3"}
    for path in _files(library, lambda p: p.suffix == ".py" and not skip & set(p.parts)):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError, OSError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield ast.get_docstring(node) or ""


def _package_texts() -> Iterator[str]:
    kinds = {".txt", ".md", ".rst"}
    packages = Path(sysconfig.get_paths()["purelib"])
    for path in _files(packages, lambda p: p.suffix in kinds or p.name == "METADATA"):
        yield _read(path)


def _manual_pages() -> Iterator[str]:
    sections = re.compile(r"man\d$")
    for path in _files(MAN, lambda p: sections.match(p.parent.name) is not None):
        yield _prose_of_roff(_read(path))


def _doc_texts() -> Iterator[str]:
    kinds = {"", ".txt", ".md", ".rst", ".gz"}
    for path in _files(DOC, lambda p: p.suffix in kinds and "copyright" not in p.name):
        yield _read(path)


def _files(root: Path, wanted: Callable[[Path], bool]) -> Iterable[Path]:
    """Give the files below ``root`` in an order that mixes them, always the same one."""
    found = (path for path in root.rglob("*") if wanted(path.relative_to(root)))
    return sorted(found, key=lambda path: (zlib.crc32(path.name.encode()), path))


def _read(path: Path) -> str:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rb") as stream:
                data = stream.read(MAX_FILE_BYTES)
        else:
            with path.open("rb") as plain:
                data = plain.read(MAX_FILE_BYTES)
    except (OSError, EOFError, zlib.error):
        return ""
    return data.decode("utf-8", "replace")


def _prose_of_roff(source: str) -> str:
    """Keep the running text of a manual page: no macros, no font changes, no examples."""
    lines = []
    literal = False
    for line in source.splitlines():
        if line.startswith((".nf", ".EX", ".Bd")):
            literal = True
        elif line.startswith((".fi", ".EE", ".Ed")):
            literal = False
        elif not literal and not line.startswith(("'", '.\\"')):
            if font := _ROFF_FONT.match(line):
                line = line[font.end() :].replace('"', "")
            elif line.startswith("."):
                line = "\n"
            lines.append(line)
    text = _ROFF_ESCAPE.sub("", "\n".join(lines))
    return text.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")


def preview(count: int = 3) -> str:
    """Show a few documents and questions, for people."""
    corpus = Corpus()
    shown = [f"{len(corpus.sentences)} sentences, {corpus.source_words} words, {corpus.digest}"]
    shown += [f"[{d.title}] {d.text}" for d in islice(corpus.documents(0, count), count)]
    return "\n\n".join(shown + corpus.questions(12, 1000))


if __name__ == "__main__":
    print(preview())
