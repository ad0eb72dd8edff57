"""Facts drawn as spans, and as a chart that Mermaid's own parser reads, whatever they are called."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import date, timedelta
from pathlib import Path

import pytest
from random_documents import scale, seeded
from rich.cells import cell_len

from tars_memory.doors.cli.output import line
from tars_memory.doors.cli.screen import ASCII, LINES, LONGEST_LABEL, draw_facts, gantt
from tars_memory.vault.markdown.facts import Fact

TODAY = date(2026, 11, 21)
MERMAID = Path(__file__).parents[2] / ".cache" / "mermaid"


def fact(subject: str, predicate: str, value: str, since: str = "", until: str = "") -> Fact:
    first, end = (date.fromisoformat(day) if day else None for day in (since, until))
    return Fact("aaaaaaaa", subject, predicate, value, first, end, "", "Facts.md", 1)


ANNA = [
    fact("Anna", "lives in", "Oslo", "2018-01-01", "2019-05-01"),
    fact("Anna", "works for", "Deltacore Instruments and Sons of Cork", "2021-02-01"),
    fact("Bo", "lives in", "Cork", "", "2020-01-01"),
    fact("Anna", "lives in", "Cork", "2023-06-01"),
    fact("Anna", "likes", "tea"),
]


def test_a_drawing_has_a_scale_subjects_and_a_bar_for_each_span() -> None:
    assert [text for _, text in draw_facts(ANNA, TODAY, 80, LINES)] == [
        "                                              2018   2020   2022   2024    2026",
        "Anna",
        "  lives in: Oslo                   2018-01-01 ━━━━╸                           │",
        "  works for: Deltacore Instrumen…  2021-02-01            ━━━━━━━━━━━━━━━━━━━━━━▶",
        "  lives in: Cork                   2023-06-01                    ━━━━━━━━━━━━━━▶",
        "  likes: tea",
        "Bo",
        "  lives in: Cork                              ┄┄┄━━━━╸                        │",
    ]
    kinds = [kind for kind, _ in draw_facts(ANNA, TODAY, 80, LINES)]
    assert kinds == ["scale", "subject", "past", "holds", "holds", "holds", "subject", "past"]


def test_marks_of_the_scale_are_apart() -> None:
    for days in range(20, 3000, 13):
        for width in (60, 80, 97, 120):
            since = (TODAY - timedelta(days)).isoformat()
            kind, text = next(draw_facts([fact("Anna", "lives in", "Cork", since)], TODAY, width, LINES))
            assert kind == "scale" and re.fullmatch(r" *(?:\d{4}(?:-\d\d)?(?: +|$))*", text), (days, width, text)


def test_facts_without_days_are_a_list() -> None:
    assert [*draw_facts([ANNA[-1]], TODAY, 80, LINES)] == [("subject", "Anna"), ("holds", "  likes: tea")]


def test_every_line_fits_whatever_the_signs_and_the_days() -> None:
    wide = [
        fact("李小龍" * 20, "住在", "香港九龍塘金巴倫道四十一號的大宅", "0001-01-01"),
        fact("x" * 300, "y" * 100, "z", "2026-11-21", "9999-12-31"),
        fact("a", "b", "c", "2026-11-21", "2026-11-21"),
        fact("a", "b", "c", "2026-11-22", "2026-11-20"),
    ]
    for width in (40, 60, 80, 81, 120, 200):
        for facts in (ANNA, wide, wide[1:], wide[2:], ANNA[:1]):
            for signs in (LINES, ASCII):
                for _, text in draw_facts(facts, TODAY, width, signs):
                    assert cell_len(text) <= width, text


def test_a_chart_says_what_is_over_what_holds_and_what_is_to_come() -> None:
    chart = gantt([*ANNA, fact("Anna", "moves to", "Rome", "2027-01-01")], TODAY)
    assert chart.split("\n") == [
        "```mermaid",
        "gantt",
        "    dateFormat YYYY-MM-DD",
        "    axisFormat %Y",
        "    section Anna",
        "    #108;ives in#58; Oslo :done, 2018-01-01, 2019-05-01",
        "    #119;orks for#58; Deltacore Instruments and Sons of Cork :active, 2021-02-01, 2027-06-14",
        "    #108;ives in#58; Cork :active, 2023-06-01, 2027-06-14",
        "    #109;oves to#58; Rome :2027-01-01, 2027-06-14",
        "    section Bo",
        "    #108;ives in#58; Cork :done, 2018-01-01, 2020-01-01",
        "```",
    ]
    assert gantt([ANNA[-1]], TODAY) == ""


HOSTILE = [
    "a:b", "a;b", "%% x", "%%{init: {}}%%", "\"q\" 'x'", "ÄÖÜ ß", "日本語 の 名前", "click here", "section x",
    "title y", "gantt", "dateFormat YYYY", "excludes weekends", "#hash", "#35;", "a#b;c", "```", "---", "end",
    "2023-01-01", "done", "crit, active", "a\nb", "<b>&amp;</b>", "😀", "\\ back", "{a} [b] (c)", "todayMarker off",
    "href", "call", "accTitle: x", "accDescr {", "weekday monday", "vert", "after a", "until b", " lead", "_u__v",
    "$$x$$", "\u202eabc", "x" * 200, "->", "ﬂ°°58¶ß", "axisFormat %Y", "includes x", "tickInterval 1day", "0",
    "inclusiveEndDates", "topAxis", "\u2028", "ends;",
]  # fmt: skip


def shown(text: str) -> str:
    """What Mermaid shows of a name that it holds."""
    return re.sub(r"ﬂ°°(\d+)¶ß", lambda found: chr(int(found[1])), text).strip()


@pytest.mark.prove
def test_mermaid_s_own_parser_reads_every_chart_as_it_is_meant() -> None:
    if not shutil.which("node") or not (MERMAID / "node_modules" / "mermaid").is_dir():
        pytest.skip("node or Mermaid is not here: make mermaid fetches it")
    chance = seeded(7)
    names = [*HOSTILE, *("".join(chance.choices(HOSTILE, k=3)) for _ in range(scale(400)))]
    asked = [
        [fact(name, name, name, "2020-01-01", "2021-03-04"), fact("x" + name, "p", name, "2021-03-04")]
        for name in names
    ]
    charts = [gantt(facts, TODAY).removeprefix("```mermaid\n").removesuffix("\n```") for facts in asked]
    assert all("```" not in chart for chart in charts)
    node = ["node", str(Path(__file__).with_name("mermaid.mjs")), str(MERMAID)]
    done = subprocess.run(node, input=json.dumps(charts), capture_output=True, text=True, check=True, timeout=600)
    for name, facts, told in zip(names, asked, json.loads(done.stdout), strict=True):
        assert "error" not in told, (name, told)
        assert [task[2:] for task in told["tasks"]] == [
            ["2020-01-01", "2021-03-04"],
            ["2021-03-04", told["tasks"][1][3]],
        ]
        for task, each in zip(told["tasks"], facts, strict=True):
            for said, meant in ((task[0], each.subject), (task[1], f"{each.predicate}: {each.object}")):
                meant = line(meant)
                meant = meant if len(meant) <= LONGEST_LABEL else meant[: LONGEST_LABEL - 1].rstrip() + "…"
                assert shown(said) == meant.strip(), name


def test_a_span_goes_on_beyond_any_calendar() -> None:
    facts = [fact("a", "b", "c", "9999-12-31"), fact("a", "b", "c", "0001-01-01", "0001-01-02")]
    assert gantt(facts, TODAY).count("9999-12-31") and [*draw_facts(facts, date.max - timedelta(days=1), 80, LINES)]
