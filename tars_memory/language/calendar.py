"""Names of months and weekdays in each language that is known. Pure."""

from __future__ import annotations

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_NAMES = {
    "de": (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember "
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"
    ),
    "es": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
        "lunes martes miércoles jueves viernes sábado domingo"
    ),
    "fr": (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre "
        "lundi mardi mercredi jeudi vendredi samedi dimanche"
    ),
    "it": (
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre "
        "lunedì martedì mercoledì giovedì venerdì sabato domenica"
    ),
    "nl": (
        "januari februari maart april mei juni juli augustus september oktober november december "
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"
    ),
    "pt": (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro "
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo"
    ),
}
NAMES = {
    "en": (MONTHS, WEEKDAYS),
    **{language: (tuple(names.split()[:12]), tuple(names.split()[12:])) for language, names in _NAMES.items()},
}
"""Names of months, and of weekdays from Monday on, as Moment's locales have them (pt as in Brazil)."""
