"""Two versions of a note become one by entry: nothing that nobody removed is lost, and a disagreement is a question."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings, strategies as st
from random_documents import LINES, document, examples, seeded

from tars_memory.jobs.merge import text_merge
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.edits import lines_of
from tars_memory.vault.markdown.merging import disputed, merge


def merged(base: str, one: str, two: str) -> str:
    """The outcome, which is the same both ways."""
    versions = [text.encode("utf-8", "surrogateescape") for text in (base, one, two)]
    found = merge(*versions, text_merge)
    assert found is not None
    assert merge(versions[0], versions[2], versions[1], text_merge) == found
    return found.data.decode("utf-8", "surrogateescape")


def asked(text: str) -> list[tuple[list[str], str, bool]]:
    found = disputed(entries.read("Memory.md", Document(text.encode())))
    return [([line.text for line in each.lines], each.was, each.removed) for each in found]


NOTE = "# M\n\n## People\n\n- Anna prefers trains\n- Bob likes tea ^m-1\n\n## Work\n- the office is in Cork\n"


def test_what_one_side_did_is_done_and_what_both_added_is_there_once() -> None:
    one = NOTE.replace("- Bob", "- Zoe has a dog\n- Bob") + "- the rent is due on Monday\n- same\n"
    two = NOTE.replace("Anna prefers trains\n- ", "") + "- same\n- lunch at one\n\n## Home\n- a new tap\n"
    said = merged(NOTE, one, two)
    assert said.count("- same\n") == 1
    assert "- Anna" not in said
    for line in ("- Zoe has a dog", "- Bob likes tea ^m-1", "- the rent is due on Monday", "- lunch at one"):
        assert said.count(line) == 1
    assert said.endswith("## Home\n- a new tap\n")
    assert asked(said) == []


def test_two_edits_of_a_bullet_both_stay_as_a_question() -> None:
    one, two = NOTE.replace("prefers trains", "prefers night trains"), NOTE.replace("trains", "slow trains")
    said = merged(NOTE, one, two)
    assert asked(said) == [(["Anna prefers night trains", "Anna prefers slow trains"], "Anna prefers trains", False)]
    by_id = merged(NOTE, NOTE.replace("likes tea", "drinks wine"), NOTE.replace("Bob likes", "Robert likes green"))
    assert asked(by_id) == [(["Bob drinks wine", "Robert likes green tea"], "Bob likes tea", False)]
    again = merged(said, said + "- more\n", said.replace("Cork", "Galway"))
    assert asked(again) == asked(said)


def test_an_edit_against_a_removal_stays_as_a_question() -> None:
    said = merged(NOTE, NOTE.replace("- Anna prefers trains\n", ""), NOTE.replace("trains", "slow trains"))
    assert asked(said) == [(["Anna prefers slow trains"], "Anna prefers trains", True)]
    moved = NOTE.replace("- Anna prefers trains\n", "") + "- Anna prefers trains\n"
    said = merged(NOTE, NOTE.replace("- Anna prefers trains\n", ""), moved)
    assert asked(said) == [(["Anna prefers trains"], "Anna prefers trains", True)]
    nested = "- plan\n  - one\n- rest\n"
    said = merged(nested, "- rest\n", nested.replace("  - one\n", "  - one\n  - two\n"))
    assert "  - two\n" in said
    assert asked(said) == [(["plan"], "plan", True)]
    below = "- a\n-\n  Anna prefers trains\n"
    said = merged(below, "- a\n", below.replace("trains", "slow trains"))
    assert said == "- a\n-\n  Anna prefers slow trains\n  - also removed:: Anna prefers trains\n"


def test_a_decided_candidate_stays_decided() -> None:
    line = "- 14:30 [{}] Anna prefers trains ^d-1\n"
    base, yes, no = (f"## Log\n{line.format(state)}" for state in ("extracted", "promoted", "rejected"))
    assert merged(base, yes, base + "- 15:00 tea\n") == yes + "- 15:00 tea\n"
    assert merged("", yes, base) == yes
    assert merged(base, base.replace("extracted", "expired"), yes) == yes
    assert merged(base, yes, base.replace("trains", "trams")) == yes.replace("trains", "trams")
    said = merged(base, yes, no)
    assert yes.partition("\n")[2] in said
    assert no.partition("\n")[2] in said
    assert len(asked(said)) == 1


def test_one_day_begun_on_two_machines_is_one_note() -> None:
    one = "# Day\n\n## Log\n- 09:00 a\n- 12:00 c\n"
    two = "# Day\n\n## Log\n- 10:00 b\n- 12:00 c\n- 13:00 d\n"
    assert merged("", one, two) == "# Day\n\n## Log\n- 09:00 a\n- 10:00 b\n- 12:00 c\n- 13:00 d\n"


def test_facts_are_merged_by_subject_and_predicate() -> None:
    base = "# Facts\n\n## Anna\n- lives in:: Cork [since:: 2026-01-01]\n- likes:: tea\n"
    ended = "lives in:: Cork [since:: 2026-01-01] [until:: 2026-11-21]"
    one = base.replace("lives in:: Cork [since:: 2026-01-01]", f"{ended}\n- lives in:: Dublin [since:: 2026-11-21]")
    two = base + "\n## Bob\n- works at:: Deltacore\n"
    said = merged(base, one, two)
    assert said == one + "\n## Bob\n- works at:: Deltacore\n"
    two = base.replace("lives in:: Cork [since:: 2026-01-01]", f"{ended}\n- lives in:: Galway [since:: 2026-11-21]")
    said = merged(base, one, two)
    assert said.count(ended) == said.count(":: Dublin") == said.count(":: Galway") == 1
    later = two.replace("[until:: 2026-11-21]", "[until:: 2026-11-22]")
    assert asked(merged(base, one, later))[0][1] == "lives in:: Cork [since:: 2026-01-01]"


def test_moved_renamed_nested_and_repeated_lines_keep_their_identity() -> None:
    moved = NOTE.replace("- Anna prefers trains\n", "") + "- Anna prefers trains\n"
    assert merged(NOTE, moved, NOTE.replace("tea", "coffee")) == moved.replace("tea", "coffee")
    renamed = NOTE.replace("## Work", "## Office")
    assert merged(NOTE, renamed, NOTE + "- it has a lift\n") == renamed + "- it has a lift\n"
    gone = NOTE[: NOTE.index("\n## Work")]
    kept = merged(NOTE, gone, NOTE + "- it has a lift\n")
    assert kept == gone + "\n## Work\n- it has a lift\n"
    twice = "- coffee\n- coffee\n- tea\n"
    assert merged(twice, twice.replace("- coffee\n", "", 1), twice + "- milk\n") == "- coffee\n- tea\n- milk\n"
    nested = "- a\n  - a1\n- b\n  - b1\n"
    one, two = nested.replace("  - a1\n", "  - a1\n  - a2\n"), nested.replace("  - b1\n", "")
    assert merged(nested, one, two) == "- a\n  - a1\n  - a2\n- b\n"


def test_of_copies_the_one_that_was_edited_is_told_by_what_stands_around_it() -> None:
    base = "## Notes\n- the rent is due\n- coffee\n- coffee\n"
    one, two = "## Notes\n- a ladder\n- coffee piano\n- coffee kettle\n", base.replace("coffee\n", "coffee piano\n", 1)
    assert merged(base, one, two) == one
    # What both sides still have stays, whichever copy each of them took away.
    base = "## Notes\n- the rent is due\n- coffee\n- coffee\n"
    assert merged(base, "## Notes\n- coffee\n", base.replace("- coffee\n", "", 1)) == "## Notes\n- coffee\n"
    said = merged(base, base.replace("coffee\n", "coffee dog\n", 1), base.replace("- coffee\n", "", 1))
    assert "\n- coffee\n" in said
    assert asked(said) == [(["coffee dog"], "coffee", True)]


def test_nested_lines_with_the_same_words_belong_to_their_own() -> None:
    def note(*names: str) -> str:
        return "".join(
            f"- {name}1 {name}2 {name}3\n  - said by:: Anna\n  - said:: ([[a#^d-{name}|a]])\n" for name in names
        )

    for seed in range(60):
        chance = seeded(seed)
        base = chance.sample("abcdef", 3)
        one, two = ([name for name in base if chance.random() < 0.6] for _ in range(2))
        one += chance.sample("ghijk", chance.randrange(3))
        two += chance.sample("lmnop", chance.randrange(3))
        left = [name for name in base if name in one and name in two]
        left += [name for name in (*one, *two) if name not in base]
        said = merged(note(*base), note(*one), note(*two))
        blocks = [f"- {block}" for block in said.split("- ") if "2 " in block]
        assert said.count("said by:: Anna") == len(left), (base, one, two)
        assert len(blocks) == len(left)
        assert all(note(name) in said for name in left), (base, one, two, said)


def test_front_matter_and_other_text_are_kept_from_both_sides() -> None:
    base = "---\ntags:\n  - a\nmood: fine\n---\nA paragraph.\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n- z\n"
    one = base.replace("  - a\n", "  - a\n  - b\n").replace("fine", "sad").replace("A para", "One para")
    two = base.replace("  - a\n", "  - a\n  - c\n").replace("fine", "glad").replace("A para", "Two para")
    one, two = (text.replace("| 1 | 2 |\n", f"| 1 | 2 |\n| {n} | {n} |\n") for n, text in ((3, one), (4, two)))
    said = merged(base, one, two)
    assert Document(said.encode()).front_matter == {"tags": ["a", "b", "c"], "mood": "glad"}
    assert "# mood: sad\n" in said
    for line in ("One paragraph.", "Two paragraph.", "| 3 | 3 |", "| 4 | 4 |"):
        assert said.count(line) == 1


def test_every_byte_that_nobody_touched_stays() -> None:
    base = "\ufeff---\r\na: 1 \r\n---\r\n# T\r\n\r\n* one\t\r\n+ \udcff\udcc3 two\r\n\r\n```\r\n- code\r\n```\r\n"
    base += "\r\n\r\n- end"
    one, two = base.replace("* one\t", "* one more\t"), base.replace("- end", "- end\r\n- new")
    assert merged(base, one, two) == one.replace("- end", "- end\r\n- new")
    lines = "- a\n- b\n- c\n"
    assert merged(lines, lines.replace("\n", "\r\n"), lines + "- d\n") == "- a\r\n- b\r\n- c\r\n- d\r\n"


def test_what_cannot_be_told_apart_is_left_to_git() -> None:
    marks = b"<<<<<<< ours\n- a\n=======\n- b\n>>>>>>> theirs\n"
    for damaged in (marks, b"- nul\0\n", b"- a\n%% open\n", b"- a\n- b\n```\nopen\n- c\n"):
        assert merge(b"- a\n", damaged, b"- a\n- c\n```\nopen too\n", text_merge) is None
    assert merged("- a\n", "- a\n```\nopen\n", "- a\n- c\n") == "- a\n- c\n\n```\nopen\n"


def test_a_line_that_each_side_has_below_another_one_is_one_line() -> None:
    base = "- Anna\n  - likes tea\n- Bob\n- Cem\n"
    one, two = "- Anna\n- Bob\n  - likes tea\n- Cem\n", "- Anna\n- Bob\n- Cem\n  * likes tea\n"
    assert merged(base, one, two).count("likes tea") == 1
    # What each side wrote below another line are two lines.
    assert merged("- Bob\n- Cem\n", one, two).count("likes tea") == 2


def test_who_removed_a_line_with_all_below_it_is_asked_once() -> None:
    base = "- trip\n  - day one\n    - train\n- other\n"
    said = merged(base, "- other\n", base.replace("- train", "- night train"))
    assert said == "- trip\n  - also removed:: trip\n  - day one\n    - night train\n- other\n"
    # What one side has put below another line is not kept below the old one for an edit further down.
    base = "- trip\n  - day one\n    - train\n- tour\n- other\n"
    moved = "- tour\n  - day one\n    - train\n- other\n"
    assert merged(base, moved, base.replace("- train", "- night train")) == moved.replace("- train", "- night train")


def test_a_question_that_each_side_answers_in_its_own_way_is_asked_again() -> None:
    weak, strong = ("- weak tea\n", "- strong tea\n")
    below = "  - also changed:: tea\n"
    base = weak + below + strong + below
    assert merged(base, weak, strong) == strong + below + weak + below
    assert merged(base, weak + strong, strong) == base
    assert merged(base, weak, weak) == merged(base, base, weak) == weak
    assert merged(base, weak, "") == "- weak tea\n  - also removed:: weak tea\n"
    base = weak + "  - also removed:: tea\n"
    assert merged(base, weak, "") == base
    assert merged(base, base, "") == ""
    # A line edited with the question left below it answers nothing: the line stays away, the question stays.
    base = weak + below + strong + below
    assert merged(base, weak + below + "- green coffee\n" + below, strong + below) == "- green coffee\n" + below


def test_a_question_left_behind_by_a_line_that_was_taken_away_is_answered() -> None:
    below = "  - also changed:: drink\n"
    base = "- bread\n- coffee\n" + below + "- tea\n" + below
    # The first machine took the coffee away and left its question, which came below the bread; the second took the tea.
    again = merged(base, "- bread\n" + below + "- tea\n" + below, "- bread\n- coffee\n")
    assert "- coffee\n" + below in again and "- tea\n" + below in again
    again = merged("- tea\n" + below + "- coffee\n" + below, "- tea\n" + below + below, "- coffee\n")
    assert "- coffee\n" + below in again and "- tea\n" in again
    removed = "  - also removed:: tea\n"
    base = "- bread\n- tea\n" + removed + "- jam\n"
    assert "- tea\n" + removed in merged(base, base.replace("- tea\n", ""), base.replace(removed, ""))


def test_a_new_line_under_a_heading_and_above_it_is_one_line() -> None:
    base = "# Memory\n\n- old\n"
    one, two = base + "- likes tea\n", base + "\n## Notes\n- likes tea\n- more\n"
    assert merged(base, one, two) == two
    under = [base + f"\n## {name}\n- likes tea\n" for name in ("Anna", "Bob")]
    assert merged(base, *under).count("likes tea") == 2


def test_a_question_stands_below_its_line_however_that_is_written() -> None:
    for mark in ("- ", "-  ", "*   ", "-\t", "\t- ", "  - "):
        above = "# M" if mark == mark.lstrip() else "- up"
        base = f"{above}\n{mark}Anna prefers trains\n"
        said = merged(base, base.replace("trains", "night trains"), base.replace("trains", "slow trains"))
        assert len(asked(said)) == 1, mark
    # Below an edited line, one that was only moved in or out is still the same.
    base = "- Anna prefers trains\n    - since March\n"
    one, two = base.replace("prefers", "likes").replace("    -", "  -"), base.replace("trains", "slow trains")
    said = merged(base, one, two)
    assert said.count("since March") == 1
    assert len(asked(said)) == 1
    assert "\n  - also changed:: Anna prefers trains\n  - since March\n" in said


def test_the_same_question_is_asked_once() -> None:
    base = "- Anna prefers slow trains\n  - also removed:: Anna prefers trains\n"
    removed, changed = "- Bob likes tea\n", base.replace("slow", "night").replace("trains\n  -", "trains today\n  -")
    said = merged(base, removed, changed)
    again = merged(said, removed, said.replace("today", "now"))
    assert again.count("also removed:: Anna prefers slow trains") <= 1
    twice = "- Anna prefers slow trains\n"
    one = merged(twice, "", twice.replace("slow", "night"))
    assert merged(twice, "", one).count("also removed:: Anna prefers slow trains\n") == 1


def test_neither_side_is_preferred() -> None:
    """Where nothing else decides: mixed line endings, a line with and without a heading, sections of one name."""
    merged("---\r\n---\r\n", "---\r\nmood: fine\r\n---\r\n", "---\nmood: fine\n---\n")
    merged("# Facts\n", "# Facts\n## Anna\n- likes:: tea\n", "## Anna\n")
    merged("- a\n- b\n", "- a \r\n- b\n", "- a\t\n- b\r\n")
    said = merged("", "- Anna prefers trains\n- Bob likes tea ^m-1\n", "# Memory\n- Bob likes tea ^m-1\n")
    assert said.count("Bob") == 1
    assert merged("", "- coffee\n## Work\n- a\n", "## People\n- tea\n").startswith("- coffee\n## People\n")
    assert "\r\r" not in merged("- a\n", "- a\n- two\r\n  lines\n", "- a\r\n- b\r\n")


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**9))
def test_of_any_two_edits_nothing_is_lost_that_nobody_removed(seed: int) -> None:
    chance = seeded(seed)

    def edited(data: bytes) -> bytes:
        lines = lines_of(data)
        for number in range(chance.randint(1, 4)):
            at = chance.randrange(len(lines) + 1)
            what = chance.random()
            if what < 0.5 or at == len(lines):
                lines.insert(at, chance.choice([*LINES, b"- new %d" % number]) + b"\n")
            elif what < 0.7:
                del lines[at]
            elif what < 0.8:
                lines[at] = lines[at].rstrip(b"\r\n") + b" w%d\n" % chance.randrange(9)
            elif what < 0.85:
                lines[at] = chance.choice([b"  ", b"\t", b"    "]) + lines[at]
            elif what < 0.9:
                lines = [line.rstrip(b"\r\n") + b"\r\n" for line in lines]
            else:
                lines.insert(chance.randrange(len(lines)), lines.pop(at))
        return b"".join(lines)

    base = document(chance, 24)
    one, two = edited(base), edited(base)
    found = merge(base, one, two, text_merge)
    assert merge(base, two, one, text_merge) == found
    if found is None:
        return

    def bullets(data: bytes) -> Counter[str]:
        return Counter(entry.text for entry in entries.read("a.md", Document(data), timed=True))

    was, first, second, now = map(bullets, (base, one, two, found.data))
    for text in first | second:
        # Of two equal bullets each side may have changed another one.
        kept = (
            min(first[text], second[text], first[text] + second[text] - was[text])
            if min(first[text], second[text]) < was[text]
            else max(first[text], second[text])
        )
        said = sum(line.endswith(f":: {text}") for line in now)
        assert now[text] + said >= kept, text
