"""The analyzer against FTS5 itself, and against what people type."""

import itertools
import re
import threading
import unicodedata

import apsw
import pytest
import Stemmer
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brain_daemon.errors import BadRequest
from brain_daemon.text import analyzer as analyzer_module
from brain_daemon.text.analyzer import FTS5_TOKENIZE, MAX_TERM_CHARS, Analyzer

ENGLISH = Analyzer()

# Any code point, surrogates and unassigned ones included, and the characters that make trouble.
awkward = st.sampled_from(
    list(" \t\n\x00\x1c\x85\xa0\u2028\u200b\u200d\ufe0f\u0301\u0345'’\"_-+#.:/\\~*(aAzZ0éßİıſÅ")
    + list("成语接龙カﾞｶภาष็हि각가🎉👩💻🏽🇵🇹½ﷺ№℡™ǅ㎏ﬁ\ud800\udfff\ue000")
)
texts = st.one_of(st.text(), st.text(awkward), st.text(st.characters(codec=None), max_size=30))

TYPED = [
    "DEC-0054",
    "C++",
    "20.04",
    "don't",
    "status: done",
    'AND "',
    "NEAR(",
    "(",
    "*",
    "^",
    "-foo",
    "col:x",
    "",
    "   ",
    "a OR b",
    "NOT",
    "title:x AND body:y",
    "'; DROP TABLE chunk; --",
    "--error-on-warnings",
    "Downloads/transcripts",
    "grammar::fa",
    "foo_bar.baz",
    "成语",
    "🎉🎉",
    "\x00",
    "\ud800",
    "a\u2028b",
]


def all_terms(analyzer: Analyzer, title: str, body: str) -> list[str]:
    terms = analyzer.index(title, body)
    return [
        term for part in (terms.title, terms.body, terms.extra) if part for term in part.split(" ")
    ]


def finds(query: str, text: str, analyzer: Analyzer = ENGLISH) -> bool:
    return not set(analyzer.query(query).terms).isdisjoint(all_terms(analyzer, "", text))


@pytest.fixture(scope="module")
def fts() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE t USING fts5(x, tokenize={FTS5_TOKENIZE})")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
    return connection


def fts_tokens(connection: apsw.Connection, text: str) -> list[str]:
    connection.execute("DELETE FROM t")
    connection.execute("INSERT INTO t VALUES (?)", (text,))
    return [term for (term,) in connection.execute("SELECT term FROM v ORDER BY offset")]


@given(texts, texts)
@settings(max_examples=400)
def test_fts5_keeps_every_term_as_one_token(fts, title, body):
    terms = all_terms(ENGLISH, title, body)
    assert fts_tokens(fts, " ".join(terms)) == terms


@pytest.mark.parametrize("char", [chr(code) for code in range(0x21, 0x7F)])
def test_no_ascii_punctuation_splits_in_fts5(fts, char):
    assert fts_tokens(fts, f"x{char}y z") == [f"x{char}y".lower(), "z"]


@given(texts)
@settings(max_examples=400)
@example("İSTANBUL ŉ ǅ ℡ ẞ ſ Å ΐ \u0345")
def test_terms_are_clean(text):
    for term in all_terms(ENGLISH, text, text):
        assert term
        assert 0 < len(term) <= MAX_TERM_CHARS
        assert not any(
            char.isspace() or unicodedata.category(char) in ("Cc", "Cs") for char in term
        )
        assert not any("A" <= char <= "Z" for char in term)
        term.encode()


@pytest.mark.parametrize("language", ["none", *Stemmer.algorithms()])
def test_terms_are_clean_in_every_language(language):
    analyzer = Analyzer(language)
    text = (
        "The quick Brown-fox's Häuser mangées corações Ελληνικά красный العربية हिन्दी தமிழ் "
        "Yoyo YAY İstanbul oooo s ss yY iIiI 成语 🎉 x" + " ".join(map(chr, range(0xA0, 0x700)))
    )
    terms = all_terms(analyzer, "", text)
    assert len(terms) > 500
    assert all(term == term.strip() and term == term.casefold().replace("ſ", "s") for term in terms)


@given(texts)
@settings(max_examples=400)
def test_a_query_of_any_text_is_a_list_of_terms_that_the_text_has(text):
    asked = ENGLISH.query(text)
    assert asked.joined == " ".join(asked.terms).encode()
    assert len(set(asked.terms)) == len(asked.terms)
    indexed = all_terms(ENGLISH, "", text)
    assert set(asked.terms) <= set(indexed)
    assert bool(asked.terms) == bool(indexed)


@given(texts, texts)
@settings(max_examples=400)
def test_any_word_of_a_text_finds_it_in_any_surroundings(before, after):
    for word in before.split():
        assert set(ENGLISH.query(word).terms) <= set(all_terms(ENGLISH, "", f"{before} {after}"))


@given(st.text("aAbBxX019_.-/:&@ éÜ", max_size=24))
@settings(max_examples=400)
@example("see GitHub.com/aB_Cd")
def test_every_run_of_letters_finds_its_text_in_small_letters(text):
    indexed = set(all_terms(ENGLISH, "", text))
    for run in re.findall(r"[^\W_]+", text):
        terms = ENGLISH.query(run.lower()).terms
        assert not indexed.isdisjoint(terms), (run, terms)


@given(texts)
@settings(max_examples=400)
def test_spans_are_in_order_inside_the_text_and_have_all_its_terms(text):
    spans = list(ENGLISH.spans(text))
    assert all(0 <= start < end <= len(text) and terms for start, end, terms in spans)
    assert [span[0] for span in spans] == sorted(span[0] for span in spans)
    assert {term for _, _, terms in spans for term in terms} == set(all_terms(ENGLISH, "", text))


@given(texts, texts)
@settings(max_examples=300)
def test_highlights_are_the_filtered_spans(text, query):
    wanted = set(ENGLISH.query(f"{query} {text[:3]}").terms)
    covered = set()
    for start, end, terms in ENGLISH.spans(text):
        if not wanted.isdisjoint(terms):
            covered |= set(range(start, end))
    highlighter = ENGLISH.highlighter(wanted)
    highlighter.find(query)  # what it learned there must not change what it finds here
    found = highlighter.find(text)
    assert {at for start, end in found for at in range(start, end)} == covered
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(found))


@pytest.mark.parametrize("text", TYPED)
def test_what_people_type_is_never_syntax(fts, text):
    terms = ENGLISH.query(text).terms
    assert isinstance(terms, tuple)
    if text.strip(' "()*^\x00\ud800'):
        assert terms, "nothing searchable in an ordinary query"
    fts.execute("DELETE FROM t")
    fts.execute("INSERT INTO t VALUES (?)", (" ".join(all_terms(ENGLISH, "", text)),))
    for term in terms:
        quoted = '"' + term.replace('"', '""') + '"'
        assert fts.execute("SELECT count(*) FROM t WHERE t MATCH ?", (quoted,)).get == 1


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("When did Ana move to Lisbon?", "Ana moved to Lisbon in May"),
        ("naive", "a naïve approach"),
        ("naïve", "a naive approach"),
        ("nai\u0308ve", "a naïve approach"),
        ("STRASSE", "die Straße"),
        ("straße", "STRASSE"),
        ("成语", "他喜欢成语接龙"),
        ("成语 nonsense", "他喜欢成语接龙"),
        ("猫", "黒い猫がいる"),
        ("成语", "成\u200b语"),
        ("ガギ", "ｶﾞｷﾞ"),
        ("が", "か\u3099"),
        ("각", "\u1100\u1161\u11a8"),
        ("ไทย", "ภาษาไทย"),
        ("🎉", "done 🎉🎉"),
        ("❤", "I ❤️ it"),
        ("👩🏽\u200d💻", "👩\u200d💻"),
        ("💻", "👩\u200d💻"),
        ("🇵🇹", "trip🇵🇹🇪🇸"),
        ("baz", "fooBar_baz.qux"),
        ("foobar_baz.qux", "fooBar_baz.qux"),
        ("foobar", "fooBar_baz.qux"),
        ("github", "GitHub"),
        ("github", "see GitHub.com/about"),
        ("GitHub.com", "github"),
        ("opensslversion", "--OpenSSLVersion=3"),
        ("server", "HTTPServer"),
        ("error-on-warnings", "use --error-on-warnings here"),
        ("transcripts", "~/Downloads/transcripts/2024.txt"),
        ("fa", "grammar::fa"),
        ("0054", "DEC-0054"),
        ("20.04", "Ubuntu 20.04."),
        ("C++", "C++17 and C"),
        ("c＋＋", "written in C++"),
        ("C#", "the C# compiler"),
        ("ana", "Ana’s house"),
        ("don’t", "I don't"),
        ("o'brien", "O’Brien's"),
        ("ignore", "ig\u200bnore"),
        ("cooperate", "co\u00adoperate"),
        ("python", "Ｐｙｔｈｏｎ"),
        ("5kg", "5㎏"),
        ("елка", "Ёлка"),
        ("said", "“said”—he"),
        ("שלום", "שָׁלוֹם"),
        ("محمد", "مُحَمَّد"),
    ],
)
def test_finds(query, text):
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("C", "C++ and C#"),
        ("C++", "plain C, and C#"),
        ("成语", "成就 语言"),
        ("🇵🇪", "🇵🇹🇪🇸"),
        ("art", "the art-less artist"[8:]),
        ("क", "कि"),
        ("सत", "सत्"),
    ],
)
def test_does_not_find(query, text):
    assert not finds(query, text)


def test_identifiers_give_parts_in_body_and_each_whole_once_in_extra():
    terms = ENGLISH.index("GitHub notes", "fooBar_baz.qux")
    assert terms.title == "git hub note"
    assert terms.body == "foo bar baz qux"
    assert terms.extra == "github foobar_baz.qux foobar"


def test_unspaced_scripts_give_singles_and_bigrams_and_ask_for_bigrams():
    terms = ENGLISH.index("", "成语接")
    assert (terms.body, terms.extra) == ("成 语 接", "成语 语接")
    assert ENGLISH.query("成语接").terms == ("成语", "语接")
    assert ENGLISH.query("成").terms == ("成",)


def test_joined_emoji_give_parts_and_the_whole():
    terms = ENGLISH.index("", "👩🏽\u200d💻 ❤️🎉")
    assert (terms.body, terms.extra) == ("👩 💻 ❤ 🎉", "👩💻")
    assert ENGLISH.query("👩\u200d💻").terms == ("👩", "💻", "👩💻")


def test_a_possessive_is_the_word_itself():
    terms = ENGLISH.index("", "Ana's o’brien’s")
    assert (terms.body, terms.extra) == ("ana o brien", "o'brien")


def test_body_keeps_the_order_of_the_text():
    assert ENGLISH.index("", "the red fox, the dog").body == "the red fox the dog"


def test_stop_words_leave_queries_but_not_the_index():
    assert ENGLISH.query("what is the state of it").terms == ("state",)
    assert ENGLISH.query("To be, or to be?").terms == ("to", "be", "or")
    assert ENGLISH.query("don't panic").terms == ("panic",)
    assert ENGLISH.query("state-of-the-art").terms == ("state", "art", "state-of-the-art")
    assert Analyzer("none").query("the state").terms == ("the", "state")
    assert Analyzer("german").query("wo ist für die Häuser").terms == ("haus",)


def test_stemming_is_of_words_in_the_language_of_the_store_only():
    assert ENGLISH.index("", "warnings running2s").body == "warn running2s"
    assert Analyzer("none").index("", "warnings").body == "warnings"
    assert (
        Analyzer("russian").index("", "красный").body
        == Analyzer("russian").index("", "красная").body
    )


def test_an_unknown_language_is_refused_by_name():
    with pytest.raises(BadRequest, match=r"'klingon'.*english"):
        Analyzer("klingon")


def test_long_runs_give_short_terms_that_still_tell_them_apart():
    one, other = "a" * 1_000_000, "a" * 999_999 + "b"
    terms = ENGLISH.query(one).terms
    assert len(terms) == 1
    assert len(terms[0]) == MAX_TERM_CHARS
    assert terms == ENGLISH.query(one.upper()).terms
    assert terms != ENGLISH.query(other).terms
    assert finds(one, f"x {one} y")
    assert not finds(other, one)


def test_a_word_at_the_end_of_a_megabyte_is_found():
    text = "filler words again " * 55_000 + "quokka"
    assert finds("quokka", text)
    assert ENGLISH.highlighter({"quokka"}).find(text) == [(len(text) - 6, len(text))]


@pytest.mark.parametrize(
    ("query", "text", "shown"),
    [
        ("lisbon moved", "Ana moved to (Lisbon).", ["moved", "Lisbon"]),
        ("baz", "see `foo_bar.baz`, please", ["foo_bar.baz"]),
        ("成语接", "他喜欢成语接龙", ["成语接"]),
        ("c++", "in C++, not C", ["C++"]),
        ("naive", "“nai\u0308ve”", ["nai\u0308ve"]),
        ("🎉", "ok🎉!", ["🎉"]),
        ("who's-who", "in Who's-Who and Who-Who", ["Who's-Who", "Who-Who"]),
        ("a-the's-it", "A-the-it, a's-the-it", ["A-the-it", "a's-the-it"]),
        ("zebra", "no such thing", []),
    ],
)
def test_highlights(query, text, shown):
    found = ENGLISH.highlighter(set(ENGLISH.query(query).terms)).find(text)
    assert [text[start:end] for start, end in found] == shown


def test_the_cache_is_bounded_and_its_emptying_changes_nothing():
    analyzer = Analyzer()
    cache = analyzer.entry.__self__
    first = analyzer.index("", "fooBar runs")
    for number in range(45_000):
        analyzer.query(f"word{number}")
        assert len(cache) <= 20_000
    assert analyzer.index("", "fooBar runs") == first


def test_threads_share_an_analyzer():
    analyzer = Analyzer()
    words = [f"running{chr(97 + n % 26)} foo_{n} café{n}" for n in range(3_000)]
    expected = [ENGLISH.index(word, word) for word in words]
    wrong: list[str] = []

    def work(offset: int) -> None:
        for index in range(len(words)):
            at = (index + offset) % len(words)
            if analyzer.index(words[at], words[at]) != expected[at]:
                wrong.append(words[at])

    threads = [threading.Thread(target=work, args=(offset,)) for offset in (0, 7, 1_500, 2_900)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("language", ["english", "none", "german"])
@given(word=st.from_regex(r"[A-Za-z]{1,12}[.:']{0,2}", fullmatch=True))
def test_the_short_way_for_plain_words_is_the_long_way(language: str, word: str) -> None:
    short = analyzer_module._Cache(language)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyzer_module, "_has_no_hump", lambda _: False)
        long_way = analyzer_module._Cache(language)._analyse(word)
    assert short[word] == long_way


def test_common_surfaces_outlive_a_full_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer_module, "_GENERATION_ENTRIES", 10)
    cache = analyzer_module._Cache("english")
    for number in range(100):
        assert cache["common"][0] == "common"
        assert cache[f"x{number}"][0] == f"x{number}"
        assert len(cache) + len(cache._older) <= 20
        assert "common" in cache or "common" in cache._older
