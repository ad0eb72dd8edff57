"""Corrections as people make them, and sentences that only sound like one; precision comes first."""

from __future__ import annotations

from datetime import date

import pytest

from tars_memory.capture.turns import Turn
from tars_memory.curation.extraction import grounding, rules

DAY = date(2026, 11, 21)

SAID = [
    ("Actually, no, it's Lisbon, not Porto.", "It's Lisbon, not Porto"),
    ("No, it's at 15:30, not 14:30", "It's at 15:30, not 14:30"),
    ("Sorry, it's 16 October, not 15.", "It's 16 October, not 15"),
    ("I meant Lisbon, not Porto.", "I meant Lisbon, not Porto"),
    ("Wait, I meant the blue one, not the red one", "I meant the blue one, not the red one"),
    ("I no longer eat meat.", "I no longer eat meat"),
    ("Actually I no longer work at Google.", "I no longer work at Google"),
    ("I don't drink coffee anymore", "I don't drink coffee anymore"),
    ("We don't live in Cork any more.", "We don't live in Cork any more"),
    ("I stopped eating meat in May.", "I stopped eating meat in May"),
    ("I've given up alcohol", "I've given up alcohol"),
    ("Scratch that, I prefer green tea.", "I prefer green tea"),
    ("I live in Porto. Scratch that, I live in Lisbon.", "I live in Lisbon"),
    ("Nein, es ist Lissabon, nicht Porto.", "Es ist Lissabon, nicht Porto"),
    ("Ich meinte Lissabon, nicht Porto.", "Ich meinte Lissabon, nicht Porto"),
    ("Ich esse kein Fleisch mehr.", "Ich esse kein Fleisch mehr"),
    ("Ich arbeite nicht mehr bei Siemens.", "Ich arbeite nicht mehr bei Siemens"),
    ("Non, c'est Lisbonne, pas Porto.", "C'est Lisbonne, pas Porto"),
    ("Je voulais dire Lisbonne, pas Porto.", "Je voulais dire Lisbonne, pas Porto"),
    ("Je ne mange plus de viande.", "Je ne mange plus de viande"),
    ("Quise decir Lisboa, no Oporto.", "Quise decir Lisboa, no Oporto"),
    ("Ya no como carne.", "Ya no como carne"),
    ("Intendevo Lisbona, non Porto.", "Intendevo Lisbona, non Porto"),
    ("Non mangio più carne.", "Non mangio più carne"),
    ("Ik bedoelde Lissabon, niet Porto.", "Ik bedoelde Lissabon, niet Porto"),
    ("Ik eet geen vlees meer.", "Ik eet geen vlees meer"),
    ("Quis dizer Lisboa, não Porto.", "Quis dizer Lisboa, não Porto"),
    ("Já não como carne.", "Já não como carne"),
]

NOT_SAID = [
    "I meant what I said, not more.",
    "I mean, it's fine, not great.",
    "I meant to ask you something, not to complain.",
    "It's fine, not great.",
    "It's a joke, not a threat.",
    "Actually, it's not bad at all.",
    "No, it's not working.",
    "No, it's a bug, not a feature.",
    "I no longer know what to do.",
    "I no longer have time for this.",
    "I don't understand this anymore.",
    "I don't like it anymore.",
    "I stopped reading that.",
    "I have no patience anymore.",
    "Do you think I no longer eat meat?",
    "She said I no longer work here.",
    "Maybe I no longer eat meat.",
    "It is no longer available.",
    "Scratch that itch.",
    "Scratch that.",
    "Never mind, thanks anyway.",
    "Ich habe keine Zeit mehr dafür, oder?",
    "Ich meine, das ist gut, nicht schlecht.",
    "Plus ou moins, je ne sais pas.",
    "Je ne comprends plus rien.",
    "Ya no sé qué hacer.",
    "Non capisco più niente.",
    "Ik weet het niet meer.",
    "Não sei mais o que fazer.",
]


def facts(text: str) -> list[str]:
    turn = Turn(1, "user", "user", text)
    found = rules.extract([turn], {1}, {1: DAY})
    return [fact.text for fact in grounding.ground(found.facts, [turn], {1}).facts]


@pytest.mark.parametrize(("said", "kept"), SAID)
def test_a_correction_is_kept_in_its_own_words(said: str, kept: str) -> None:
    assert facts(said) == [kept]


@pytest.mark.parametrize("said", NOT_SAID)
def test_what_only_sounds_like_one_is_not(said: str) -> None:
    assert facts(said) == []
