from __future__ import annotations

from datetime import date, timedelta
from itertools import chain

import pytest
from hypothesis import given, strategies as st

from tars_memory.language.calendar import MONTH_FORMS, NAMES
from tars_memory.language.dates import dated, parse_day, refusal
from tars_memory.language.words import fold

TODAY = date(2026, 11, 21)  # a Saturday


def spans(text: str, today: date = TODAY) -> list[tuple[str, str, bool]]:
    return [(str(named.start), str(named.end), named.yearless) for named, _ in dated(text, today)]


def test_a_name_of_a_month_is_the_same_month_in_each_language() -> None:
    every = [*(months for months, _ in NAMES.values()), *chain.from_iterable(MONTH_FORMS.values())]
    numbers: dict[str, set[int]] = {}
    for names in every:
        assert len(names) == 12
        for number, name in enumerate(names, start=1):
            numbers.setdefault(fold(name), set()).add(number)
    assert [name for name, months in numbers.items() if len(months) > 1] == []


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("on 2026-03-15?", "2026-03-15", "2026-03-15"),
        ("2026-03-15T10:00", "2026-03-15", "2026-03-15"),
        ("in 2026-02", "2026-02-01", "2026-02-28"),
        ("3 May 2023", "2023-05-03", "2023-05-03"),
        ("the 3rd of May, 2023", "2023-05-03", "2023-05-03"),
        ("May 7, 2023", "2023-05-07", "2023-05-07"),
        ("march 2024", "2024-03-01", "2024-03-31"),
        ("am 3. Oktober 2026", "2026-10-03", "2026-10-03"),
        ("giovedì 19 novembre 2026", "2026-11-19", "2026-11-19"),
        ("el 5 de mayo del 2024", "2024-05-05", "2024-05-05"),
        ("no 1º de março de 2025", "2025-03-01", "2025-03-01"),
        ("le 1er fevrier 2024", "2024-02-01", "2024-02-01"),
        ("a ottobre 2026", "2026-10-01", "2026-10-31"),
        ("co bylo 3. října 2026", "2026-10-03", "2026-10-03"),
        ("w październiku 2026", "2026-10-01", "2026-10-31"),
        ("3 октября 2026 года", "2026-10-03", "2026-10-03"),
        ("в октябре 2026", "2026-10-01", "2026-10-31"),
        ("3. lokakuuta 2026", "2026-10-03", "2026-10-03"),
        ("3 Ekim 2026", "2026-10-03", "2026-10-03"),
        ("3 Οκτωβρίου 2026", "2026-10-03", "2026-10-03"),
        ("2026. október 3.", "2026-10-03", "2026-10-03"),
        ("2026. október", "2026-10-01", "2026-10-31"),
        ("in 2026 march 3", "2026-03-03", "2026-03-03"),
        ("ב-3 באוקטובר 2026", "2026-10-03", "2026-10-03"),
        ("3 أكتوبر 2026", "2026-10-03", "2026-10-03"),
        ("2026년 10월 3일에", "2026-10-03", "2026-10-03"),
        ("2026年10月3日", "2026-10-03", "2026-10-03"),
        ("2026年2月", "2026-02-01", "2026-02-28"),
        ("２０２６年１０月３日", "2026-10-03", "2026-10-03"),
        ("会議は2026年10月3日でした", "2026-10-03", "2026-10-03"),
        ("２０２６／１０／３", "2026-10-03", "2026-10-03"),
        ("٢٠٢٦-١٠-٠٣", "2026-10-03", "2026-10-03"),
        ("2025年", "2025-01-01", "2025-12-31"),
        ("on 3.10.2026", "2026-10-03", "2026-10-03"),
        ("on 23/11/2026", "2026-11-23", "2026-11-23"),
        ("on 11/23/2026", "2026-11-23", "2026-11-23"),
        ("on 7/7/2026", "2026-07-07", "2026-07-07"),
        ("on 3/10/2026", "2026-01-01", "2026-12-31"),
        ("in 2023", "2023-01-01", "2023-12-31"),
        ("yesterday", "2026-11-20", "2026-11-20"),
        ("the day before yesterday", "2026-11-19", "2026-11-19"),
        ("today", "2026-11-21", "2026-11-21"),
        ("last week", "2026-11-09", "2026-11-15"),
        ("this week", "2026-11-16", "2026-11-22"),
        ("last weekend", "2026-11-14", "2026-11-15"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last Friday", "2026-11-20", "2026-11-20"),
        ("last Saturday", "2026-11-14", "2026-11-14"),
        ("on Monday", "2026-11-16", "2026-11-16"),
        ("3 days ago", "2026-11-18", "2026-11-18"),
        ("a couple of weeks ago", "2026-11-04", "2026-11-10"),
        ("two months ago", "2026-09-01", "2026-09-30"),
        ("the last 3 weeks", "2026-10-31", "2026-11-21"),
        ("last March", "2026-03-01", "2026-03-31"),
        ("last December", "2025-12-01", "2025-12-31"),
        ("summer 2022", "2022-06-01", "2022-08-31"),
        ("last winter", "2025-12-01", "2026-02-28"),
        ("Q3 2025", "2025-07-01", "2025-09-30"),
        ("15-го ноября 2026", "2026-11-15", "2026-11-15"),
        ("2026. november 15-én", "2026-11-15", "2026-11-15"),
        ("Sonntag, den 15. November 2026", "2026-11-15", "2026-11-15"),
        ("15. 11. 2026", "2026-11-15", "2026-11-15"),
        ("१५ नवंबर 2026", "2026-11-15", "2026-11-15"),
        ("१५ नवम्बर २०२६", "2026-11-15", "2026-11-15"),
        ("١٥ نوفمبر 2026", "2026-11-15", "2026-11-15"),
        ("ngày 15 tháng 11 năm 2026", "2026-11-15", "2026-11-15"),
        ("tháng 11 năm 2026", "2026-11-01", "2026-11-30"),
        ("2026年11月15号", "2026-11-15", "2026-11-15"),
        ("letzte Woche", "2026-11-09", "2026-11-15"),
        ("la semaine dernière", "2026-11-09", "2026-11-15"),
        ("la semana pasada", "2026-11-09", "2026-11-15"),
        ("la settimana scorsa", "2026-11-09", "2026-11-15"),
        ("na semana passada", "2026-11-09", "2026-11-15"),
        ("vorige week", "2026-11-09", "2026-11-15"),
        ("letztes Wochenende", "2026-11-14", "2026-11-15"),
        ("le mois dernier", "2026-10-01", "2026-10-31"),
        ("l'an dernier", "2025-01-01", "2025-12-31"),
        ("nächsten Monat", "2026-12-01", "2026-12-31"),
        ("lundi dernier", "2026-11-16", "2026-11-16"),
        ("el lunes pasado", "2026-11-16", "2026-11-16"),
        ("el próximo martes", "2026-11-24", "2026-11-24"),
        ("lunedì scorso", "2026-11-16", "2026-11-16"),
        ("letzten Montag", "2026-11-16", "2026-11-16"),
        ("afgelopen maandag", "2026-11-16", "2026-11-16"),
        ("na segunda-feira passada", "2026-11-16", "2026-11-16"),
        ("na próxima terça", "2026-11-24", "2026-11-24"),
        ("w zeszłym tygodniu", "2026-11-09", "2026-11-15"),
        ("w ten weekend", "2026-11-21", "2026-11-22"),
        ("v minulém roce", "2025-01-01", "2025-12-31"),
        ("на прошлой неделе", "2026-11-09", "2026-11-15"),
        ("наступного місяця", "2026-12-01", "2026-12-31"),
        ("förra veckan", "2026-11-09", "2026-11-15"),
        ("i sidste måned", "2026-10-01", "2026-10-31"),
        ("i fjor", "2025-01-01", "2025-12-31"),
        ("viime viikolla", "2026-11-09", "2026-11-15"),
        ("tavaly", "2025-01-01", "2025-12-31"),
        ("geçen hafta sonu", "2026-11-14", "2026-11-15"),
        ("지난주에", "2026-11-09", "2026-11-15"),
        ("이번 주는", "2026-11-16", "2026-11-22"),
        ("지난 달까지", "2026-10-01", "2026-10-31"),
        ("다음 달에는", "2026-12-01", "2026-12-31"),
        ("先週末", "2026-11-14", "2026-11-15"),
        ("上个月", "2026-10-01", "2026-10-31"),
        ("本周计划", "2026-11-16", "2026-11-22"),
        ("בשבוע שעבר", "2026-11-09", "2026-11-15"),
        ("पिछले हफ़्ते", "2026-11-09", "2026-11-15"),
        ("cuối tuần trước", "2026-11-14", "2026-11-15"),
        ("thứ hai tuần trước", "2026-11-09", "2026-11-15"),
    ],
)
def test_a_named_date(text, start, end):
    assert spans(f"what did we plan {text}") == [(start, end, False)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("cosa ho fatto ieri?", "2026-11-20"),
        ("l'altro ieri", "2026-11-19"),
        ("was habe ich gestern gemacht", "2026-11-20"),
        ("qu'ai-je fait hier", "2026-11-20"),
        ("hier", "2026-11-20"),
        ("qu’ai-je fait avant-hier", "2026-11-19"),
        ("aujourd’hui", "2026-11-21"),
        ("¿qué hice ayer?", "2026-11-20"),
        ("o que eu fiz ontem", "2026-11-20"),
        ("depois de amanhã", "2026-11-23"),
        ("co robiłem wczoraj", "2026-11-20"),
        ("что я делал вчера", "2026-11-20"),
        ("vad gjorde jag i går", "2026-11-20"),
        ("昨日は何をした", "2026-11-20"),
        ("一昨日の会議", "2026-11-19"),
        ("我昨天做了什么", "2026-11-20"),
        ("어제는 뭐 했지", "2026-11-20"),
        ("ماذا فعلت أمس", "2026-11-20"),
    ],
)
def test_a_word_for_a_day_in_any_language(text, day):
    assert spans(text) == [(day, day, False)]


@pytest.mark.parametrize(
    "text",
    [
        *("was ist hier los", "wo gibt es hier das beste Eis", "am Morgen", "mañana", "Guten Morgen", "the ma deli"),
        "what did Loni say",
        *("ten weekend getaways", "이번 주문", "다음 주제는", "지난 주의사항", "이번 달력", "제작년도", "국내년도별"),
        *("hai tuần trước", "họp 3 tuần trước", "thứ năm tới", "tháng năm sau", "ראש השנה", "השבוע הראשון"),
        *("这周围有什么餐厅", "以下周期的设置", "日本周辺の地図", "日本月面探査", "上上周", "再来週", "一昨年"),
    ],
)
def test_a_word_for_a_day_that_is_another_word_here(text):
    assert spans(text) == []


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("in May", "2000-05-01", "2000-05-31"),
        ("what did she do in may", "2000-05-01", "2000-05-31"),
        ("December", "2000-12-01", "2000-12-31"),
        ("on 9 June", "2000-06-09", "2000-06-09"),
        ("10월 3일", "2000-10-03", "2000-10-03"),
        ("on February 29th", "2000-02-29", "2000-02-29"),
        ("15-го ноября", "2000-11-15", "2000-11-15"),
        ("november 15-én", "2000-11-15", "2000-11-15"),
        ("1° novembre", "2000-11-01", "2000-11-01"),
        ("was war am 15.11.?", "2000-11-15", "2000-11-15"),
        ("15. 11.", "2000-11-15", "2000-11-15"),
        ("15 בנובמבר", "2000-11-15", "2000-11-15"),
        ("ngày 15 tháng 11", "2000-11-15", "2000-11-15"),
        ("11月15日", "2000-11-15", "2000-11-15"),
        ("11月15号", "2000-11-15", "2000-11-15"),
        ("qué hice en octubre", "2000-10-01", "2000-10-31"),
        ("octubre", "2000-10-01", "2000-10-31"),
        ("was habe ich im Oktober gemacht", "2000-10-01", "2000-10-31"),
        ("im mai", "2000-05-01", "2000-05-31"),
        ("gastos en mayo", "2000-05-01", "2000-05-31"),
        ("qu'ai-je fait en mars", "2000-03-01", "2000-03-31"),
        ("cosa ho fatto a ottobre", "2000-10-01", "2000-10-31"),
        ("o que eu fiz em maio", "2000-05-01", "2000-05-31"),
        ("wat deed ik in maart", "2000-03-01", "2000-03-31"),
        ("vad gjorde jag i maj", "2000-05-01", "2000-05-31"),
        ("vakantie in mei", "2000-05-01", "2000-05-31"),
        ("möte i maj", "2000-05-01", "2000-05-31"),
        ("co robiłem w październiku", "2000-10-01", "2000-10-31"),
        ("co jsem dělal v květnu", "2000-05-01", "2000-05-31"),
        ("что я делал в мае", "2000-05-01", "2000-05-31"),
        ("що я робив у травні", "2000-05-01", "2000-05-31"),
        ("τι έκανα τον Μάιο", "2000-05-01", "2000-05-31"),
        ("mitä tein lokakuussa", "2000-10-01", "2000-10-31"),
        ("mit csináltam májusban", "2000-05-01", "2000-05-31"),
        ("Ekim ayında ne yaptım", "2000-10-01", "2000-10-31"),
        ("Mart'ta ne yaptım", "2000-03-01", "2000-03-31"),
        ("EYLÜLDE ne yaptım", "2000-09-01", "2000-09-30"),
        ("מה עשיתי במאי", "2000-05-01", "2000-05-31"),
        ("ماذا فعلت في مايو", "2000-05-01", "2000-05-31"),
        ("10月に何をした", "2000-10-01", "2000-10-31"),
        ("10월에 뭐 했지", "2000-10-01", "2000-10-31"),
        ("tháng 10 tôi làm gì", "2000-10-01", "2000-10-31"),
    ],
)
def test_without_a_year_any_year_is_meant(text, start, end):
    assert spans(text) == [(start, end, True)]


@pytest.mark.parametrize(
    "text",
    [
        *("may I ask", "May I ask", "they march on", "march on", "10.0.0.1", "room 2048x", "a week", "0-9", "may be"),
        *("sun", "life on Mars", "Mai called", "10.11.12", "call 0171-12-05", "python 3.11.", "3.11", "9/11", "15-nov"),
        *(
            "hotel in Rio de Janeiro",
            "egg in mayo",
            "mars",
            "on to Mars",
            "is Mai at home",
            "mars's moons",
            "Juli's dog",
            "in Mei Lin's house",
            "Julius Caesar",
            "wann hat julius geburtstag",
        ),
    ],
)
def test_what_only_looks_like_a_date(text):
    assert spans(text) == []


def test_distance():
    may = dated("3 May 2023", TODAY)[0][0]
    assert [may.distance(date(2023, 5, day)) for day in (1, 3, 10)] == [-2, 0, 7]
    anyyear = dated("in May", TODAY)[0][0]
    assert anyyear.distance(date(1999, 5, 20)) == 0
    assert anyyear.distance(date(2024, 6, 2)) == 2
    assert anyyear.distance(date(2024, 4, 29)) == -2
    assert dated("December", TODAY)[0][0].distance(date(2024, 1, 2)) == 2
    assert dated("29 February", TODAY)[0][0].distance(date(2024, 2, 29)) == 0


@pytest.mark.parametrize(
    ("value", "start", "end"),
    [
        ("2w", "2026-11-07", "2026-11-07"),
        ("3d", "2026-11-18", "2026-11-18"),
        ("1m", "2026-10-21", "2026-10-21"),
        ("1y", "2025-11-21", "2025-11-21"),
        ("yesterday", "2026-11-20", "2026-11-20"),
        ("last week", "2026-11-09", "2026-11-15"),
        ("last-week", "2026-11-09", "2026-11-15"),
        ("2026", "2026-01-01", "2026-12-31"),
        ("2026-03", "2026-03-01", "2026-03-31"),
        ("march", "2026-03-01", "2026-03-31"),
        ("december", "2025-12-01", "2025-12-31"),
        ("feb 29", "2024-02-29", "2024-02-29"),
        ("monday", "2026-11-16", "2026-11-16"),
        ("Montag", "2026-11-16", "2026-11-16"),
        ("Sunday, November 15", "2026-11-15", "2026-11-15"),
        ("w październiku 2026", "2026-10-01", "2026-10-31"),
        ("w październiku", "2026-10-01", "2026-10-31"),
        ("on November 15th", "2026-11-15", "2026-11-15"),
        ("am 15.11.", "2026-11-15", "2026-11-15"),
        ("15.11", "2026-11-15", "2026-11-15"),
        ("15/11", "2026-11-15", "2026-11-15"),
        ("le 15 novembre", "2026-11-15", "2026-11-15"),
        ("dia 15 de novembro", "2026-11-15", "2026-11-15"),
        ("15 ноября 2026 г.", "2026-11-15", "2026-11-15"),
        ("في 15 نوفمبر", "2026-11-15", "2026-11-15"),
        ("ב-15 בנובמבר 2026", "2026-11-15", "2026-11-15"),
        ("ngày 15 tháng 11", "2026-11-15", "2026-11-15"),
        ("semaine dernière", "2026-11-09", "2026-11-15"),
        ("lundi dernier", "2026-11-16", "2026-11-16"),
        ("semana-pasada", "2026-11-09", "2026-11-15"),
        ("ottobre", "2026-10-01", "2026-10-31"),
        ("3.10.2026", "2026-10-03", "2026-10-03"),
        ("９d", "2026-11-12", "2026-11-12"),
        ("ieri", "2026-11-20", "2026-11-20"),
        ("morgen", "2026-11-22", "2026-11-22"),
        ("1850", "1850-01-01", "1850-12-31"),
        ("1.5.1850", "1850-05-01", "1850-05-01"),
        ("0001-01-01", "0001-01-01", "0001-01-01"),
        ("0001", "0001-01-01", "0001-12-31"),
        ("9999-12-30", "9999-12-30", "9999-12-30"),
        ("9999-12-31", "9999-12-31", "9999-12-31"),
        ("9999-12", "9999-12-01", "9999-12-31"),
        ("9999", "9999-01-01", "9999-12-31"),
        ("winter 9999", "9999-12-01", "9999-12-31"),
    ],
)
def test_values_of_since_and_until(value, start, end):
    named = parse_day(value, TODAY)
    assert named is not None
    assert (str(named.start), str(named.end)) == (start, end)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "3/10/2026",
        "3/10",
        "2026-99-99",
        "0000-01-01",
        "0000",
        "10000-01-01",
        "99999y",
        "9999999999d",
        "tea 2026",
        "-",
        "w",
    ],
)
def test_no_date(value):
    assert parse_day(value, TODAY) is None


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("soon", "is not a date"),
        ("", "is not a date"),
        ("9999y", "reaches back before the year 1"),
        ("99999999999999d", "reaches back before the year 1"),
        ("3/10/2026", "is 10 March or 3 October"),
        ("3/10", "is 10 March or 3 October"),
        ("2026-99-99", "is not a date"),
    ],
)
def test_what_is_wrong_with_a_value(value, wrong):
    assert refusal(value) == wrong


@given(st.text(max_size=80), st.dates(date(1950, 1, 1), date(2090, 1, 1)))
def test_any_text_is_scanned(text, today):
    for named, _ in dated(text, today):
        assert named.start <= named.end
    assert parse_day(text, today) or refusal(text)


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_every_iso_date_is_found_and_its_own_distance_is_zero(day):
    for text in (day.isoformat(), f"{day.day} {day:%B} {day.year}", f"{day:%b} {day.day}, {day.year}"):
        assert [(n.start, n.end) for n, _ in dated(f"met on {text} there", TODAY)] == [(day, day)]
        assert dated(text, TODAY)[0][0].distance(day + timedelta(3)) == 3
