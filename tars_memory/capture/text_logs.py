"""Read conversations in plain text and markdown, in which each turn begins with a label that names the speaker."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import pairwise, takewhile
from typing import BinaryIO, NamedTuple

from tars_memory.capture.turns import YEARS, Draft, Transcript, Unknown, clean, name
from tars_memory.vault.markdown.document import front_day
from tars_memory.vault.markdown.lines import fences
from tars_memory.vault.model import ROLES, Role

FORMAT = "text"

MAX_BYTES = 100_000_000
"""Maximum size of a text in bytes; it is one conversation, which is held in memory."""

MAX_LABELS = 1_000_000
"""Maximum number of lines that may begin a turn; a text with more of them is a table, not a conversation."""

_OWN = "you, me, i, q, question, ich, du, yo, moi, ik, mig, я, 我, 你, 私, あなた"
_LABELS: dict[Role, str] = {
    "user": (
        f"{_OWN}, nutzer, benutzer, utilisateur, usuario, utente, gebruiker, usuário, "
        "użytkownik, uživatel, používateľ, felhasználó, utilizator, utilizador, käyttäjä, "
        "bruker, bruger, användare, kullanıcı, χρήστησ, người dùng, pengguna, пользователь, человек, користувач, "
        "用户, 用戶, 使用者, 人类, 人類, ユーザー, ユーザ, 사용자, المستخدم, משתמש, उपयोगकर्ता, ผู้ใช้"
    ),
    "assistant": (
        "a, answer, copilot, codex, cursor, llm, assistent, assistente, asistente, ki, ia, asystent, asistent, "
        "asszisztens, asistan, yapay zeka, avustaja, assistant ia, βοηθόσ, trợ lý, asisten, ассистент, помощник, "
        "ии, асистент, помічник, 助手, 助理, 人工智能, 机器人, 機器人, アシスタント, 어시스턴트, 비서, "
        "المساعد, עוזר, सहायक, ผู้ช่วย"
    ),
    "tool": "tool result, tool output",
    "system": "system prompt",
}
WORDS = ROLES | {word: role for role, words in _LABELS.items() for word in words.split(", ")}
"""Roles by label, in ``casefold`` form; a speaker with any other label (except a model's name) is a person."""
USERS = {word for word, role in WORDS.items() if role == "user"}.difference(_OWN.split(", "))
"""Labels that only programs give to a person: who speaks beside a ``User`` under a name of its own is the model."""

_ORDINARY = (
    "note notes todo date time subject from to cc bcc re fwd ps http https ftp mailto summary result results example "
    "examples warning tip update edit hint info error attention important pros cons step title author tags source "
    "status due url link file path name id version type topic topics decision decisions agenda location where when "
    "why what who how total price output input"
)
NO_SPEAKERS = frozenset(_ORDINARY.split())
"""Labels that ordinary notes have, which name no speaker."""

_SUBJECTS = "subject objet betreff asunto oggetto onderwerp assunto ämne emne temat тема 主题 件名"
SUBJECTS = frozenset(_SUBJECTS.split())
"""How the line with the subject of a mail begins: the labelled lines around it are its header, whatever they say."""

_DAY = r"(?:\d{4}[-./][ ]?\d{1,2}[-./][ ]?\d{1,2}|\d{1,2}[-./][ ]?\d{1,2}[-./][ ]?\d{2,4})\.?"
_BLANK = r"[ \xa0\u202f]"
_WORD = r"[^\W\d_]{1,8}\.?"
_LABEL = r"(?P<name>[^\W\d_][^\s:：*_#>()\[\]|`]{0,30}(?: [^\s:：*_#>()\[\]|`]{1,30}){0,3})"


def _stamp(number: int) -> str:
    """Return a pattern for day and time, with or without brackets; the number is the suffix of its groups' names.

    After a day, words may stand before the time, and a point may part hours and minutes. A word after the time belongs
    to it if a bracket or a dash follows.
    """
    day = rf"(?P<day{number}>{_DAY})(?:T|,?{_BLANK}(?:{_WORD}{_BLANK}){{0,2}}|,)"
    point = f"(?(day{number})[:.]|:)"
    clock = rf"\d{{1,2}}{point}\d\d(?:{point}\d\d)?(?:[.,]\d{{1,6}})?"
    half = rf"(?:{_BLANK}?[AaPp]\.?{_BLANK}?[Mm](?:\.|(?!\w)))?"
    word = rf"(?:{_BLANK}{_WORD}(?=[\])]|{_BLANK}[-–—]{_BLANK}))?"
    return rf"[\[(]?(?:{day})?(?P<clock{number}>{clock}{half}(?:Z|[ ]?(?:UTC|GMT))?){word}[\])]?"


_BEFORE = rf"(?:{_stamp(1)}[ ]{{0,3}}[-–—|]?[ ]{{0,3}})?"
_AFTER = rf"(?:[ ]?[·—–-]?[ ]?(?:\([^()]{{0,60}}?[ ])??{_stamp(2)}|[ ](?P<aside>\([^()]{{1,60}}\)))?"
_COLON = r"[ \xa0\u202f]?[:：]"
"""A colon, in French after a blank, which keyboards and word processors make a narrow or non-breaking one."""
_PLAIN = re.compile(rf"{_BEFORE}{_LABEL}[ \xa0\u202f]?(?::(?=[ \xa0\t]|$)|：)[ \xa0\t]*(?P<text>.*)$")
_BOLD = re.compile(
    rf"(?:[-*+][ ])?_?{_BEFORE}(?:\*\*|__)(?:[^\w\s#*]{{1,3}}[ ])?{_LABEL}{_AFTER}"
    rf"(?:{_COLON}(?:\*\*|__)|(?:\*\*|__)_?(?:[ ]?{_stamp(3)})?(?:{_COLON}|[ ]?$))[ \xa0\t]*(?P<text>.*)$"
)
_HEADING = re.compile(
    rf"#{{1,6}}[ ]+(?:[^\w\s#*]{{1,3}}[ ])?(?:\*\*)?{_LABEL}(?:\*\*)?{_AFTER}(?:{_COLON})?(?:\*\*)?[ ]*$"
)
_DAY_LINE = re.compile(rf"[\W_]{{0,12}}(?P<day>{_DAY})[\W_]{{0,12}}$")
_QUOTED = re.compile(r"^[ ]{0,3}>[ ]?")
_TITLE = re.compile(r"#[ ]+(?P<title>\S.{0,200})$")
_MODELS = re.compile(
    r"(?:chat)?gpt[- ]?\d|claude[- ]|gemini[- ]|llama|mistral|deepseek|grok|qwen|kimi|perplexity|le chat|豆包|通义|文心"
)
_TIME = re.compile(r"(\d+)[:.](\d\d)(?:[:.](\d\d)(?!\d))?")
_HALF = re.compile(r"([AaPp])\W{0,2}[Mm]")
_VERB = re.compile(r"(?i)[ ](?:said|says|wrote|asked|replied)$")


class Label(NamedTuple):
    """A line that may begin a turn.

    Attributes:
        row: index of the line.
        style: bold, heading or plain, with ``>`` in front if it is in a quote.
        name: of the speaker.
        day: as written; None for none.
        clock: the time of day as written; None for none.
        text: the rest of the line.
    """

    row: int
    style: str
    name: str
    day: str | None
    clock: str | None
    text: str


def read(stream: BinaryIO, source: str) -> Iterator[Transcript | Unknown]:
    """Read the conversation of a text; yield an Unknown if no speakers are found."""
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        yield Unknown(source, f"a text of more than {MAX_BYTES // 1_000_000} MB is not read: split it")
        return
    rows = re.split(r"\r\n|\r|\n", _decoded(data))
    del data
    transcript = _Text(rows, source).transcript()
    why = "it is text without a conversation: at least two turns must begin with who speaks and a colon (User: …)"
    yield transcript or Unknown(source, f"{why}; a single statement is for tars-memory remember")


def _decoded(data: bytes) -> str:
    """Decode a text as UTF-8, or, if most of its non-ASCII bytes are not UTF-8, as Windows-1252."""
    text = data.decode("utf-8-sig", "replace")
    broken = text.count("\ufffd")
    if broken and broken > sum(not char.isascii() for char in text[:100_000]) - broken:
        return data.decode("cp1252", "replace")
    return text


class _Text:
    """A text, line by line.

    Attributes:
        rows: its lines.
        source: its name.
        title: from the front matter; empty if it has none.
        doubt: why it isn't certain who said what; empty if it is.
        by_program: whether a program labelled the turns, as ``User`` and with a name for the model.
        day: from the front matter or the name; None if neither has one.
        body: index of the first line after the front matter.
        labels: the lines that may begin a turn.
        order: of the numbers of a day that doesn't begin with the year.
    """

    def __init__(self, rows: Sequence[str], source: str) -> None:
        self.rows = rows
        self.source = source
        self.title = ""
        self.doubt = ""
        self.by_program = False
        self.day = day_in(re.split(r"[/\\]", source)[-1])
        self.body = self._front_matter()
        self.labels = self._labels()
        self.order = day_order(self.labels)

    def transcript(self) -> Transcript | None:
        """Return the conversation; None if there is none."""
        speakers = self._speakers()
        self.by_program = any(label in USERS for _, label in speakers)
        labels = self._turn_labels([label for label in self.labels if (label.style, label.name.casefold()) in speakers])
        if len(labels) < 2:
            return None
        draft = Draft(title=self._title(labels[0].row))
        moment: datetime | None = None
        day = self.day
        ends = [label.row for label in labels[1:]] + [len(self.rows)]
        at = self.body
        for label, end in zip(labels, ends, strict=True):
            for row in self.rows[at : label.row]:
                day = self._day_line(row) or day
            at = label.row
            moment, day = self._moment(label, moment, day)
            lines = [label.text, *self.rows[label.row + 1 : end]]
            if label.style.startswith(">"):
                if self._role_of(label) == "user":  # text below the quote is somebody else's
                    lines = [label.text, *takewhile(_QUOTED.match, lines[1:])]
                lines = [_QUOTED.sub("", line) for line in lines]
            while lines and (not lines[-1].strip() or self._is_separator(lines[-1])):
                lines.pop()
            draft.line = label.row + 1 + sum(1 for _ in takewhile(lambda line: not line.strip(), lines))
            draft.add_turn(self._role_of(label), "\n".join(lines), speaker=name(label.name), time=moment)
        if draft.start is None and self.day is not None and not any(turn.time for turn in draft.turns):
            draft.start = local(self.day, time(0, 0))
        found = draft.transcript(self.source, FORMAT)
        return found._replace(doubt=self.doubt) if found else None

    def _role_of(self, label: Label) -> Role:
        """Return the role of a label; beside a ``User`` whoever has a name is the model."""
        is_name = self.by_program and label.name.casefold() not in WORDS
        return "assistant" if is_name else _role(label.name)

    def _turn_labels(self, labels: list[Label]) -> list[Label]:
        """Return the labels that begin a turn.

        A model's answer may have lines that look like turns of the person. So in a conversation with a model, a label
        of the person only counts if it has the form that the first ones in the log have; otherwise its line stays part
        of the answer. Labels of other speakers always count.
        """
        roles = [self._role_of(label) for label in labels]
        if len(labels) < 2 or "assistant" not in roles:
            return labels
        spaced = self._is_separated(labels[1].row)
        first = next((label for label, role in zip(labels, roles, strict=True) if role == "user"), labels[0])
        by_role = first.name.casefold() in WORDS  # else the labels are names, of perhaps several people
        stamps: dict[str, tuple[bool, bool]] = {}
        kept: list[Label] = []
        answered = False
        for label, role in zip(labels, roles, strict=True):
            answered = answered or role == "assistant"
            if role == "user":
                stamp = (bool(label.day), bool(label.clock))
                alike = stamps.setdefault(label.name, stamp) == stamp and (label.name == first.name or not by_role)
                if not alike or (answered and spaced and not self._is_separated(label.row)):
                    continue
                if answered and by_role and not label.clock and self._role_of(kept[-1]) == "user":
                    kept.pop()  # of two in a row, the first may be a line of the answer before
            kept.append(label)
        left_out = len(labels) - len(kept)
        if left_out:
            self.doubt = f"lines in answers that look like turns of the person and don't count as such: {left_out}"
        elif not (spaced or first.clock):
            self.doubt = "no blank lines part its turns: a line of an answer that begins with a name counts as one"
        return kept

    def _is_separated(self, row: int) -> bool:
        """Whether a line has a blank line or a separator above it."""
        above = self.rows[row - 1] if row > self.body else ""
        return not above.strip(" \t>") or self._is_separator(above)

    def _is_separator(self, row: str) -> bool:
        """Whether a line is a separator of turns: a horizontal rule, or the day of the next turns."""
        return bool(re.fullmatch(r"[ ]{0,3}([-_*])(?:[ ]*\1){2,}[ ]*", row)) or self._day_line(row) is not None

    def _front_matter(self) -> int:
        """Set title and day from the front matter; return the index of the first line after it."""
        if not self.rows or self.rows[0].rstrip() != "---":
            return 0
        properties: dict[str, str] = {}
        for number, row in enumerate(self.rows[1:200], 1):
            if row.rstrip() == "---":
                day = front_day(properties)
                self.day = day if day is not None and day.year in YEARS else self.day
                return number + 1
            key, _, value = row.partition(":")
            value = value.strip().strip("\"'")
            if key == "title":
                self.title = name(value)
            properties.setdefault(key, value)
        self.title = ""
        return 0

    def _labels(self) -> list[Label]:
        """Return the lines that may begin a turn, outside closed fences; none if there are too many."""
        found: list[Label] = []
        row = self.body
        closes = {first: last for first, last in fences(self.rows[self.body :]) if last}
        while row < len(self.rows):
            if last := closes.get(row - self.body + 1):
                row = self.body + last
                continue
            label = _label(row, self.rows[row])
            if label is not None:
                found.append(label)
                if len(found) > MAX_LABELS:
                    return []
            row += 1
        headers = self._mail_headers(found)
        return [label for label in found if label.row not in headers and not self._opens_block(label)]

    def _mail_headers(self, labels: Sequence[Label]) -> set[int]:
        """Return the rows of headers of mails: labelled lines one below the other, each label once, one of them a
        subject; not the lines of those who speak elsewhere, or at a time: a mail may be pasted below such a line.
        """
        runs: list[list[Label]] = []
        for label in labels:
            if runs and label.row == runs[-1][-1].row + 1 and label.clock is None:
                runs[-1].append(label)
            else:
                runs.append([label])
        named = [(run, {label.name.casefold() for label in run}) for run in runs]
        mails = [run for run, names in named if len(names) == len(run) and names & SUBJECTS]
        within = Counter(label.name for run in mails for label in run)
        counts = Counter(label.name for label in labels)
        return {
            label.row
            for run in mails
            for label in run
            if counts[label.name] == within[label.name]
            and label.clock is None
            and (len(label.name) == 1 or label.name.casefold() not in WORDS)
        }

    def _opens_block(self, label: Label) -> bool:
        """Whether a line is one of code or YAML, with an indented block below it: ``try:``, ``except OSError:``.

        What a person says may be such a block, too, but a person's name begins with a capital.
        """
        below = self.rows[label.row + 1] if label.row + 1 < len(self.rows) else ""
        bare = label.style == "plain" and not label.text.strip() and label.name.casefold() not in WORDS
        return bare and label.name[0].islower() and below[:1] in (" ", "\t") and bool(below.strip())

    def _speakers(self) -> set[tuple[str, str]]:
        """Return style and name of the speakers, judged by all labels together.

        The style is the one of most lines; but if the person and a model speak in an earlier style, it is that one,
        since an answer may contain a whole conversation.
        """
        counts = Counter((label.style, label.name.casefold()) for label in self.labels)
        stamped = {(label.style, label.name.casefold()) for label in self.labels if label.clock}
        best: set[tuple[str, str]] = set()
        weight = 0
        for style in dict.fromkeys(label.style for label in self.labels):
            speakers = _of_style(style, counts, stamped)
            lines = sum(counts[speaker] for speaker in speakers)
            if {"user", "assistant"} <= {_role(label) for _, label in best}:
                break
            if lines > weight and self._is_talk(speakers, lines, counts, stamped):
                best, weight = speakers, lines
        return best

    def _is_talk(
        self,
        speakers: set[tuple[str, str]],
        lines: int,
        counts: Counter[tuple[str, str]],
        stamped: set[tuple[str, str]],
    ) -> bool:
        """Whether labels make up a conversation, rather than a note with labels in it.

        Args:
            speakers: style and name of each speaker.
            lines: number of their labels.
            counts: number of labels by style and name.
            stamped: style and name of speakers whose labels have a time.
        """
        roles = {WORDS.get(label) for _, label in speakers} - {None}
        if "user" in roles and (len(speakers) > 1 or lines > 1):
            return True
        if len(speakers) < 2 or lines < 2:
            return False
        if roles & {"assistant"} or speakers & stamped:
            return True
        written = sum(1 for row in self.rows[self.body :] if row.strip())
        return lines >= 4 and sum(counts[speaker] > 1 for speaker in speakers) > 1 and lines * 8 >= written

    def _title(self, first: int) -> str:
        """Return the title of the front matter, else the first title above the first turn, in line ``first``."""
        if self.title:
            return self.title
        for row in self.rows[self.body : first]:
            if match := _TITLE.match(row):
                return name(match["title"])
        return ""

    def _day_line(self, row: str) -> date | None:
        """Return the day of a line that has nothing else."""
        match = _DAY_LINE.fullmatch(row.strip()) if len(row) < 60 else None
        return day_of(match["day"], self.order) if match else None

    def _moment(self, label: Label, before: datetime | None, day: date | None) -> tuple[datetime | None, date | None]:
        """Return the instant of a turn (None if unknown) and its day, which later turns without a day take over.

        The day advances past midnight, when a time is more than 12 hours earlier than the one before.

        Args:
            label: of the turn.
            before: the instant of the previous turn.
            day: the day so far.
        """
        day = (day_of(label.day, self.order) if label.day else None) or day
        clock = time_of_day(label.clock) if label.clock else None
        if day is None or clock is None:
            return None, day
        zone = UTC if label.clock and label.clock.endswith(("Z", "UTC", "GMT")) else None
        moment = local(day, clock, zone)
        if moment and before and not label.day and before.date() == day and before - moment > timedelta(hours=12):
            day += timedelta(days=1)
            moment = local(day, clock, zone)
        return moment, day


def _label(row: int, line: str) -> Label | None:
    """Parse a line that may begin a turn; return None for any other line."""
    if ":" not in line and "：" not in line and "#" not in line and "**" not in line and "__" not in line:
        return None
    head, tail = line[:400], line[400:]
    quoted = _QUOTED.match(head)
    prefix = ">" if quoted else ""
    head = (head[quoted.end() :] if quoted else head).lstrip("\u200e\u200f\u202a\u202b")  # WhatsApp on an iPhone
    for style, pattern in (("heading", _HEADING), ("bold", _BOLD), ("plain", _PLAIN)):
        match = pattern.match(head)
        if match is None:
            continue
        parts = match.groupdict()
        text = parts.get("text") or ""
        day, clock = (next((parts[key + n] for n in "123" if parts.get(key + n)), None) for key in ("day", "clock"))
        words = _VERB.sub("", clean(match["name"]).strip(" .,-–—·"))
        is_role = words.casefold() in WORDS or _MODELS.match(words.casefold())
        if words and (is_role or not parts.get("aside")):
            return Label(row, prefix + style, words, day, clock, text + tail)
    return None


def _of_style(style: str, counts: Counter[tuple[str, str]], stamped: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return style and name of all possible speakers in lines of one style.

    They are those whose label is a role, and, depending on the style, those who speak more than once or with a time.
    """
    named = [speaker for speaker in counts if speaker[0] == style and speaker[1] not in NO_SPEAKERS]
    known = {speaker for speaker in named if speaker[1] in WORDS}
    if style.endswith("heading"):
        return known | {speaker for speaker in named if known and counts[speaker] > 1}
    return known | {speaker for speaker in named if speaker in stamped or counts[speaker] > 1 or style.endswith("bold")}


def _role(label: str) -> Role:
    """Return the role of a label: a known word, the name of a model, or else a person's name."""
    word = label.casefold()
    if word in WORDS:
        return WORDS[word]
    return "assistant" if _MODELS.match(word) else "user"


def day_order(labels: Sequence[Label]) -> str:
    """Return the order of day, month and year in dates that don't begin with four digits. It is the order in which most
    of the dates exist, then the one in which they go back least often, then the one in which they fill the fewest
    months. If several orders remain, the day comes first, but the month in dates with slashes beside times with a.m. or
    p.m.
    """
    written = list(dict.fromkeys(label.day for label in labels if label.day and not label.day[:4].isdigit()))
    american = any(label.day and "/" in label.day and _HALF.search(label.clock or "") for label in labels)

    def doubts(order: str) -> tuple[int, int, int]:
        days = [day for text in written if (day := day_of(text, order))]
        back = sum(later < earlier for earlier, later in pairwise(days))
        return len(written) - len(days), back, len({(day.year, day.month) for day in days})

    return min(("mdy", "dmy", "ymd") if american else ("dmy", "mdy", "ymd"), key=doubts)


def day_of(text: str, order: str = "dmy") -> date | None:
    """Parse a day written in numbers: year, month and day if it begins with four digits, else in the order given."""
    numbers = dict(zip("ymd" if text[:4].isdigit() else order, re.findall(r"\d+", text), strict=True))
    year = int(numbers["y"])
    try:
        found = date(year + 2000 if year < 100 else year, int(numbers["m"]), int(numbers["d"]))
    except ValueError:
        return None
    return found if found.year in YEARS else None


def day_in(text: str) -> date | None:
    """Return the first day in ISO form in the first 300 characters of a text."""
    match = re.search(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)", text[:300])
    return day_of(match[0]) if match else None


def time_of_day(text: str) -> time | None:
    """Parse a time of day, with a.m. or p.m. if present; fractions of a second are dropped."""
    hour, minute, second = (int(part or 0) for part in _TIME.match(text).groups())  # type: ignore[union-attr]
    if half := _HALF.search(text):
        hour = hour % 12 + (12 if half[1] in "pP" else 0)
    try:
        return time(hour, minute, second)
    except ValueError:
        return None


def local(day: date, clock: time, zone: tzinfo | None = None) -> datetime | None:
    """Return an instant in the local zone; None outside the range of the calendar."""
    try:
        return datetime.combine(day, clock, zone).astimezone()
    except (OverflowError, OSError, ValueError):
        return None
