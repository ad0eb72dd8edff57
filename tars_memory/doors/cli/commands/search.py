"""``search``: find passages."""

import re
import sys
from typing import TYPE_CHECKING, Any

from tars_memory import settings, vault
from tars_memory.doors import cli
from tars_memory.doors.cli.call import ABOUT, AS_OF, ENDED, TOPIC, Call, command, flag, one_of, one_only, option, word
from tars_memory.doors.cli.output import here, keep_hits, line, within
from tars_memory.errors import UsageError, VaultError, did_you_mean

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.recall.query import Hit, SearchResult

PLACES = ("cwd", "vault")
PER_NOTE = 2
"""Maximum number of hits of one note in a list for a person."""


@command(
    words=True,
    pages=True,
    examples="""
tm search what could be a present for Anna
tm search '"fountain pen"' -ink pens* tag:people path:projects/ since:2w
tm search --about Anna --topic food --where status=done
tm search dough --json | jq -r '.hits[] | "\\(.score)\\t\\(.path)"'
""",
    exits="1 nothing relevant, 4 the vault looks unmounted or emptied, 7 --mode semantic without any vector",
    answers="""
query: as asked
mode: the mode that was used: `lexical` if there is no model
hits[].rank score: 1 is the best; higher is better
hits[].path start_line end_line: relative to the vault; lines count from 1, the last one is included
hits[].tier date title headings: where and when
hits[].text: the passage, verbatim
hits[].block_id: or null
hits[].obsidian_url: empty for a conversation
abstained: true if there are no hits
stale: how many files the index is behind
[as it applies]
hits[].date_is_weak: true: the date is only the day of the file's last change
hits[].speaker answer: of a hit in a conversation: who spoke, and the beginning of the model's answer
hits[].vault: of a hit in a shared vault: its name; `path` is absolute then
hits[].explain: with `--explain`: each part of the score
hits[].fading: with `--explain`: `age` in days, `half_life` in days (0: never fades), `factor` that is left
did_you_mean: if nothing was found, or no note has a word of the query: names that you may have meant
""",
)
def search(
    call: Call,
    query: list[str] | None = word("QUERY…", 'Words, "phrases", -not, auto*, tag:x, since:2w.'),
    mode: str | None = option("--mode", "MODE", "hybrid, lexical or semantic."),
    tier: list[str] | None = option(
        "--tier", "TIER", "semantic, procedural, daily, episodic, note or talk; repeatable."
    ),
    tag: list[str] | None = option("--tag", "TAG", "Only notes or lines with this tag; repeatable."),
    path: list[str] | None = option("--path", "GLOB", "Only notes below this path; repeatable."),
    since: str | None = option("--since", "DATE", "From this day on: 2026-03-15, 2w, yesterday."),
    until: str | None = option("--until", "DATE", "Up to and including this day."),
    limit: int | None = option("--limit", "N", "At most N hits (10).", least=1, most=1000),
    where: list[str] | None = option(
        "--where", "CONDITION", "Only notes with this property: status=done, due<2026-12; repeatable."
    ),
    linked_to: list[str] | None = option("--linked-to", "NOTE", "Only notes that NOTE links to."),
    links_to: list[str] | None = option("--links-to", "NOTE", "Only notes that link to NOTE."),
    about: list[str] | None = ABOUT,
    topic: list[str] | None = TOPIC,
    ended: bool = ENDED,
    as_of: str | None = AS_OF,
    queries: bool = flag("--queries", "Read queries from stdin, one per line.", "--stdin"),
    paths: bool = flag("--paths", "Print only the notes' paths, each once."),
    full: bool = flag("--full", "Show whole passages, not one line each."),
    context: int | None = option("--context", "N", "Show N more lines before and after each hit.", least=0, most=1000),
    relative_to: str | None = option(
        "--relative-to", "PLACE", "Print paths relative to here (cwd) or to the vault (vault)."
    ),
    explain: bool = flag("--explain", "Show how each score is made up."),
) -> int:
    """Find passages by words and by meaning. Exit 1 if nothing is relevant.

    On a terminal the hits are numbered for tm open, the best one last, at most two of a note; those that say the same
    as two others, on other days, only take places that are left. In a pipe each hit is one line, path:line:text, as
    grep prints them; a fact's subject comes before it. Without a QUERY, options that narrow a search, such as --tag and
    --since, list everything that fits them, newest first.
    """
    one_of(PLACES, relative_to, "--relative-to ")
    call.out.relative_to = relative_to or ""
    one_of(settings.MODES, mode, "--mode ")
    globs = [call.note(glob, folders=True) for glob in path or ()]
    by_note = {"linked_to": linked_to, "links_to": links_to, "about": about}
    lists = {name: [call.note(value) for value in values or ()] for name, values in by_note.items()}
    lists |= {"where": where or [], "topics": topic or [], "tiers": tier or [], "tags": tag or [], "paths": globs}
    narrowing: dict[str, Any] = {name: tuple(values) for name, values in lists.items() if values}
    narrowing |= {name: day for name, day in {"since": since, "until": until}.items() if day is not None}
    options = narrowing | call.validity(as_of, ended=ended) | {"explain": explain}
    options |= {name: value for name, value in {"mode": mode, "limit": limit, "around": context}.items() if value}
    if queries:
        one_only({"QUERY": query, "--queries": queries})
        return _each_line(call, options, paths_only=paths)
    text = " ".join(query or ())
    if not text.strip() and not narrowing:
        raise UsageError("the query is empty", "for example: tars-memory search green tea")
    if call.out.screen and not paths:
        options["per_note"] = PER_NOTE
    result = _ask(call, text, options)
    if narrowing and text.strip() and not (result.hits or result.stale or _ask(call, "", options).hits):
        result.notices.append("no note fits the options, whatever the query")
    keep_hits(call.workspace.state, result.hits, terminal=call.out.stdout.isatty())
    return _answer(call, text, result, paths_only=paths, full=full, wanted=limit is not None)


def _ask(call: Call, text: str, options: dict[str, Any]) -> "SearchResult":
    """Search; paths in the query's ``path:`` filters may be relative to the current folder."""
    query = text
    if "path:" in text:

        def relative_to_vault(match: "re.Match[str]") -> str:
            given = match[2].strip('"')
            path = call.note(given, folders=True)
            return match[0] if path == given else f'{match[1]}path:"{path}"' if path else ""

        query = re.sub(r'(?<!\S)(-?)path:("[^"]*"|\S+)', relative_to_vault, text)
    memory = call.memory()
    if (progress := call.out.progress()) is not None:
        progress("searching", 0, 0)
    result = memory.search(query, **options)
    result.query = text
    return result


def _each_line(call: Call, options: dict[str, Any], *, paths_only: bool) -> int:
    """Answer each line of stdin at once; return exit code 0 if any query had a hit."""
    memory = call.memory()
    codes: list[int] = []
    raw = b""
    for raw in sys.stdin.buffer:
        text = raw.decode("utf-8", "surrogateescape").rstrip("\r\n").removeprefix("\ufeff")
        try:
            result = _ask(call, text, options) if text.strip() else None
            why = "the query is empty"
        except UsageError as error:
            if not _is_wrong(text, memory.workspace.now().date()):
                raise  # an option is wrong, whatever the lines are
            result, why = None, error.message
            codes.append(error.exit_code)
        if result is not None:
            codes.append(_answer(call, text, result, paths_only=paths_only, one_of_many=True))
        elif call.out.json:
            nothing: dict[str, Any] = {
                "query": text,
                "mode": options.get("mode") or "hybrid",
                "hits": [],
                "abstained": True,
            }
            call.out.record({**nothing, "stale": 0, "notices": [why]}, lines=True)
        elif text.strip():
            call.out.say(f"{line(text)[:80]!r}: {why}")
        if not call.out.json:
            call.out.data("")  # an empty line ends each answer
        call.out.flush()
    if not raw:
        call.out.say("nothing came on stdin")
    return 0 if 0 in codes else max(codes, default=1)


def _is_wrong(text: str, today: "date") -> bool:
    """Return whether the query itself can't be parsed: it names a date or a tier that doesn't exist."""
    from tars_memory.recall.query import parse

    try:
        parse(text, today)
    except UsageError:
        return True
    return False


def _answer(
    call: Call,
    text: str,
    result: "SearchResult",
    *,
    paths_only: bool,
    full: bool = False,
    wanted: bool = True,
    one_of_many: bool = False,
) -> int:
    """Print one result; return 0 if it has hits, else 1, or 4 if the vault may not be there.

    Args:
        call: the call.
        text: the query as it was typed.
        result: the result.
        paths_only: print only the paths of notes.
        full: on a terminal show whole passages.
        wanted: the person chose the number of hits.
        one_of_many: there are other queries.
    """
    masked = [MASKED] if not result.hits and vault.secrets.find(text) else []
    if not call.interactive:
        call.out.notes = None  # the index is masked note by note; a person's hits are as in the notes
    answered = call.answered(result, result.notices, masked, lines=one_of_many)
    if not result.hits:
        _say_nothing(call, text, result, one_of_many=one_of_many)
    elif paths_only and not answered:
        for path in dict.fromkeys(hit.path for hit in result.hits):
            call.out.data(call.out.path(path))
    elif not answered:
        if result.did_you_mean:
            call.out.say(suggestion(result))
        _print_hits(call, result, full=full, wanted=wanted)
    return 0 if result.hits else VaultError.exit_code if result.unmounted else 1


MASKED = "passwords and keys are masked in the index and can't be searched for: search for the words around them"
"""The notice to whoever searches for a credential, and finds nothing."""


def _print_hits(call: Call, result: "SearchResult", *, full: bool, wanted: bool) -> None:
    """Print hits: on a terminal by :func:`screen.show_hits`, elsewhere as ``path:line:text``."""
    if call.out.screen:
        if not call.out.relative_to and within(call.out.root, here()) is None:
            call.out.relative_to = "vault"  # short, and every command takes it
        cli.screen.show_hits(call.out, result, full=full, wanted=wanted)
        return
    for hit in result.hits:
        number, words = hit.best_line
        shared = f"[{line(hit.vault)}] " if hit.vault else ""
        if hit.around and hit.rank > 1:
            call.out.data("--")  # as grep and rg separate and mark lines around a match
        for at, text in hit.beside or [(number, words)]:
            if at == number and (not hit.places or text.strip() == words):  # a turn's lines are one line of its log
                call.out.data(f"{call.out.place(hit.path, number)}:{shared}{_subject(hit, words)}{line(words)}")
            else:
                call.out.data(f"{call.out.place(hit.path, None)}-{at}-{line(text)}")
        if hit.explain:
            call.out.say_always(f"{call.out.place(hit.path, number)}: {hit.account}")


def _subject(hit: "Hit", words: str) -> str:
    """Return the subject of a fact to print before its words: the heading above it; empty for another line."""
    note = hit.path.rpartition("/")[2]
    is_fact = hit.tier == vault.model.Tier.SEMANTIC and note == vault.layout.Layout.facts and "::" in words
    return f"{line(hit.headings[-1])} › " if is_fact and hit.headings else ""


def _say_nothing(call: Call, text: str, result: "SearchResult", *, one_of_many: bool) -> None:
    """Print that nothing was found; if parts of the vault are not read yet, only that nothing was found so far."""
    about = f" for {line(text)[:80]!r}" if one_of_many else ""
    if result.did_you_mean:
        call.out.say(f"nothing relevant{about}; {suggestion(result)}")
    elif result.stale:  # a notice says by how much
        call.out.say(f"nothing found so far{about}")
    else:
        excluded = ", ".join(repr(line(word)) for word in result.parsed.negations)
        without = f"; what contains {excluded} was left out" if excluded else ""
        call.out.say(f"nothing relevant{about}{without}{'' if about else call.unsearched_projects()}")


def suggestion(result: "SearchResult") -> str:
    """Return the question "did you mean …" with the names that the query may misspell."""
    return did_you_mean([line(name) for name in result.did_you_mean])
