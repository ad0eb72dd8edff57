"""Small words that decide how two statements stand to each other, in English, German, French, Spanish, Italian,
Portuguese and Dutch, with the negations of a few more languages.

A word that is missing here only makes a statement look different from another one: the person is then asked.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words(
    "no not never none nobody nothing nowhere neither nor without cannot hardly longer stopped quit former formerly "
    "nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne "
    "pas jamais rien aucun aucune sans non "
    "nunca jamás sin nada nadie ningún ninguna ninguno tampoco "
    "senza niente nulla nessuno nessuna nessun "
    "não sem ninguém nenhum nenhuma "
    "niet geen nooit zonder niets niemand "
    "inte ingen inga aldrig utan ikke aldri uten ingenting ei "
    "nie nigdy bez nikt nic ne nikdy není "
    "не нет никогда без ничего ни нельзя "
    "değil yok hiç"
)
FRENCH_NE = frozenset({"ne", "n"})
FRENCH_SECOND = _words("pas jamais rien aucun aucune")
"""Behind ``ne`` these are the second half of one negation."""

UNSPACED_NEGATIONS = ("不", "没", "沒", "無", "无", "未", "非", "勿", "ない", "ません", "なかった", "않", "없", "못")

FILLERS = _words(
    "the a an that do does did also really currently now please still just very "
    "der die das dem den des ein eine einen einem einer eines auch jetzt derzeit "
    "le la les l un une el los las unos unas il lo gli uno o os um uma het een "
    "my mein meine meinen mes mi mis mio meu minha mijn "
    "aussi maintenant también ahora anche adesso ora também agora ook nu"
)
"""Words without content of their own. None of them leads a phrase or counts anything out."""

ARTICLES = _words(
    "the a an der die das den dem ein eine einen le la les un une el los las il lo o os as um uma het een"
)

COPULAS = _words("is are 's ist sind bin est sont suis es è sono é são zijn")

SUBJECTS = _words("i user ich je yo io eu ik")
"""At the start they mean whose memory this is."""

RELATORS = _words(
    "in at on to from of for with by than before after over under about into onto until till since between against via "
    "during through per as like and or but if when while because "
    "im am zu zum zur von vom nach bei mit für vor über unter seit bis als und oder aber wenn weil gegen aus auf an "
    "à au aux de du des dans en chez avec pour par avant après sur sous depuis et ou mais que "
    "a al del con para por antes después sobre desde hasta y e pero "
    "di da nel nella con per prima dopo su dal ma che "
    "em no na do da dos das com antes depois "
    "te van naar met voor bij uit op om maar"
)
"""Words that lead a phrase; what follows them says where, when, or in which part something takes part."""

EQUAL = {
    "favourite": "favorite",
    "colour": "color",
    "e-mail": "email",
    "mail": "email",
    "mum": "mom",
    "bday": "birthday",
    "telephone": "phone",
    "neighbour": "neighbor",
    "programme": "program",
    "okay": "ok",
}
"""Spellings of one word."""

_MONTH_NAMES = (
    "jan january januar janvier enero gennaio janeiro januari jänner",
    "feb february februar février febrero febbraio fevereiro februari",
    "mar march märz mars marzo março maart",
    "apr april avril abril aprile",
    "may mai mayo maggio maio mei",
    "jun june juni juin junio giugno junho",
    "jul july juli juillet julio luglio julho",
    "aug august août agosto augustus",
    "sep sept september septembre septiembre settembre setembro",
    "oct october oktober octobre octubre ottobre outubro okt",
    "nov november novembre noviembre novembro",
    "dec december dezember décembre diciembre dicembre dezembro dez",
)
_DAY_NAMES = (
    "mon monday mondays montag lundi lunes lunedì segunda maandag",
    "tue tuesday tuesdays dienstag mardi martes martedì terça dinsdag",
    "wed wednesday wednesdays mittwoch mercredi miércoles mercoledì quarta woensdag",
    "thu thursday thursdays donnerstag jeudi jueves giovedì quinta donderdag",
    "fri friday fridays freitag vendredi viernes venerdì sexta vrijdag",
    "sat saturday saturdays samstag samedi sábado sabato zaterdag",
    "sun sunday sundays sonntag dimanche domingo domenica zondag",
)
MONTHS = {name: f"month{number}" for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()} | {
    name: f"weekday{number}" for number, names in enumerate(_DAY_NAMES, 1) for name in names.split()
}
"""Names of months and weekdays; values like numbers."""

UNSURE = _words("sun sat mon mar may march mai segunda terça quarta quinta sexta")
"""Names of months and weekdays that are words as well: they count with a capital, or behind a number."""

NUMBER_WORDS = _words(
    "one two three four five six seven eight nine ten eleven twelve twenty hundred thousand half twice once "
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf deux trois quatre cinq sept huit neuf dix "
    "dos tres cuatro cinco siete ocho nueve diez due tre quattro cinque sei sette otto nove dieci "
    "dois três quatro seis sete oito dez twee drie vijf zes zeven negen tien today tomorrow yesterday "
    "first second third fourth fifth erste ersten zweite zweiten dritte premier première deuxième primero segundo"
)
