"""Shapes of text that grow: what a command costs if a note, or a conversation, holds ever more of one thing.

Text comes from people, from other programs and from whoever wants to keep them busy: no text may cost more than its
length. Each command runs in a process of its own, forked from one that has imported everything, so that what is
measured is the work: CPU seconds, user and system, as the kernel tells them.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

from bench.measure import table

SIZES = (250_000, 1_000_000)
"""Bytes of the text."""
MOST_SECONDS = 2.0
"""CPU of a command for the larger one."""
MOST_EXPONENT = 1.2
NOISE = 0.4
"""Seconds below which a growth is not told: it would be that of the machine."""
GIVEN_UP = 12.0
"""Seconds of CPU after which a command is ended."""

NOW = "2026-11-21T14:30:00+00:00"
NEEDLE = "the needle lies in the haystack"

Shape = Callable[[int], str]


def again(text: str) -> Shape:
    """The same characters over and over."""
    return lambda size: text * (size // len(text.encode()))


def numbered(form: str, end: str = "\n") -> Shape:
    """Lines with a number each."""

    def made(size: int) -> str:
        parts, length = [], 0
        for number in count():
            part = form.format(number) + end
            length += len(part.encode())
            if length > size:
                return "".join(parts)
            parts.append(part)
        return ""

    return made


def deep(mark: str, step: str, most: int = 20_000) -> Shape:
    """Each line nested in the one before, so deep that the whole is of that size."""

    def made(size: int) -> str:
        lines, length = [], 0
        for number in range(most):
            line = step * number + mark + f"level {number}\n"
            length += len(line)
            if length > size:
                break
            lines.append(line)
        return "".join(lines)

    return made


def front(inner: Shape, head: str = "") -> Shape:
    """As front matter."""
    return lambda size: f"---\n{head}{inner(size)}\n---\n"


def words(size: int) -> Iterator[str]:
    """Words that are all different, of so many bytes in all."""
    letters = "abdeghiklmnoprstuvz"
    for number in range(size // 9):
        word, rest = "", number * 7_919 + 104_729
        while len(word) < 8:
            word += letters[rest % 19]
            rest = rest // 19 + 31
        yield word


def prose(size: int) -> str:
    """Paragraphs of different words."""
    made = iter(words(size))
    return "\n\n".join(iter(lambda: " ".join(islice(made, 40)), "")) + "\n"


BLANKS = {
    f"{name}, {where}": (
        lambda size, form=form, blank=blank: (
            form.replace("{}", blank * (size // len(blank.encode()) // form.count("{}"))) + "\n"
        )
    )
    for name, blank in (("spaces", " "), ("tabs", "\t"), ("no-break spaces", "\xa0"), ("mixed blanks", " \t"))
    for where, form in (
        ("within", "- one{}two"),
        ("leading", "{}one"),
        ("trailing", "- one{}"),
        ("in a heading", "## one{}two"),
        ("in a heading, trailing", "## one{}"),
        ("behind a mark", "-{}two"),
        ("behind a quote", ">{}two"),
        ("in a table", "| a | b |\n| --- | --- |\n| one{}| two |"),
        ("before an id", "- one{}^abc"),
        ("behind a field", "- lives in::{}Cork"),
        ("in a date", "- one [since::{}2026-01-01]"),
        ("in a link", "- [[one{}|two]] [one{}](two{})"),
        ("in a tag", "- [extracted]{}one"),
        ("in a fence", "```{}\none{}\n```"),
        ("in a comment", "<!--{}-->"),
        ("in properties", "---\nkey:{}value{}\n---\n"),
    )
}

BLOCKS: dict[str, Shape] = {
    "conflict marks <": again("<<<<<<< HEAD\n"),
    "conflict marks < alone": again("<<<<<<< \n"),
    "conflict marks =": again("=======\n"),
    "conflict marks >": again(">>>>>>> b\n"),
    "conflict marks |": again("||||||| c\n"),
    "conflict marks < =": again("<<<<<<< a\n=======\n"),
    "conflicts": again("<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n"),
    "nested bullets": deep("- ", "  ", 1_500),
    "nested bullets, one line": again("- "),
    "nested bullets, deep": deep("- ", " "),
    "nested bullets, tabs": deep("- ", "\t"),
    "nested numbers": deep("1. ", "   "),
    "nested numbers, one line": again("1. "),
    "nested quotes": deep("> a", ">"),
    "nested quotes, one line": again(">"),
    "nested quotes, spaced": again("> "),
    "quotes and bullets": again("> - "),
    "quotes": numbered("> quote {}"),
    "many bullets": numbered("- the bullet {} tells of something"),
    "bullets, all different": lambda size: "".join(f"- {word} {word[::-1]} of\n" for word in words(size // 2)),
    "bullets, same": again("- the same words again\n"),
    "empty bullets": again("-\n"),
    "empty bullets, spaced": again("- \n\n"),
    "tasks": numbered("- [ ] task {}"),
    "numbers": numbered("{}. item"),
    "paragraphs": numbered("Paragraph {}.\n"),
    "one paragraph": numbered("line {} of it"),
    "paragraphs of words": prose,
    "headings": numbered("## Heading {}"),
    "headings with text": numbered("## Heading {}\n\ntext"),
    "headings, same": again("## Same\n"),
    "headings of levels": again("# a\n## b\n### c\n#### d\n##### e\n###### f\n"),
    "headings, empty": again("#\n"),
    "setext headings": numbered("Heading {}\n---\n"),
    "rules": again("---\n\n"),
    "rules of one line": again("- - "),
    "rule of one line": again("-"),
    "rule of stars": again("* "),
    "blank lines": again("\n"),
    "blank lines, spaced": again("  \n"),
    "carriage returns": again("\r"),
    "lines of one letter": again("a\n"),
    "fences": again("```\na\n```\n"),
    "fences, open": numbered("```` a {}\n```"),
    "backticks at line start": again("```"),
    "indented code": again("    code\n\n"),
    "tables": numbered("| a {} | b |\n| --- | --- |\n| c | d |\n"),
    "table rows": lambda size: "| a | b |\n| - | - |\n" + again("| c | d |\n")(size),
    "table columns": lambda size: (
        again("|a")(size // 3) + "|\n" + again("|-")(size // 3) + "|\n" + again("|b")(size // 3)
    ),
    "pipes": again("|"),
    "table heads": again("a|b\n-|-\n\n"),
    "html": again("<div>\n\n"),
    "html, one block": again("<div>\n"),
    "html comments": again("<!-- a -->\n\n"),
    "html comments, one line": again("<!-- a -->"),
    "html comments, open": again("<!--"),
    "html comments, open lines": again("<!-- a\n\n"),
    "declarations": again("<!A\n\n"),
    "comments": again("%% a %%\n\n"),
    "comments, lines": again("%%\na\n%%\n"),
    "comments, within": again("a %% b\n"),
    "comments, within, apart": again("a %% b\n\n"),
    "comments, nested": again("- a %% b\n"),
    "percent signs": again("%%"),
    "percent sign each": again("%% "),
    "formulas": again("$$ a\n"),
    "formulas, apart": again("a\n$$ a\n\n"),
    "formulas, nested": again("- $$ a\n"),
    "dollars": again("$"),
    "references": numbered("[^{}]: text"),
    "references, same": again("[^1]: text\n"),
    "definitions": numbered("[a{}]: b"),
    "definitions, open": again("[a]:\n"),
    "definitions, open title": again("[a]: b 'c\n"),
    "definitions in one paragraph": again("[a]: b\n"),
    "definition of one line": again("[a]: b "),
    "callouts": again("> [!note] a\n> b\n\n"),
}

MARKS: dict[str, Shape] = {
    f"marks {mark!r}": again(mark)
    for mark in (
        *(
            "[a](",
            "[[",
            "[[a|",
            "[[a#",
            "[[a#^",
            "![",
            "![[",
            "[",
            "]",
            "](",
            "[]",
            "[a]",
            "(",
            "()",
            "((",
            "([[",
            "*",
            "*a",
            "**a",
            "_",
            "_a",
            "a_",
        ),
        *(
            "`",
            "` ",
            "`` ` ",
            "<",
            "<a",
            "<a ",
            "</",
            "<!",
            "<|",
            "<!--",
            "-->",
            "%%",
            "$",
            "$$",
            "~~",
            "==",
            "==a",
            "\\",
            "\\[",
            "&",
            "&amp;",
            "{",
            "{{",
            "}",
        ),
        *(
            "#",
            "#tag",
            "#tag ",
            "#a/",
            " #1",
            "^id",
            " ^id",
            "^",
            "a^",
            "key:: v ",
            "::",
            "a::",
            "[since:: ",
            "[since:: 2026-01-01] ",
            "[until::2026-01-01]",
        ),
        *(
            "(since:: ",
            "[by:: ",
            "[by:: a] ",
            "said by:: ",
            "quote:: ",
            "2026-01-01 ",
            "2026-01-01",
            "14:30 ",
            "14:30",
            "[extracted] ",
            "[[2026-11-21]]",
        ),
        *(
            "([[2026-11-21#^d-abc|2026-11-21]]) ",
            "'",
            '"',
            "''",
            '"a',
            "“",
            "«a",
            ".",
            "...",
            ". ",
            "? ",
            "!",
            ",",
            "-",
            "--",
            "->",
            "/",
            "//",
            "a/",
            "../",
            "@",
            "a@",
        ),
        *(
            "a@b.",
            "http://",
            "https://a.b/ ",
            "www.",
            "a.b",
            "=",
            "a=",
            "a=b&",
            ":",
            "a:",
            "a: ",
            ";",
            "+",
            "1",
            "1 ",
            "12 ",
            "1-",
            "1.",
            "0x",
            "é",
            "e\u0301",
            "\u0301",
        ),
        *(
            "\u200d",
            "👩\u200d",
            "👍",
            "\ufe0f",
            "漢",
            "漢字かな",
            "漢 ",
            "한",
            "ا",
            "ไ",
            "\u200b",
            "\xad",
            "\U000e0041",
            "\x00",
            "\x1b[",
            "\x7f",
            "\u2028",
        ),
        *(
            "a",
            "A",
            "Aa",
            "aB",
            "a ",
            "ab ",
            "a-",
            "a'",
            "Abc ",
            "I ",
            "the ",
            "not ",
            "password ",
            "password: ",
            "password=",
            "key ",
            "token ",
            "sk-",
            "ghp_",
            "AKIA",
        ),
        *(
            "Bearer ",
            "eyJ",
            "eyJ.",
            "-----BEGIN ",
            "-----BEGIN PRIVATE KEY-----",
            "MIIE",
            "AAAA",
            "ab12CD34",
            "4111 1111 ",
            "4111",
            "abandon ",
            "WIFI:S:",
            "user:pass@",
        ),
        *(
            "PIN 1234 ",
            "code: 123456 ",
            "remember that ",
            "ignore previous ",
            "[x] ",
            "[ ]",
            "- ",
            "› ",
            "› a",
            "✅ ",
            "✅ 2026-01-01 ",
            "[1] ",
            "[1] 14:30 **Anna:** ",
        ),
    )
}

PROPERTIES: dict[str, Shape] = {
    "properties": front(numbered("key{}: value")),
    "property, same": front(again("key: value\n")),
    "aliases": front(numbered("  - alias {}"), "aliases:\n"),
    "alias of one line": front(numbered("alias {}", ", "), "aliases: "),
    "aliases, flow": lambda size: front(numbered("alias {}", ", "), "aliases: [")(size).replace("\n---\n", "]\n---\n"),
    "tags": front(numbered("  - tag{}"), "tags:\n"),
    "list items": front(numbered("  - item {}"), "key:\n"),
    "flow, deep": front(again("["), "key: "),
    "flow, deep maps": front(again("{a: "), "key: "),
    "anchors": front(numbered("a{0}: &a{0} [b]")),
    "front matter, never closed": lambda size: "---\n" + numbered("key{}: value")(size),
    "front matter, deep": front(deep("a:\n#", " ", 20_000)),
    "front matter, quotes": front(again("'"), "key: "),
    "front matter, folded": front(again("  a\n"), "key: >\n"),
    "tags in the text": numbered("#tag{}", " "),
    "links in the text": numbered("[[note {}]]", " "),
    "links, lines": numbered("- [[note {}]]"),
    "links, same": again("- [[Memory]]\n"),
    "links, markdown": numbered("- [a](note{}.md)"),
    "ids": numbered("- bullet ^id-{}"),
    "ids, same": again("- bullet ^abc\n"),
    "ids in a chain": again("^abc "),
    "fields": numbered("key{}:: value"),
    "fields, same": again("key:: value\n"),
    "fields, inline": numbered("[key{}:: value]", " "),
    "dates": again("- 2026-01-01 happened\n"),
    "ends": again("- true for now [until:: 2027-01-01]\n"),
    "ended": again("- was true [until:: 2020-01-01]\n"),
    "times": again("- 14:30 happened\n"),
    "times, numbered": numbered("- 14:30 happened {}"),
    "extracted": numbered("- 14:30 [extracted] the person likes tea number {0} ^d-{0:06d}"),
    "extracted, all different": lambda size: "".join(
        f"- 14:30 [extracted] {word} likes {word[::-1]} ^d-{word}\n" for word in words(size // 6)
    ),
    "extracted, same": again("- 14:30 [extracted] I like tea\n"),
    "promoted": numbered("- 14:30 [promoted] the person likes tea number {0} ^d-{0:06d}"),
    "promoted lines": numbered("- the person likes tea number {0} ([[2026-11-20#^d-{0:06d}|2026-11-20]])"),
    "replaced": numbered("- new words {0}\n  - replaced:: old words {0}"),
    "corrections": numbered("- 2026-11-20 10:00 do it otherwise {}\n  - question:: why {}?".replace("{}", "{0}")),
    "decisions": numbered("## Decisions\n\n- 2026-11-{0} we take number {0}\n"),
    "decisions in one": lambda size: "## Decisions\n\n" + numbered("- 2026-11-01 we take number {}")(size),
    "secrets": numbered("- password: Tr0ub4dor{}x9"),
    "questions": numbered("- What is number {}?"),
    "facts of one subject": lambda size: "## Anna\n\n" + numbered("- likes:: tea {}")(size),
    "facts of one predicate": lambda size: "## Anna\n\n" + numbered("- lives in:: Cork {} [since:: 2026-01-01]")(size),
    "facts, ended": lambda size: (
        "## Anna\n\n" + numbered("- lives in:: Cork {} [since:: 2025-01-01] [until:: 2025-02-01]")(size)
    ),
    "facts, same": lambda size: "## Anna\n\n" + again("- likes:: tea\n")(size),
    "facts of many subjects": numbered("## Anna {}\n\n- likes:: tea\n"),
    "facts of one subject again": again("## Anna\n\n- likes:: tea\n\n"),
    "review items": numbered("- [ ] I like tea {0} ^r-{0:08d}\n  - to:: Memory.md › Notes\n"),
    "review items, ticked": numbered("- [x] I like tea {0} ^r-{0:08d}\n  - to:: Memory.md › Notes\n"),
    "turns": numbered("> [{0}] 14:30 **Anna:** I like tea {0}"),
    "session facts": lambda size: (
        "## Facts\n\n"
        + numbered(
            '- likes tea {0} ([[2026-11-20#^d-{0:06d}|2026-11-20]])\n  - quote:: "I like tea {0}"\n  - said by:: Anna, turn {0}'  # noqa: E501
        )(size)
    ),
}

NOTES: dict[str, Shape] = BLANKS | BLOCKS | MARKS | PROPERTIES


def _chat(lines: Iterable[str]) -> str:
    return "".join(
        json.dumps({"role": "user" if number % 2 == 0 else "assistant", "content": line}) + "\n"
        for number, line in enumerate(lines)
    )


def chat(form: str, other: str = "I see.") -> Shape:
    """Turns with a number each, and the same answer to each."""

    def made(size: int) -> str:
        most = size // len(_chat([form.format(10_000), other]).encode()) + 1
        return _chat(line for number in range(most) for line in (form.format(number), other))

    return made


def message(inner: Shape) -> Shape:
    """One long message among short ones."""
    return lambda size: _chat(["Hello there.", "Hi.", inner(size), "I see.", "I like tea.", "Good.", "Bye."])


STATEMENTS: dict[str, Shape] = {
    "short statements": chat("I like tea number {}."),
    "statements, all different": lambda size: _chat(
        line for word in words(size // 12) for line in (f"I like {word}.", "Good.")
    ),
    "statements, same": chat("I like oolong tea."),
    "statements of facts": chat("I live in Cork{}."),
    "statements, replaced": chat("I moved to Cork{}, I no longer live there."),
    "statements, corrected": chat("No, that is wrong, it is number {}."),
    "questions": chat("What is number {}?"),
    "answers": chat("Yes.", "Do you like tea number five?"),
    "decisions": chat("We decided to take number {}."),
    "rules": chat("Always answer with number {}."),
    "names": chat("My sister Anna{} lives in Cork."),
    "dates": chat("On 2026-03-0{0} I met Anna, last Tuesday."),
    "one message of statements": message(numbered("I like tea number {}.", " ")),
    "one message of statements, lines": message(numbered("I like tea number {}.")),
    "one message of words": message(prose),
    "one message of the same": message(again("I like oolong tea. ")),
    "text log": numbered("**Anna:** I like tea number {}\n\n**Ben:** I see\n"),
    "text log, plain": numbered("Anna: I like tea number {}\nBen: I see"),
    "text log, many speakers": numbered("Anna{0}: I like tea\nAnna{0}: and coffee"),
    "text log, times": numbered("[14:30] Anna: I like tea {}\n[14:31] Ben: I see"),
    "text log, never a turn": numbered("I like tea {}"),
}
LINES = {name: BLANKS[name] for name in BLANKS if "within" in name or "leading" in name or "trailing" in name}
CONVERSATIONS: dict[str, Shape] = (
    STATEMENTS
    | {f"message: {name}": message(shape) for name, shape in (LINES | MARKS).items()}
    | {
        f"message: {name}": message(BLOCKS[name])
        for name in ("blank lines", "fences", "fences, open", "quotes", "many bullets")
    }
    | {
        f"log: {name}": (lambda size, shape=shape: "User: I like tea.\n\nAssistant: " + shape(size))
        for name, shape in (LINES | MARKS).items()
    }
)


class Command(NamedTuple):
    """What is run, and on what text."""

    argv: Sequence[str]
    stdin: str = ""


def event(name: str, **more: str) -> str:
    return json.dumps({"hook_event_name": name, "session_id": "a", **more})


READERS = {
    "search": Command(["search", "needle haystack"]),
    "search again": Command(["search", "lies needle -zebra", "--json"]),
    "context": Command(["context"]),
    "context QUERY": Command(["context", "where is the needle"]),
    "status": Command(["status"]),
    "hook start": Command(["hook"], event("SessionStart")),
    "hook prompt": Command(["hook"], event("UserPromptSubmit", prompt="where does the needle lie?")),
}
MEMORY = READERS | {
    "search, the text": Command(["search", "one two bullet level"]),
    "list": Command(["list"]),
    "links": Command(["links", "Memory"]),
    "facts": Command(["facts"]),
    "review": Command(["review", "--list"]),
    "tidy": Command(["tidy"]),
    "doctor": Command(["doctor"]),
    "verify": Command(["verify"]),
    "reindex": Command(["reindex", "--full", "--no-embed"]),
    "remember": Command(["remember", "a new thing"]),
    "edit": Command(["edit", NEEDLE, "the needle was found"]),
    "undo": Command(["undo"]),
    "history": Command(["history"]),
    "forget": Command(["forget", NEEDLE]),
}
DAILY = {
    "search": READERS["search"],
    "context": READERS["context"],
    "log": Command(["log", "a new line"]),
    "log, shown": Command(["log"]),
    "list": Command(["list", "--tier", "daily"]),
    "review": MEMORY["review"],
    "tidy": MEMORY["tidy"],
    "doctor": MEMORY["doctor"],
    "undo": MEMORY["undo"],
    "sleep": Command(["sleep"]),
}
FACTS = {
    "facts": MEMORY["facts"],
    "facts NAME": Command(["facts", "anna"]),
    "timeline": Command(["timeline", "anna"]),
    "context QUERY": Command(["context", "what does Anna like"]),
    "facts add": Command(["facts", "add", "Anna", "likes", "coffee"]),
    "facts add, single": Command(["facts", "add", "Anna", "lives in", "Dublin"]),
    "tidy": MEMORY["tidy"],
    "review": MEMORY["review"],
}
SESSION = {
    "search": READERS["search"],
    "review": MEMORY["review"],
    "tidy": MEMORY["tidy"],
    "sleep": DAILY["sleep"],
    "status": READERS["status"],
}
FEEDBACK = {
    "review": MEMORY["review"],
    "feedback": Command(["feedback", "that was wrong", "--bad"]),
}
PLACES: Mapping[str, tuple[str, Mapping[str, Command]]] = {
    "Memory.md": ("Memory.md", MEMORY),
    "the daily note": ("2026-11-21.md", DAILY),
    "Facts.md": ("Facts.md", FACTS),
    "a session": ("sessions/2026-11-20 1000 tea.md", SESSION),
    "corrections.md": ("corrections.md", FEEDBACK),
    "Review.md": ("Review.md", {"review": MEMORY["review"], "search": READERS["search"], "sleep": DAILY["sleep"]}),
}
EXTRACT = {
    "extract": Command(["extract", "--force", "--model", "none", "LOG"]),
    "review": MEMORY["review"],
    "search": READERS["search"],
    "tidy": MEMORY["tidy"],
    "sleep": DAILY["sleep"],
    "extract again": Command(["extract", "--force", "--model", "none", "LOG"]),
}


CORE = (
    *(("Memory.md", shape, ("search", "context", "hook start", "list", "remember", "undo")) for shape in (
        "spaces, within", "spaces, trailing", "conflict marks < alone", "nested bullets", "many bullets",
        "marks '[a]('",
    )),
    ("a conversation", "short statements", ("extract", "review", "tidy", "extract again")),
    ("a conversation", "one message of statements", ("extract",)),
)  # fmt: skip
"""What is measured if nothing is named (minutes): place, shape, commands. All of them take hours."""


class Cost(NamedTuple):
    """What a command took; ``code`` is None if it was ended."""

    seconds: float
    code: int | None
    said: str


def main(argv: Sequence[str], env: Mapping[str, str], stdin: str) -> Cost:
    """Run a command in a fork of this process."""
    status, usage, said = _forked(argv, env, stdin)
    code = os.waitstatus_to_exitcode(status)
    return Cost(usage.ru_utime + usage.ru_stime, None if code == -signal.SIGXCPU else code, said)


def _forked(argv: Sequence[str], env: Mapping[str, str], stdin: str) -> tuple[int, resource.struct_rusage, str]:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told:
        given.write(stdin.encode())
        given.seek(0)
        pid = os.fork()
        if not pid:
            _run(argv, env, given.fileno(), told.fileno())
        _, status, usage = os.wait4(pid, 0)
        told.seek(0)
        return status, usage, told.read(2_000).decode(errors="replace")


def _run(argv: Sequence[str], env: Mapping[str, str], given: int, told: int) -> None:
    """The child: never comes back."""
    code = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(GIVEN_UP), math.ceil(GIVEN_UP) + 5))
        for target, source in ((0, given), (1, os.open(os.devnull, os.O_WRONLY)), (2, told)):
            os.dup2(source, target)
        os.environ.clear()
        os.environ.update(env)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in ((0, "r"), (1, "w"), (2, "w")))
        sys.argv = ["tars-memory", *argv]
        from tars_memory.doors.cli.app import run

        code = run(argv)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        os.write(2, traceback.format_exc().encode())
    os._exit(code)


class Desk:
    """One vault with one text, and the state that belongs to it."""

    def __init__(self, folder: Path, path: str, text: str) -> None:
        self.vault, self.home, self.log = folder / "vault", folder / "home", folder / "log.jsonl"
        (self.vault / ".tars").mkdir(parents=True)
        (self.vault / "sessions").mkdir()
        self.put("Memory.md", "" if path == "2026-11-21.md" else f"## Notes\n\n- {NEEDLE}\n")
        if path == "LOG":
            self.log.write_text(text, encoding="utf-8")
        else:
            own = (
                f"## {'Log' if path[:1] == '2' else 'Notes'}\n\n- {NEEDLE}\n"
                if not path.startswith(("sess", "Facts", "Rev"))
                else ""
            )
            self.put(path, text + "\n\n" + own if text.startswith("---\n") else own + text + "\n")

    def put(self, path: str, text: str) -> None:
        (self.vault / path).write_text(text, encoding="utf-8", newline="")

    def cost(self, command: Command) -> Cost:
        env = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        env |= {
            "TARS_MEMORY_DIR": str(self.vault),
            "TARS_MEMORY_HOME": str(self.home),
            "HOME": str(self.home),
            "TARS_MEMORY_RECALL_MODE": "lexical",
            "TARS_MEMORY_EMBEDDING_MODEL": "none",  # a vector costs 20 ms, whatever the text is
            "TARS_NOW": NOW,
            "TARS_MEMORY_BACKGROUND": "0",
            "TARS_MEMORY_HOOK_TIMEOUT": "100",
        }
        argv = [str(self.log) if word == "LOG" else word for word in command.argv]
        return main(argv, env, command.stdin)


class Measured(NamedTuple):
    """One command on one shape."""

    place: str
    shape: str
    command: str
    costs: tuple[Cost, ...]

    @property
    def exponent(self) -> float | None:
        """How the time grows with the size; None where there is too little of it."""
        first, last = self.costs[0].seconds, self.costs[-1].seconds
        if last < NOISE or len(self.costs) < 2:
            return None
        return math.log(last / max(first, 0.02)) / math.log(SIZES[-1] / SIZES[0])

    @property
    def over(self) -> bool:
        last = self.costs[-1]
        return last.code in (None, 6, 70) or last.seconds > MOST_SECONDS or (self.exponent or 0) > MOST_EXPONENT

    @property
    def row(self) -> tuple[str, ...]:
        exponent = self.exponent
        return (
            f"{self.place}: {self.shape}",
            self.command,
            *(f"{cost.seconds:.2f}" + ("+" if cost.code is None else "") for cost in self.costs),
            "" if exponent is None else f"{exponent:.2f}",
            str(self.costs[-1].code),
            "OVER" if self.over else "ok",
        )


def cases(places: Sequence[str], only: str) -> Iterator[tuple[str, str, str, Shape, Mapping[str, Command]]]:
    """Place, path, name of the shape, shape, commands."""
    for place, (path, commands) in PLACES.items():
        for name, shape in NOTES.items():
            if (not places or place in places) and only in name:
                yield place, path, name, shape, commands
    for name, shape in CONVERSATIONS.items():
        if (not places or "a conversation" in places) and only in name:
            yield "a conversation", "LOG", name, shape, EXTRACT


def measured(
    folder: Path, places: Sequence[str] = (), only: str = "", commands: Sequence[str] = (), sizes: Sequence[int] = SIZES
) -> Iterator[Measured]:
    """Each command on each shape."""
    _import_all()
    for place, path, name, shape, known in cases(places, only):
        chosen = {command: known[command] for command in known if not commands or command in commands}
        costs: dict[str, list[Cost]] = {command: [] for command in chosen}
        for size in sizes:
            with tempfile.TemporaryDirectory(dir=folder) as home:
                desk = Desk(Path(home), path, shape(size))
                for command, how in chosen.items():
                    if not costs[command] or costs[command][-1].code is not None:
                        costs[command].append(desk.cost(how))
        for command, found in costs.items():
            yield Measured(place, name, command, tuple(found))


def report(folder: Path, only: str = "", *, every: bool = False) -> tuple[str, bool]:
    """Measure and tell; and whether every command keeps to the limits.

    Args:
        folder: for what is made.
        only: shapes whose names hold this, every place and command; empty for :data:`CORE`.
        every: all shapes.
    """
    rows, fine = [], True
    for one in measured(folder, (), only) if only or every else _core(folder):
        rows.append(one.row)
        fine = fine and not one.over
    sizes = [f"{size // 1000} kB" for size in SIZES]
    title = f"Shapes of text: CPU seconds (+: ended); limits {MOST_SECONDS} s and exponent {MOST_EXPONENT}"
    return table(title, ("place: shape", "command", *sizes, "exponent", "exit", ""), rows), fine


def _core(folder: Path) -> Iterator[Measured]:
    for place, shape, commands in CORE:
        yield from (one for one in measured(folder, [place], shape, commands) if one.shape == shape)


def _import_all() -> None:
    """Everything a command may import, so that no child pays for it."""
    import pkgutil
    from importlib import import_module

    import tars_memory

    for module in pkgutil.walk_packages(tars_memory.__path__, "tars_memory."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                import_module(module.name)
    import markdown_it  # noqa: F401
    import yaml  # noqa: F401
