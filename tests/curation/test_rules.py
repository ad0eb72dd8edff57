"""The extractor without a model: what it keeps of plain statements, and all that it must leave alone."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest
from random_documents import within

from curation.statements import SAID
from tars_memory.capture.turns import Turn
from tars_memory.curation.extraction import grounding, rules
from tars_memory.curation.extraction.dating import absolute
from tars_memory.curation.extraction.phrasebook import LANGUAGES, language
from tars_memory.curation.extraction.sentences import sentences

DAY = date(2026, 11, 21)
LONG = "a line that goes on for as long as lines may go in a letter or a mail,"


def said(*texts: str, day: date = DAY) -> rules.Extraction:
    """A conversation: the person, the model, the person …"""
    turns = [
        Turn(n, "user" if n % 2 else "assistant", "user" if n % 2 else "assistant", t) for n, t in enumerate(texts, 1)
    ]
    return rules.extract(turns, {turn.number for turn in turns}, {turn.number: day for turn in turns})


def kept(*texts: str) -> list[str]:
    return [fact.text for fact in said(*texts).facts]


@pytest.mark.parametrize(("code", "sentence", "wanted"), SAID, ids=[f"{c}: {s[:40]}" for c, s, _ in SAID])
def test_a_labelled_sentence(code: str, sentence: str, wanted: str | None) -> None:
    assert kept(sentence) == ([] if wanted is None else [wanted]), code


def test_the_labelled_set_is_broad() -> None:
    worth = Counter(code for code, _, wanted in SAID if wanted is not None)
    not_worth = Counter(code for code, _, wanted in SAID if wanted is None)
    assert len(SAID) >= 150
    assert set(worth) == set(not_worth) == set(LANGUAGES)
    assert sum(not_worth.values()) >= 60


@pytest.mark.parametrize(("code", "sentence", "wanted"), SAID, ids=[f"{c}: {s[:40]}" for c, s, _ in SAID])
def test_every_quote_is_verbatim_whatever_stands_around_it(code: str, sentence: str, wanted: str | None) -> None:
    text = f"Hm.\n\n{sentence}\n\nThat is all."
    for fact in said(text).facts:
        assert fact.quote in text
        assert fact.turn == 1


def test_what_was_just_said_can_be_taken_back() -> None:
    assert kept("I live in Cork. Scratch that. I have a dog called Bramble.") == ["I have a dog called Bramble"]


def test_what_is_not_to_be_kept_is_not_even_if_it_comes_in_the_next_sentence() -> None:
    assert kept("Please don't save this. My locker is number 12. I live in Cork.") == ["I live in Cork"]


def test_after_a_request_to_write_something_only_what_is_asked_for_is_kept() -> None:
    assert kept("Write a letter for me. I live in Cork. Remember that Anna proofreads it.") == ["Anna proofreads it"]


def test_what_the_model_proposed_counts_if_the_person_agrees() -> None:
    talk = ("Which one?", "Both would do. Let's go with Postgres for the archive.")
    assert [(f.text, f.turn, f.kind) for f in said(*talk, "Yes, good.").facts] == [
        ("Let's go with Postgres for the archive", 2, "decision")
    ]
    assert kept(*talk, "Yes, but only for the archive.") == []
    assert kept(*talk, "Why?") == []


def test_the_models_own_words_are_no_facts_about_the_person() -> None:
    assert kept("Hello there, friend", "I live in a data centre. I prefer tea. My name is Al.", "Nice.") == []


def test_speakers_are_named_where_several_people_speak() -> None:
    turns = [Turn(1, "user", "Anna", "I live in Cork."), Turn(2, "user", "Bela", "I love rowing.")]
    found = rules.extract(turns, {1, 2}, {1: DAY, 2: DAY}, named=True)
    assert [fact.text for fact in found.facts] == ["Anna: I live in Cork", "Bela: I love rowing"]


def test_only_examined_turns_give_facts() -> None:
    turns = [Turn(1, "user", "user", "I live in Cork."), Turn(2, "user", "user", "I love rowing.")]
    assert [fact.text for fact in rules.extract(turns, {2}, {1: DAY, 2: DAY}).facts] == ["I love rowing"]


def test_dates_count_from_the_day_of_each_turn() -> None:
    turns = [Turn(1, "user", "user", "I moved to Cork yesterday."), Turn(2, "user", "user", "I adopted a cat today.")]
    found = rules.extract(turns, {1, 2}, {1: date(2025, 12, 31), 2: date(2026, 1, 1)})
    assert [fact.text for fact in found.facts] == ["I moved to Cork on 2025-12-30", "I adopted a cat on 2026-01-01"]


@pytest.mark.parametrize(
    ("code", "text", "wanted"),
    [
        ("en", "the day after tomorrow", "on 2026-11-23"),
        ("en", "by tomorrow", "by 2026-11-22"),
        ("en", "we met on Monday", "we met on Monday 2026-11-16"),
        ("en", "we meet on Monday", "we meet on Monday 2026-11-23"),
        ("en", "last Friday", "on Friday 2026-11-20"),
        ("en", "a year ago", "in 2025"),
        ("en", "last month", "in 2026-10"),
        ("en", "in two weeks", "on 2026-12-05"),
        ("en", "on 14 March", "on 14 March"),
        ("de", "jeden Morgen", "jeden Morgen"),
        ("de", "vor drei Tagen", "am 2026-11-18"),
        ("de", "nächste Woche", "in der Woche ab 2026-11-23"),
        ("fr", "la semaine prochaine", "la semaine du 2026-11-23"),
        ("fr", "il y a deux jours", "le 2026-11-19"),
        ("es", "mañana por la mañana", "el 2026-11-22 por la mañana"),
        ("es", "el mes que viene", "en 2026-12"),
        ("it", "dopodomani", "il 2026-11-23"),
        ("nl", "over twee weken", "op 2026-12-05"),
        ("pt", "ontem", "em 2026-11-20"),
        ("xx", "tomorrow", "tomorrow"),
    ],
)
def test_relative_dates(code: str, text: str, wanted: str) -> None:
    assert absolute(text, DAY, code) == wanted


def test_a_date_beyond_the_calendar_stays_as_it_was_said() -> None:
    assert absolute("999 years ago", date(1, 1, 1)) == "999 years ago"
    assert absolute("in 999 years", date(9999, 12, 31)) == "in 999 years"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Dr. Kern is in. She waits!", ["Dr. Kern is in.", "She waits!"]),
        ("Am 16. Oktober geht es los. Gut.", ["Am 16. Oktober geht es los.", "Gut."]),
        (f"{LONG}\nthat was wrapped", [f"{LONG}\nthat was wrapped"]),
        ("I prefer tea\nand I like milk", ["I prefer tea", "and I like milk"]),
        ("- one thing\n- Another thing", ["one thing", "Another thing"]),
        ("Talk.\n```\ncode\n```\nMore talk.", ["Talk.", "More talk."]),
        ("Talk.\n~~~\nan open fence", ["Talk."]),
        ("> quoted\n\nsaid", ["said"]),
        ("<note>\nhidden\n</note>\nsaid", ["said"]),
        ("2026-11-21 10:00:01 INFO started\nsaid", ["said"]),
        ("", []),
    ],
)
def test_sentences_are_the_persons_own_talk(text: str, wanted: list[str]) -> None:
    assert [sentence.text for sentence in sentences(text)] == wanted


def test_a_pasted_page_is_not_talk_but_what_is_said_around_it_is() -> None:
    page = "I live in a house by the sea. " * 400
    assert kept(f"I prefer short answers.\n\n{page}\n\nI have a dog called Bramble.") == [
        "I prefer short answers",
        "I have a dog called Bramble",
    ]


def test_open_ends_decisions_topics_and_title() -> None:
    found = said(
        "Let us plan the trip to Lisbon. We decided to fly with the morning plane.",
        "Fine.",
        "I need to renew the passport by tomorrow. Lisbon in spring is lovely, is it not?",
    )
    assert found.title == ""  # a sentence would stand in a file's name for ever
    assert found.decisions == ("We decided to fly with the morning plane",)
    assert found.open_ends == ("I need to renew the passport by 2026-11-22",)
    assert "Lisbon" in found.topics


@pytest.mark.timed
@pytest.mark.parametrize("code", LANGUAGES)
def test_no_pattern_takes_longer_than_the_text_grows(code: str) -> None:
    """The worst that a hostile transcript can do: words that nearly fit, again and again."""
    lang = language(code)
    starts = ["my ", "i really ", "we have ", "the meeting for ", "mein ", "mi ", "ma ", "il mio ", "mijn ", "o meu "]
    for start in starts:
        text = (start + "really always also " * 40)[:600]
        with within(0.5):
            for phrase in lang.phrases:
                phrase.pattern.fullmatch(text)
            for pattern in (lang.leads, lang.unsure, lang.asks, lang.open_ends, lang.written):
                pattern.search(text)


def test_whatever_the_rules_keep_is_grounded() -> None:
    for _, sentence, wanted in SAID:
        turn = Turn(1, "user", "user", sentence)
        found = rules.extract([turn], {1}, {1: DAY})
        held = grounding.ground(found.facts, [turn], {1})
        assert [fact.text for fact in held.facts] == ([] if wanted is None else [wanted]), sentence
