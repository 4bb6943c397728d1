"""Questions that a store can answer and questions that it cannot, asked of the real engine.

Made from the tuning collections: a store's own questions; questions about other people's
conversations and of other collections; nonsense; words of its own and of other texts, as people
type into a search box; and questions on notes, written by hand (`notes`). Used to fit and to judge
confidence.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import notes
from bench.notes import NoteQuestion
from brain_daemon.evaluation import collection
from brain_daemon.evaluation.collection import Document
from brain_daemon.evaluation.loaded import LoadedCollection, loaded
from brain_daemon.recall import pipeline
from brain_daemon.recall.query import QueryDoc
from brain_daemon.text.stopwords import STOP_WORDS

CONVERSATIONS = "locomo_dev"
TEXTS = ("cranfield", "scifact", "musique_kg")
ANSWERABLE = "own"
ADVERSARIAL = "adversarial"  # the same people, a fact that was never told
NAMESAKE = "namesake"  # of another conversation, but with the name of one who speaks in this one
KINDS = (ANSWERABLE, "other people", "other collection", "nonsense", NAMESAKE, ADVERSARIAL)
UNTELLABLE = (NAMESAKE, ADVERSARIAL)  # nothing on the surface tells them: told apart, not fitted
HELD_OUT = "documentation"  # the setting that nothing was fitted on

_SEED = 7
_TINY_SIZES = (1, 3, 10, 30)
_SMALL_SIZES = (3, 10, 30, 100)
_NAME = re.compile(r"[^\W\d_]+")
_NONSENSE_FORMS = (
    "What is the {} of the {}?",
    "When did {} {} the {}?",
    "who was {} before {}",
    "How does the {} {} work?",
    "Where is my {}?",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and what the engine said, abstaining switched off.

    Attributes
    ----------
    setting : str
        Kind of store: "conversation", "domain", "lower case", "tiny", "small", "keywords",
        "vault", `HELD_OUT`, or the name of a collection.
    kind : str
        One of `KINDS`.
    group : str
        What is held out together: the conversation, or the collection.
    question : str
    answer : mapping
        Of ``recall``.
    found : bool
        Whether a relevant document is among the first five.
    """

    setting: str
    kind: str
    group: str
    question: str
    answer: Mapping[str, Any]
    found: bool


@dataclass(frozen=True, slots=True)
class _Source:
    documents: Sequence[Document]
    questions: Sequence[tuple[str, str, str]]  # text, id, group
    adversarial: Sequence[tuple[str, str]]  # text, group
    qrels: Mapping[str, Mapping[str, int]]


def ask_all(data: Path, *, rescue: bool = False) -> Iterator[Asked]:
    """Ask every question of every setting; the same questions each time.

    Parameters
    ----------
    data : Path
        The folder of the tuning collections.
    rescue : bool
        Let the engine abstain, and so look again before it does; the hits are then missing
        where it did.
    """
    yield from _Asker(data, rescue).ask_all()


class _Asker:
    def __init__(self, data: Path, rescue: bool) -> None:
        self._random = random.Random(_SEED)
        self._abstain = rescue
        self._vault = {path.name: path for path in sorted((data / "vault").rglob("*.md"))}
        self._sources = {name: _read(data / name) for name in (CONVERSATIONS, *TEXTS)}
        self._speakers: dict[str, set[str]] = defaultdict(set)
        for document in self._sources[CONVERSATIONS].documents:
            speaker = document.params["text"].partition(":")[0]
            self._speakers[str(document.domain)].add(speaker.casefold())
        self._words = {
            name: [
                word
                for document in self._random.sample(source.documents, 200)
                for word in document.words.split()
                if word.isalpha() and len(word) > 3
            ]
            for name, source in self._sources.items()
        }

    def ask_all(self) -> Iterator[Asked]:
        yield from self._conversations()
        yield from self._domains()
        for name in TEXTS:
            yield from self._texts(name)
            yield from self._some_texts(name)
        yield from self._vaults()
        yield from self._documentation()

    def _conversations(self) -> Iterator[Asked]:
        source = self._sources[CONVERSATIONS]
        for group in _groups(source):
            own = [document for document in source.documents if document.domain == group]
            plain = [Document(d.id, {**d.params, "domain": "default"}) for d in own]
            with loaded(plain) as store:
                yield from self._ask_conversation(store, "conversation", group, None)
            by_id = {document.id: document for document in plain}
            asked = [q for q in source.questions if q[2] == group]
            for text, id_, _ in self._random.sample(asked, 40):
                gold = [by_id[document] for document in source.qrels[id_]]
                size = self._random.choice(_TINY_SIZES)
                rest = self._random.sample(plain, max(0, size - len(gold)))
                tiny = list({d.id: d for d in [*gold, *rest]}.values())
                with loaded(tiny) as store:
                    yield self._ask(store, "tiny", ANSWERABLE, group, text, source.qrels[id_])
                    other = self._random.choice(self._others(group))
                    kind = self._kind_of_other(other, group)
                    yield self._ask(store, "tiny", kind, group, other)
                    yield self._ask(store, "tiny", "nonsense", group, self._nonsense(CONVERSATIONS))

    def _domains(self) -> Iterator[Asked]:
        """All conversations in one store, each question restricted to one."""
        source = self._sources[CONVERSATIONS]
        with loaded(source.documents) as store:
            for group in _groups(source):
                yield from self._ask_conversation(store, "domain", group, group)
                for text, id_, _ in [q for q in source.questions if q[2] == group]:
                    yield self._ask(
                        store, "lower case", ANSWERABLE, group, text.lower(), source.qrels[id_],
                        domain=group,
                    )  # fmt: skip
                for text in self._random.sample(self._others(group), 160):
                    kind = self._kind_of_other(text, group)
                    yield self._ask(store, "lower case", kind, group, text.lower(), domain=group)

    def _ask_conversation(
        self, store: LoadedCollection, setting: str, group: str, domain: str | None
    ) -> Iterator[Asked]:
        source = self._sources[CONVERSATIONS]
        for text, id_, of in source.questions:
            if of == group:
                yield self._ask(
                    store, setting, ANSWERABLE, group, text, source.qrels[id_], domain=domain
                )
        questions = [(ADVERSARIAL, text) for text, of in source.adversarial if of == group]
        others = self._random.sample(self._others(group), 160)
        questions += [(self._kind_of_other(text, group), text) for text in others]
        for name in TEXTS:
            drawn = self._random.sample(self._sources[name].questions, 30)
            questions += [("other collection", text) for text, *_ in drawn]
        questions += [("nonsense", self._nonsense(CONVERSATIONS)) for _ in range(60)]
        for kind, text in questions:
            yield self._ask(store, setting, kind, group, text, domain=domain)

    def _texts(self, name: str) -> Iterator[Asked]:
        source = self._sources[name]
        others = [other for other in self._sources if other != name]
        with loaded(source.documents) as store:
            for text, id_, _ in source.questions[:400]:
                yield self._ask(store, name, ANSWERABLE, name, text, source.qrels[id_])
            for other in others:
                for text, *_ in self._random.sample(self._sources[other].questions, 80):
                    yield self._ask(store, name, "other collection", name, text)
            for _ in range(100):
                yield self._ask(store, name, "nonsense", name, self._nonsense(name))
            for _ in range(150):
                yield from self._ask_keywords(store, name, source.documents)
        for _ in range(30):
            tiny = self._random.sample(source.documents, self._random.choice(_TINY_SIZES))
            with loaded(tiny) as store:
                yield from self._ask_keywords(store, name, tiny)

    def _some_texts(self, name: str) -> Iterator[Asked]:
        """Small stores of texts: questions whose texts are all there, and questions of others."""
        source = self._sources[name]
        by_id = {document.id: document for document in source.documents}
        others = [other for other in self._sources if other != name]
        for _ in range(20):
            asked = self._random.sample(source.questions, 4)
            size = self._random.choice(_SMALL_SIZES)
            own = [by_id[d] for _, id_, _ in asked for d in source.qrels[id_]]
            drawn = {d.id: d for d in [*own, *self._random.sample(source.documents, size)]}
            with loaded(list(drawn.values())) as store:
                for text, id_, _ in asked:
                    yield self._ask(store, "small", ANSWERABLE, name, text, source.qrels[id_])
                for other in others:
                    text = self._random.choice(self._sources[other].questions)[0]
                    yield self._ask(store, "small", "other collection", name, text)
                yield self._ask(store, "small", "nonsense", name, self._nonsense(name))

    def _vaults(self) -> Iterator[Asked]:
        """The vault as a whole, and a few notes of it."""
        questions = notes.read(notes.VAULT)
        with notes.ingested(self._vault.values()) as store:
            yield from self._ask_notes(store, "vault", questions)
            for name in self._sources:
                for text, *_ in self._random.sample(self._sources[name].questions, 25):
                    yield self._ask(store, "vault", "other collection", "vault", text)
            for _ in range(60):
                nonsense = self._nonsense("vault")
                yield self._ask(store, "vault", "nonsense", "vault", nonsense)
        told = [question for question in questions if question.file]
        foreign = [question for question in questions if not question.file]
        for _ in range(30):
            size = self._random.choice(_TINY_SIZES[:3])
            asked = self._random.sample(told, min(size, 3))
            files = dict.fromkeys(str(question.file) for question in asked)
            files.update(dict.fromkeys(self._random.sample(list(self._vault), size - len(asked))))
            with notes.ingested(self._vault[file] for file in files) as store:
                asked += self._random.sample(foreign, 2)
                yield from self._ask_notes(store, "small", asked)

    def _documentation(self) -> Iterator[Asked]:
        """Our own documents, as the questions were written and in lower case."""
        questions = notes.read(notes.DOCUMENTATION)
        with notes.ingested(sorted(notes.DOCUMENTS.glob("*.md"))) as store:
            yield from self._ask_notes(store, HELD_OUT, questions)
            lower = [NoteQuestion(text.lower(), file) for text, file in questions]
            yield from self._ask_notes(store, f"{HELD_OUT}, lower case", lower)

    def _ask_notes(
        self, store: LoadedCollection, setting: str, questions: Sequence[NoteQuestion]
    ) -> Iterator[Asked]:
        for text, file in questions:
            if file:
                yield self._ask(store, setting, ANSWERABLE, "vault", text, {file: 1})
            else:
                yield self._ask(store, setting, "other collection", "vault", text)

    def _ask_keywords(
        self, store: LoadedCollection, name: str, own: Sequence[Document]
    ) -> Iterator[Asked]:
        """Words of a text that is there, and of one that is not.

        Where one hit holds them all it is no error to show it.
        """
        yield self._ask(store, "keywords", ANSWERABLE, name, self._keywords(own))
        other = self._random.choice([other for other in self._sources if other != name])
        foreign = self._keywords(self._sources[other].documents)
        asked = self._ask(store, "keywords", "other collection", name, foreign)
        signals = asked.answer["assessment"]["signals"]
        if signals is None or signals["coverage"] < 1.0:
            yield asked

    def _others(self, group: str) -> list[str]:
        return [text for text, _, of in self._sources[CONVERSATIONS].questions if of != group]

    def _kind_of_other(self, text: str, group: str) -> str:
        """Tell a question about others from one that names somebody who speaks here too."""
        words = {word.casefold() for word in _NAME.findall(text)}
        return "other people" if words.isdisjoint(self._speakers[group]) else NAMESAKE

    def _keywords(self, documents: Sequence[Document]) -> str:
        while True:
            words = self._random.choice(documents).words.split()
            words = [word.strip(".,?!:;\"'()[]") for word in words]
            words = [w for w in words if len(w) > 2 and w.lower() not in STOP_WORDS["english"]]
            if words:
                return " ".join(self._random.sample(words, min(len(words), self._draw(1, 3))))

    def _nonsense(self, own: str) -> str:
        kind = self._random.random()
        if kind < 0.2:
            return f"PHRASE_{self._junk().lower()}_{self._junk().upper()}"
        if kind < 0.4:
            return " ".join(self._pseudoword() for _ in range(self._draw(2, 6)))
        if kind < 0.6:
            form = self._random.choice(_NONSENSE_FORMS)
            return form.format(*(self._pseudoword() for _ in range(3)))
        if kind < 0.7:
            return " ".join(self._junk() for _ in range(self._draw(1, 5)))
        words = self._words[self._random.choice([other for other in self._words if other != own])]
        return " ".join(self._random.choice(words) for _ in range(self._draw(5, 9)))

    def _pseudoword(self) -> str:
        pairs = range(self._draw(2, 4))
        return "".join(
            self._random.choice("bcdfghjklmnpqrstvwxz") + self._random.choice("aeiou")
            for _ in pairs
        )

    def _junk(self) -> str:
        return "".join(self._random.choice("bcdfghjkmpqvwxyzQZX") for _ in range(self._draw(4, 9)))

    def _draw(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def _ask(
        self,
        store: LoadedCollection,
        setting: str,
        kind: str,
        group: str,
        text: str,
        gold: Mapping[str, int] | None = None,
        domain: str | None = None,
    ) -> Asked:
        memory = store.memory
        answer = pipeline.recall(
            QueryDoc(q=text, domain=domain, abstain=self._abstain, provenance=False),
            store.principal,
            snapshot=memory.snapshot,
            conn=memory.reader(),
            analyzer=memory.analyzer,
            model=memory.model,
            settings=memory.settings,
        )
        found = {document for hit in answer["hits"] for document in store.documents[hit["id"]]}
        return Asked(setting, kind, group, text, answer, not found.isdisjoint(gold or {}))


def _read(folder: Path) -> _Source:
    read = collection.read(folder, kg=False)
    adversarial = []
    with (folder / "queries.jsonl").open(encoding="utf-8") as stream:
        for record in map(json.loads, stream):
            metadata = record.get("metadata") or {}
            if metadata.get("category") == 5:
                adversarial.append((record["text"], metadata["sample"]))
    return _Source(
        read.documents,
        [(query.text, query.id, query.domain or folder.name) for query in read.queries],
        adversarial,
        read.qrels,
    )


def _groups(source: _Source) -> list[str]:
    groups: dict[str, int] = defaultdict(int)
    for document in source.documents:
        groups[str(document.domain)] += 1
    return sorted(groups)
