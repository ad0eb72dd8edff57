from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given, settings, strategies as st
from random_documents import examples

from tars_memory.errors import UsageError
from tars_memory.recall.query import LONGEST, MOST_WORDS, SearchRequest, parse
from tars_memory.settings import LayoutOptions
from tars_memory.vault.layout import Layout

TODAY = date(2026, 11, 21)


def read(text: str, **options: object):
    return parse(SearchRequest(text, **options), TODAY)


def test_a_name_of_a_daily_note_is_its_day_in_a_filter():
    day_of_name = Layout(LayoutOptions(daily_format="DD-MM-YYYY")).day_of_name
    query = parse(SearchRequest("tea -since:02-10-2026", since="03-09-2026"), TODAY, day_of_name)
    assert (query.filter.since, query.filter.until) == ("2026-09-03", "2026-10-01")
    with pytest.raises(UsageError, match="10 March or 3 October"):
        read("tea since:03-10-2026")


def test_words_without_the_ones_that_say_nothing():
    query = read("When did Caroline go to the LGBTQ support group?")
    assert query.words == ("caroline", "go", "lgbtq", "support", "group")
    assert query.meaning == "When did Caroline go to the LGBTQ support group?"


@pytest.mark.parametrize("text", ["to be or not to be", "AND", "the", "don't"])
def test_stop_words_are_kept_when_nothing_else_is_left(text):
    assert read(text).searches


def test_words_that_only_ask_are_dropped_from_sentences():
    assert read("Summarize the discussion about budgets").words == ("budgets",)
    assert read("discussion budgets").words == ("discussion", "budgets")
    assert read("What was said?").words == ("said",)


def test_a_quoted_phrase_is_words_in_a_row():
    query = read('paint "the big one" now')
    assert query.quoted == (("the", "big", "one"),)
    assert {"paint", "big", "one", "now"} <= set(query.words)
    assert not query.exact


def test_nothing_but_quotes_is_exact():
    assert read('"oat milk"').exact
    assert read('"oat milk" "green tea"').exact
    assert not read('"oat milk" tea').exact
    assert not read("oat milk").exact
    assert read('"佐藤先生の研究室"').exact and read('"attention機構" "oat milk"').exact
    assert not read('"佐藤先生" 研究室').exact and not read('"attention機構" oat').exact and not read("佐藤").exact


def test_curly_quotes_are_quotes_and_an_open_one_is_text():
    assert read("“oat milk”").quoted == (("oat", "milk"),)
    assert read('"unclosed words').words == ("unclosed", "words")
    assert read('"unclosed words').quoted == ()


def test_a_minus_negates_after_the_first_word_only():
    query = read('tea -milk -"oat milk" --flag')
    assert query.words == ("tea", "flag")
    assert query.negations == ("milk", "oat milk")
    assert query.meaning == "tea --flag"
    assert read("-milk tea").words == ("milk", "tea")
    assert read("-milk").negations == ()
    assert read("jq -r -0").negations == (), "options of one letter are part of commands"
    assert read("猫 -犬").negations == ("犬",)
    assert read("tag:drinks -milk").negations == ("milk",)


def test_prefixes():
    query = read("auto* tea")
    assert query.prefixes == ("auto",)
    assert query.words == ("tea",)
    assert read("*").prefixes == ()


def test_the_last_word_of_what_is_still_typed_is_the_beginning_of_one():
    told = {
        "green te": (("green",), ("te",)),
        "green te ": (("green", "te"), ()),
        "obsidian-ka": (("obsidian",), ("ka",)),
        "green t": (("green",), ()),
        "g": ((), ("g",)),
        'green "fountain pe': (("green", "fountain", "pe"), ()),
        "green -mi": (("green",), ()),
        "tag:wo": ((), ()),
        "grün über": (("grun",), ("uber",)),
        "绿茶": ((), ()),
    }
    for text, (words, prefixes) in told.items():
        query = read(text, unfinished=True)
        assert (query.words, query.prefixes) == (words, prefixes), text
    begun = {"green Thé": "the", "tea ": "", "g": "", "Teapots": "teapots"}
    assert {text: read(text, unfinished=True).last_word for text in begun} == {**begun, "green Thé": ""}
    assert read("绿茶", unfinished=True).literals == read("绿茶").literals
    assert read("green -mi", unfinished=True).negations == ("mi",)


def test_known_fields_filter_and_others_are_text():
    query = read('tag:#work/ path:"My Notes/" tier:daily since:2w until:yesterday plan')
    assert (query.filter.tags, query.filter.paths, query.filter.tiers) == (("work",), ("My Notes/",), ("daily",))
    assert (query.filter.since, query.filter.until) == ("2026-11-07", "2026-11-20")
    assert query.words == ("plan",)
    assert query.meaning == "plan"
    other = read("foo:bar TAG:x http://example.org")
    assert other.filter.tags == ()
    assert {"foo", "bar", "http", "example", "org"} <= set(other.words)


def test_negated_filters():
    query = read("tea -tag:cold -path:old/ -tier:note")
    assert (query.filter.not_tags, query.filter.not_paths, query.filter.not_tiers) == (("cold",), ("old/",), ("note",))


def test_the_opposite_of_a_day_is_before_or_after_it():
    query = read("tea -since:2026-03-15")
    assert (query.filter.since, query.filter.until) == (None, "2026-03-14")
    query = read("tea -until:2026-03")
    assert (query.filter.since, query.filter.until) == ("2026-04-01", None)


def test_an_empty_field_is_text():
    assert read("tag:").words == ("tag",)
    assert read("since: the beginning").words == ("since", "beginning")


def test_filters_from_options_join_those_in_the_text():
    query = read("tea tag:a", tags=["#b"], tiers=["note"], paths=["x/"], since="2026-01", until="2026-02-03")
    assert query.filter.tags == ("b", "a")
    assert (query.filter.since, query.filter.until) == ("2026-01-01", "2026-02-03")
    query = read("tea since:2025 until:2026-12 -until:2026-01-02", since="2026-01", until="2026-02-03")
    assert (query.filter.since, query.filter.until) == ("2026-01-03", "2026-02-03")  # each narrows further


@pytest.mark.parametrize("text", ["since:soon tea", "until:2026-13-01", "tier:gold"])
def test_a_bad_date_or_tier_says_what_is_accepted(text):
    with pytest.raises(UsageError) as caught:
        read(text)
    assert caught.value.exit_code == 2
    assert "2w" in caught.value.hint or "daily" in caught.value.hint


def test_compounds_are_phrases_and_their_real_words_count_too():
    assert read("10.0.0.1").phrases == (("10", "0", "0", "1"),)
    assert read("10.0.0.1").words == ()
    assert read("a-b").phrases == (("a", "b"),)
    query = read("well-known")
    assert (query.phrases, query.words) == ((("well", "known"),), ("well", "known"))


def test_apostrophes():
    assert read("user's editor").words == ("user", "editor")
    assert read("What’s the status").words == ("status",)
    assert read("didn't work").words == ("work",)


def test_what_no_word_index_holds_is_a_literal():
    assert read("C++").literals == ("c++",)
    assert read("C#").literals == ("c#",)
    assert read("🚀 launch").literals == ("🚀",)
    assert read("❤\ufe0f").literals == ("❤",)
    assert read("東").literals == ("東",)
    assert read("東京").literals == ("東京",)
    assert read("東京都").literals == ("東京都", "東京", "京都")
    assert read("->").literals == ("->",)
    assert read("-> tea").literals == ()


def test_diacritics_are_folded():
    assert read("Zürich").words == ("zurich",)


def test_dates_named_in_the_text():
    assert [named.start for named in read("what happened on 2026-03-15").dates] == [date(2026, 3, 15)]
    assert read("tea -2026").dates == []


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-03",
        "3 October 2026",
        "3.10.2026",
        "le 3 octobre 2026",
        "2026年10月3日",
        "２０２６年１０月３日",
        "2026년 10월 3일",
    ],
)
def test_nothing_but_a_day(text):
    assert read(text).is_day
    assert read(text).dates[0].start == date(2026, 10, 3)


@pytest.mark.parametrize(
    "text", ["会議 2026年10月3日", "2026年10月3日の会議", "2026-10-03 🍵", "2026年10月", "tea 3.10.2026"]
)
def test_more_than_a_day(text):
    assert not read(text).is_day


def test_a_pasted_page_is_cut_and_says_so():
    query = read("word " * 20_000)
    assert query.words == ("word",)
    assert f"{LONGEST:,}" in query.notices[0]
    many = read(" ".join(f"word{i}" for i in range(500)))
    assert len(many.words) == MOST_WORDS
    assert many.notices


@pytest.mark.parametrize("text", ["", " ", "\0", "\t\n"])
def test_nothing_to_look_for(text):
    query = read(text)
    assert not query.searches
    assert not query.filters


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("qual é o e-mail do João?", (("e", "mail"),)),
        ("où est-ce que j’habite", ()),
        ("où est-ce que j'habite", ()),
        ("c'est où le rendez-vous", (("rendez", "vous"),)),
    ],
)
def test_an_elided_word_is_no_compound(text, phrases):
    assert read(text).phrases == phrases


@settings(max_examples=examples(400))
@given(st.text(max_size=60) | st.text(alphabet="ab\"-*: tagsincepath:/'“”\0東🚀C+#", max_size=40))
@example("\ud800")
@example('"""')
@example('-" -"')
@example('tag:"')
@example("e:ã")
def test_any_string_is_legal(text):
    try:
        query = read(text)
    except UsageError:
        assert "since:" in text or "until:" in text or "tier:" in text
        return
    assert query.text == text
    assert all(part for part in (*query.words, *query.literals, *query.prefixes, *query.negations))
    assert len(set(query.words)) == len(query.words)
    if any(c.isalnum() for c in text) and not (query.filters or query.negations):
        assert query.searches
