"""Seed phrases of wallets: the words from which all of a wallet's keys are made."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha512
from hmac import digest
from pathlib import Path

from tars_memory.disk import sha256
from tars_memory.vault.suspicion import CLOCK, IS_VERB, MARKS, compiled


def phrases(low: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the seed phrases in a text in lower case: words of BIP-0039 with the right checksum,
    or any words after a label.

    The words may be numbered, or in a table.
    """
    if compiled(_NO_WORD).search(low):
        low = compiled(_NO_WORD).sub(lambda tag: " " * len(tag[0]), low)
    known = _seed_words()
    listed = bytes(map(known.__contains__, compiled(r"[a-z]+").findall(low)))
    for run in (
        ()
        if b"\1" * 12 not in listed
        else compiled(rf"(?<![^\W_])[a-z]{{3,8}}(?:{_WORD_GAP}[a-z]{{3,8}}){{11,}}(?![^\W_])").finditer(low)
    ):
        of_list: list[re.Match[str]] = []
        for word in compiled(r"[a-z]+").finditer(low, *run.span()):
            if word[0] in known:
                of_list.append(word)
                continue
            yield from _seeds_among(of_list)
            of_list = []
        yield from _seeds_among(of_list)
    if not any(stem in low for stem in _PHRASE_STEMS):
        return
    for label in compiled(_PHRASE).finditer(low):
        line = low.find("\n", label.end())
        for pattern, last in (_ONE_A_LINE, None), (_WORDS_IN_ROW, line), (_WORDS_IN_ROW, None):
            words = compiled(pattern).match(low, label.end(), len(low) if last is None else last)
            if words and (end := _phrase_end(low, *words.span(1))):
                yield words.start(1), end, "seed phrase"
                break


def _phrase_end(low: str, start: int, end: int) -> int | None:
    """Return the end of the phrase among words behind a label; None if they are none.

    Args:
        low: the text in lower case.
        start: of the first word.
        end: of the last one.
    """
    words = [*compiled(r"[^\W\d_]+").finditer(low, start, end)]
    numbers = len(re.findall(r"\d+", re.sub(CLOCK, "", low[start:end])))
    known = sum(word[0] in _seed_words() for word in words)
    whole = known >= _KNOWN or not compiled(_GOES_ON).match(low, end)
    plain = compiled(r"(?:[a-z]{3,8}[ \t,]{1,2}){11,23}[a-z]{3,8}").fullmatch(low, start, end)
    if numbers >= len(words) - 1 or (plain and whole):
        return end
    for count in () if numbers > 0 else (25, *reversed(SEED_WORDS)):  # 25 of Monero; several lines have equally many
        last = words[count - 1].end() if count <= len(words) else -1
        if last >= 0 and not compiled(_GOES_ON).match(low, last):
            bullets = re.split(r"[\r\n]+[ \t>]*[-*+][ \t]", low[start:last])
            rows = [len(re.findall(r"[^\W\d_]+", bullet)) for bullet in bullets]
            full = rows[-1] == rows[0] or (rows[-1] < rows[0] and rows[0] not in SEED_WORDS)
            if len({*rows[:-1]}) < 2 and full:
                return last
    return None


_KNOWN = 10
"""Minimum number of words of BIP-0039 in a phrase within a sentence, for a person may have mistaken one or two."""
_GOES_ON = r"[ \t,;]*\w"
"""The text behind a phrase if its line goes on."""
_PHRASE_STEMS = (
    *("phrase", "frase", "seed", "mnem", "t word", "y word", "p word", "herstel", "satz", "助", "ニーモ", "シード"),
    *("니모", "시드", "сид", "мнем"),
)
"""Every label of a seed phrase has one of these."""
PHRASES = (
    r"(?:seed|recovery|secret|backup|mnemonic|wallet)[ -]?(?:phrase|words?|seed)|mnemonic|"
    r"(?:seed|wiederherstellungs|mnemonische?r?)[ -]?(?:phrase|wörter|satz)|"
    r"phrase[ ](?:de[ ](?:r[ée]cup[ée]ration|secours)|secr[èe]te|mn[ée]monique|seed)|"
    r"frase[ ](?:de[ ](?:recuperaci[óo]n|recupera[çc][ãa]o)|di[ ]recupero|semilla|seed|mnem[óo]nica|secreta|segreta)|"
    r"(?:herstel|seed)[ -]?(?:zin|woorden)|助记词|助記詞|ニーモニック|シードフレーズ|니모닉|시드[ ]?구문|"
    r"сид[ -]?фраз\w{0,2}|мнемони\w{0,10}"
)
"""Words for a wallet's recovery words; a pattern, in lower case."""

_PHRASE = (
    rf"(?:{PHRASES})[^\r\n:=：]{{0,40}}?"
    rf"(?:[\"'`*]{{0,2}}[ \t]*(?:[:=：]|\b{IS_VERB}\b|(?=\n))[\"'`*]{{0,2}})[\"'`*]{{0,3}}"
)
_PHRASE_WORD = r"(?:[^\W\d_]{3,12}|[^\W\d_\x00-\u024f]{1,2})"
"""A word of a wallet's list: those of the lists in Latin letters have three letters and more."""
_WORD_GAP = r"(?>(?:[\s|>*_`,;()\[\]-]|(?<!\d)\d{1,2}(?:[.):]|(?!\w))){1,64})"
"""Text between two words of a phrase: blanks, line breaks, bullets, cell borders, numbers."""
_NO_WORD = r"(?<=[ \t])[#^][\w/-]{1,32}(?=[ \t]*(?:[\r\n]|\Z))|(?<=[-*+\d][ \t])\[\w{1,12}\](?=[ \t])"
"""A tag or a block id at the end of a line, or a state or a box, such as every word of a phrase may have."""
_LIST_MARKS = rf"(?>\s*{MARKS}[>*_`+-]*[ \t]*(?:\d{{1,2}}[.):]?[ \t]+)?)"
_WORDS_IN_ROW = rf"(?:{_WORD_GAP})?({_PHRASE_WORD}(?:{_WORD_GAP}{_PHRASE_WORD}){{11,24}})(?!\w)"
_ONE_A_LINE = (
    rf"[^\S\r\n]*[\r\n]{_LIST_MARKS}"
    rf"((?>{_PHRASE_WORD}(?:[ \t]*[\r\n]{_LIST_MARKS}{_PHRASE_WORD}(?=[ \t]*(?:[\r\n]|\Z))){{11,24}}))"
)
"""Lines of one word each: whatever words a line below them has, the phrase ends before it."""


def _seeds_among(words: Sequence[re.Match[str]]) -> Iterator[tuple[int, int, str]]:
    """Yield the seed phrases in consecutive words of the list; words of prose around them may be in the list too.

    One in sixteen sequences of words passes the check by chance, so prose that repeats itself must not count: if there
    are more words than a seed has, half of the seed's words must be different.
    """
    known = _seed_words()
    numbers = [known[word[0]] for word in words]
    start = end = -1
    for at in range(len(numbers)):
        for count in reversed(SEED_WORDS):
            seed = numbers[at : at + count]
            if len(seed) < count or (count < len(numbers) and 2 * len(set(seed)) < count) or not _is_seed(seed):
                continue
            if at > end:
                if end >= 0:
                    yield words[start].start(), words[end].end(), "seed phrase"
                start = at
            end = max(end, at + count - 1)
            break
    if end >= 0:
        yield words[start].start(), words[end].end(), "seed phrase"


SEED_WORDS = (12, 15, 18, 21, 24)
"""Possible numbers of words of a seed; every word stands for 11 bits (BIP-0039)."""


def _is_seed(numbers: Sequence[int]) -> bool:
    """Whether the checksum of a seed is right: one bit of SHA-256 per 32 bits of entropy (BIP-0039), or Electrum's.

    Electrum takes its 12 words from the same list.

    Args:
        numbers: numbers of the words in the list.
    """
    bits = 11 * len(numbers)
    check = bits // 33
    whole = 0
    for number in numbers:
        whole = whole << 11 | number
    entropy = (whole >> check).to_bytes((bits - check) // 8, "big")
    if sha256(entropy).digest()[0] >> 8 - check == whole & (1 << check) - 1:
        return True
    if len(numbers) != SEED_WORDS[0]:
        return False
    words = list(_seed_words())
    version = digest(b"Seed version", " ".join(words[number] for number in numbers).encode("ascii"), sha512).hex()
    return version.startswith(ELECTRUM)


ELECTRUM = ("01", "100", "101", "102")
"""Beginnings of the HMAC of Electrum's seeds: of standard and SegWit wallets, and of both with a second factor.

https://electrum.readthedocs.io/en/latest/seedphrase.html
"""


@cache
def _seed_words() -> dict[str, int]:
    """Return the English word list of BIP-0039 (MIT), from which wallets take their seeds: number by word."""
    text = (Path(__file__).parent / "bip39.txt").read_text("ascii")
    return {word: number for number, word in enumerate(text.split())}
