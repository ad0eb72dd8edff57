from __future__ import annotations

import sqlite3
import unicodedata
from datetime import date

import pytest
from hypothesis import given, strategies as st

from tars_memory.language.words import STOP_WORDS, fold, plainer, stem, symbols, tokens, unspaced_runs
from tars_memory.recall.query import parse
from tars_memory.recall.weights import Exclusion, Terms, bm25, idf

TODAY = date(2026, 11, 21)
SUFFIXES = (
    "", "s", "es", "sses",
    "ies", "ed", "eed", "ing", "y", "ational", "tional", "enci", "anci", "izer", "ization", "bli",
    "alli", "entli", "eli", "ousli", "ation", "ator", "alism", "iveness", "fulness", "ousness", "aliti", "iviti",
    "biliti", "icate", "ative", "alize", "iciti", "ical", "ful", "ness", "al", "ance", "ence", "er", "ic", "able",
    "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize", "e", "ll", "logi",
)  # fmt: skip
ROOTS = (
    "a", "ab", "by", "sky", "day", "hop", "hopp", "plan", "plann", "agr", "feed", "st", "fizz", "fail", "roll", "sens",
    "condit", "relat", "nat", "rat", "vow", "box", "play", "yy", "adopt", "commun", "depend", "control", "x", "ss",
)  # fmt: skip


def fts_tokens(texts: list[str], tokenizer: str) -> list[list[str]]:
    """What the real FTS5 makes of the texts."""
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE VIRTUAL TABLE t USING fts5(x, tokenize = '{tokenizer}')")
    db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
    db.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", enumerate(texts))
    found: list[list[str]] = [[] for _ in texts]
    for term, row in db.execute("SELECT term, doc FROM v ORDER BY doc, offset"):
        found[row].append(term)
    return found


def test_stems_are_those_of_fts5():
    words = sorted(
        {root + suffix + more for root in ROOTS for suffix in SUFFIXES for more in ("", "s", "ed", "ing", "li")}
    )
    assert len(words) > 5_000
    theirs = fts_tokens(words, "porter unicode61 remove_diacritics 2")
    assert [(word, stem(word)) for word in words] == [(word, *terms) for word, terms in zip(words, theirs, strict=True)]


def test_very_long_and_very_short_words_are_their_own_stems():
    assert stem("as") == "as"
    assert stem("running" * 10) == "running" * 10


def test_every_word_begins_as_the_finder_of_lines_expects():
    for root in ROOTS:
        for suffix in SUFFIXES:
            word = root + suffix
            if word in STOP_WORDS:
                continue
            terms = Terms(parse(f"{word} zzz", TODAY))
            assert stem(word) in terms.count_lines([word])[0], word


def test_folding_is_that_of_fts5_for_latin_greek_and_cyrillic():
    letters = [chr(i) for i in range(0xC0, 0x530) if unicodedata.category(chr(i)) in ("Ll", "Lo")]
    old_greek_forms = "ǡϐϑϕϖϰϱϵ"  # FTS5 folds by an older table
    letters = [c for c in letters if c not in old_greek_forms]
    assert [tokens(f"a{c}b") for c in letters] == fts_tokens(
        [plainer(f"a{c}b") for c in letters], "unicode61 remove_diacritics 2"
    )


def test_folding():
    assert fold("ZÜRICH Ångström naïve") == "zurich angstrom naive"
    assert fold("が") == "が"
    assert fold("Αθήνα ΔΕΛΦΟΎΣ") == "αθηνα δελφουσ"
    assert fold("Straße Ærø Łódź Guðrún ısı") == "strasse aero lodz gudrun isi"
    assert fold("ＵＳＢ １１月") == "usb 11月"
    assert fold("Ёлка йод") == "елка йод"
    assert fold("ٱلْمِفْتَاح شَاي") == "المفتاح شاي"


def test_unspaced_runs_and_symbols():
    assert unspaced_runs("Tokyo 東京 と ok") == ["東京", "と"]
    assert symbols("a🚀b 👩\u200d🚀 ❤\ufe0f!") == ["🚀", "👩\u200d🚀", "❤"]


def test_counts():
    terms = Terms(parse('plans "oat milk" auto* C++ 東京', TODAY))
    (counts,) = terms.count_lines(["We planned: Oat  Milk, automatic C++ in 東京. plan!"])
    assert counts == {"plan": 2, "oat": 1, "milk": 1, '"oat milk"': 1, "auto*": 1, "c++": 1, "東京": 1}


def test_exclusion_is_by_stems_phrases_and_literals():
    excluded = Exclusion(("milks", "green tea", "🚀", "c++"))
    assert excluded.holds("some Milk")
    assert excluded.holds("green\nteas")
    assert excluded.holds("go 🚀")
    assert not excluded.holds("tea, green")


def test_words_end_where_a_script_without_spaces_begins():
    terms = Terms(parse("Transformer attention", TODAY))
    text = "講義でTransformerのattention機構を学んだ"
    assert terms.count_lines([text, "transformer機構attentions"]) == [{"transform": 1, "attent": 1}] * 2
    assert [text[start:end] for start, end in terms.spans(text)] == ["Transformer", "attention"]
    assert Exclusion(("attention",)).holds(text) and Exclusion(("機構",)).holds(text)
    assert not Exclusion(("機械",)).holds(text) and not Exclusion(("attention学習",)).holds(text)


def test_a_compound_is_excluded_with_its_hyphen_and_without_it():
    assert Exclusion(("wifi",)).holds("the Wi-Fi key")
    assert Exclusion(("wifi",)).holds("the Wi‑Fis")
    assert Exclusion(("wi-fi",)).holds("the wifi key")
    assert Exclusion(("wi-fi",)).holds("the Wi-Fi key")
    assert Exclusion(("key ring",)).holds("a key-ring")
    assert not Exclusion(("wifi",)).holds("the WI, Fi - and Fo")
    assert not Exclusion(())


def test_a_function_word_is_not_the_word_that_shares_its_stem():
    terms = Terms(parse('Ines "the doe"', TODAY))
    assert terms.count_lines(["in the box", "she does it", "Ines has the doe"]) == [
        {},
        {},
        {"in": 1, "doe": 1, '"the doe"': 1},
    ]
    assert [terms.spans(text) for text in ("in the box it does", "Ines")] == [[], [(0, 4)]]
    assert Terms(parse("in", TODAY)).count_lines(["in the box"]) == [{"in": 1}]
    assert Exclusion(["ines"]).holds("Ines has it")
    assert not Exclusion(["ines"]).holds("in the box")


def test_bm25_prefers_rare_words_and_short_texts():
    idfs = {"common": idf(1000, 400), "rare": idf(1000, 2)}
    assert bm25({"rare": 1}, idfs, 10, 10) > bm25({"common": 3}, idfs, 10, 10)
    assert bm25({"rare": 1}, idfs, 5, 10) > bm25({"rare": 1}, idfs, 20, 10)
    assert idf(10, 9) > 0


@pytest.mark.parametrize(
    ("query", "text", "lit"),
    [
        ("plans", "We PLANNED it, planning", ["PLANNED", "planning"]),
        ('"oat milk"', "oat, milk", ["oat, milk"]),
        ("auto*", "Automatic autos", ["Automatic", "autos"]),
        ("Zürich", "in Zurich and ZÜRICH", ["Zurich", "ZÜRICH"]),
        ("東京 C++ 🚀", "東京タワー c++🚀", ["東京", "c++🚀"]),
        ("tea -milk", "milk tea", ["tea"]),
    ],
)
def test_what_is_lit(query, text, lit):
    assert [text[a:b] for a, b in Terms(parse(query, TODAY)).spans(text)] == lit


@given(st.text(max_size=60), st.text(max_size=60))
def test_lit_spans_are_ordered_and_disjoint(question, text):
    question = question.replace(":", " ")
    found = Terms(parse(question, TODAY)).spans(text)
    ends = [0]
    for start, end in found:
        assert ends[-1] <= start < end <= len(text)
        ends.append(end)
