"""The review walk: shows one proposal after another on a terminal, each with its diff, and decides each at once.

Whatever ends the walk (quit, Ctrl-C, a closed terminal) ends it between two decisions, so nothing is lost and the next
walk continues where this one stopped.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

import typer
from rich.padding import Padding
from rich.text import Text

from tars_memory import capture, disk, vault
from tars_memory.curation.proposals import BESIDE, Proposal, Related
from tars_memory.curation.review import Listed, Review, UnapprovedRule, approve
from tars_memory.curation.review_note import shown
from tars_memory.doors.cli.output import ClosedOutput, clean, counted, line
from tars_memory.doors.cli.screen import console, wrapped
from tars_memory.errors import ConflictError, TarsError, UsageError, counted_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from rich.console import Console

    from tars_memory.capture.remember import Caller
    from tars_memory.curation.commit import Reviewed
    from tars_memory.doors.cli.call import Call
    from tars_memory.memory import Memory

SCISSORS = "# ---- everything below this line is ignored ----"
AGAIN = "again"
NO_LINE = "no line"
NOT_A_KEY = "that is not an answer: ? explains the keys"
NO_WORDS = "no words are left, so nothing is decided"


class Key(NamedTuple):
    """What a person may answer to a proposal.

    Attributes:
        rest: the rest of its name in the prompt, after its letter; empty: only ``?`` lists it.
        meaning: what it does.
        ops: kinds of proposals that it applies to; empty for all.
    """

    rest: str
    meaning: str
    ops: tuple[str, ...] = ()


KEYS = {
    "a": Key("ccept", "accept it as it is: nothing is replaced"),
    "o": Key("ne by one", "decide the lines of the conversation one by one", ("together",)),
    "e": Key("dit", "edit its words in $EDITOR, then accept", ("append", "replace", "fact", "create")),
    "b": Key("oth", "keep both: accept it and keep the line or fact that it names", ("replace", "fact")),
    "m": Key("emory", "keep it as a line of Memory.md and not as a fact", ("fact",)),
    "r N": Key(" replace", "accept it in place of line N, which is removed (r 1 3: of two; also e 1, s 1)"),
    "r": Key("eject", "reject it; it is not offered again"),
    "s": Key("", "accept it under another heading", ("append", "replace")),
    "l": Key("ater", "leave it for later (so does Enter)"),
    "u": Key("", "undo your last decision"),
    "q": Key("uit", "quit; your decisions so far are kept"),
}
"""All answers, in the order of the prompt."""
_MEANINGS = {
    "choose": {
        "a": Key("ll stay", "all lines stay"),
        "r N": Key(" remove", "remove line N (r 1 3: two of them)"),
        "r": Key("eject", "reject the question; it is not asked again"),
    },
    "together": {
        "a": Key("ccept all", "accept all lines: nothing is replaced"),
        "r": Key("eject all", "reject all lines; they are not offered again"),
    },
}
"""Answers with another meaning, by the kind of proposal."""
KEY_WIDTH = 7
"""Number of terminal cells before the text of a key."""


def keys_of(proposal: Proposal) -> dict[str, Key]:
    """Return the answers that a proposal takes: its prompt, the reply to ``?`` and :func:`answer_to` know these."""
    kind = "append" if proposal.op == "add_section" and proposal.text.strip() else proposal.op
    keys = {key: value for key, value in KEYS.items() if kind in (value.ops or (kind,))} | _MEANINGS.get(kind, {})
    if proposal.fact and not proposal.fact.ends:
        keys.pop("b", None)
    if not proposal.choices:
        keys.pop("r N", None)
    return keys


def offer(proposal: Proposal) -> str:
    """Return the answers to a proposal as its prompt names them."""
    named = {key: value.rest for key, value in keys_of(proposal).items() if value.rest}
    only = "r 1" if len(proposal.choices) == 1 else "r N"
    return " ".join(f"[{only if key == 'r N' else key}]{rest}" for key, rest in named.items())


def explained(screen: Console, proposal: Proposal) -> Iterator[Text]:
    """Return the answers to a proposal with what each does, a text that is longer than the line below itself."""
    for key, value in keys_of(proposal).items():
        first, *more = wrapped(screen, Text(value.meaning), KEY_WIDTH)
        yield from (Text(f"  {key}".ljust(KEY_WIDTH)).append(first[KEY_WIDTH:]), *more)


class ReviewAnswer(NamedTuple):
    """A person's answer to a proposal.

    Attributes:
        key: one of :func:`keys_of` the proposal, for ``r N`` only the letter; ``?`` to have them explained; empty for
            another text, :data:`NO_LINE` for a number that no line has.
        chosen: REFs of the lines that the proposal replaces.
    """

    key: str
    chosen: tuple[str, ...] = ()

    @property
    def decides(self) -> bool:
        """Whether the answer accepts or rejects the proposal."""
        return self.key in tuple("aesbmr")

    @property
    def rejects(self) -> bool:
        """Whether the answer rejects the proposal: ``r`` without a number."""
        return self.key == "r" and not self.chosen


def answer_to(proposal: Proposal, typed: str) -> ReviewAnswer:
    """Parse the typed answer to a proposal: a letter or its name, also full-width; an empty one is ``l``."""
    keys, lines = keys_of(proposal), proposal.choices
    typed = normalize("NFKC", typed).lower()
    typed = {key + value.rest: key for key, value in keys.items()}.get(typed, typed) or "l"
    parsed = re.fullmatch(r"([a-z?])([\d\s,]{0,99})", typed)
    if not parsed or parsed[1] not in (*keys, "?"):
        return ReviewAnswer("")
    numbers = [int(number) for number in re.findall(r"\d+", parsed[2])]
    if numbers and not (lines and parsed[1] in "esmr"):
        return ReviewAnswer("")
    if not all(0 < number <= len(lines) for number in numbers):
        return ReviewAnswer(NO_LINE)
    return ReviewAnswer(parsed[1], tuple(lines[number - 1].ref for number in numbers))


def unknown_line_reply(proposal: Proposal) -> str:
    """Return the reply to a number that no line has."""
    return f"name a line by its number (there are {counted(len(proposal.choices), 'line')})"


class ReviewOutcome(NamedTuple):
    """The outcome of an answer.

    Attributes:
        lines: sentences to show, with their style.
        done: False if the proposal still waits.
        proposal: the proposal whose decision was undone.
        notices: further notices for the person.
    """

    lines: list[Text]
    done: bool
    proposal: Proposal | None = None
    notices: Sequence[str] = ()


class Sitting:
    """A series of decisions, the last of which can be undone. It asks nothing and prints nothing.

    Args:
        memory: its undo reverses a decision.
        review: decides the proposals.
        place: returns a note and a line number as they are shown.

    Attributes:
        accepted, rejected: number of proposals so far.
    """

    def __init__(self, memory: Memory, review: Review, place: Callable[[str, int | None], str]) -> None:
        self.memory = memory
        self.review = review
        self.accepted = self.rejected = 0
        self._place = place
        self._undoable: list[tuple[str, Proposal, int]] = []
        """Decisions that can be undone: transaction, proposal, number of accepted lines."""

    def decide(
        self, proposal: Proposal, answer: ReviewAnswer, *, words: str | None = None, heading: str | None = None
    ) -> ReviewOutcome:
        """Accept or reject a proposal at once.

        Args:
            proposal: as it was shown.
            answer: an answer that :attr:`~ReviewAnswer.decides`.
            words: the person's words in place of the proposal's.
            heading: the heading to write the line below.
        """
        name, key = proposal.id, answer.key
        try:
            if answer.rejects:
                done = self.review.decide(reject=[name])
            else:
                done = self.review.decide(
                    accept=[name],
                    both=[name] if key == "b" else [],
                    lines=[name] if key == "m" else [],
                    texts={name: words} if words else {},
                    sections={name: heading} if heading else {},
                    replace={name: answer.chosen},
                )
        except ConflictError as error:
            return ReviewOutcome([Text(f"{line(error.message)}; it will be shown again", style="yellow")], done=True)
        except TarsError as error:
            return ReviewOutcome([Text(f"{line(error.message)}\n  {line(error.hint)}", style="yellow")], done=False)
        accepted = sum(result.decision == "accepted" for result in done.decided)
        if done.txn:
            self._undoable.append((done.txn, proposal, accepted))
        self.accepted += accepted
        self.rejected += len(done.decided) - accepted
        return ReviewOutcome(self._sentences(done, accepted), done=True, notices=done.notices)

    def _sentences(self, done: Reviewed, accepted: int) -> list[Text]:
        """Return a sentence for each decision."""
        if not accepted:
            return [Text("rejected", style="dim")]
        dry = " (dry run: nothing was written)" if self.memory.workspace.dry_run else ""
        texts = (line(result.reason) or f"accepted: {self._place(result.path, result.line)}" for result in done.decided)
        return [Text(text + dry, style="dim") for text in texts]

    def take_back(self) -> ReviewOutcome:
        """Undo the last decision, so that the proposal waits again."""
        if not self._undoable:
            return ReviewOutcome([Text("there is nothing to undo", style="dim")], done=False)
        txn, proposal, accepted = self._undoable.pop()
        try:
            self.memory.undo(txn)
        except TarsError as error:
            return ReviewOutcome([Text(line(error.message), style="yellow")], done=False)
        self.accepted -= accepted
        self.rejected -= len(proposal.leaves) - accepted
        return ReviewOutcome([Text(f"undone: {line(proposal.text)}", style="dim")], done=True, proposal=proposal)

    def summary(self, listed: Listed) -> str:
        """Return a sentence on the decisions so far and the number of proposals that are left."""
        left = f"{counted_lines(listed.total, 'proposal', listed.lines)} left: continue with tars-memory review"
        rest = left if listed.total else "nothing is left"
        return f"{self.accepted} accepted, {self.rejected} rejected, {rest}"


class Walk:
    """One sitting at a terminal, one question after another.

    Args:
        call: the call it answers.
        review: decides the proposals.
        limit: maximum number of proposals; None for the setting.
        expired: also show expired candidates.
    """

    def __init__(self, call: Call, review: Review, *, limit: int | None, expired: bool) -> None:
        self.call = call
        self.review = review
        self.limit = limit
        self.expired = expired
        self.sitting = Sitting(call.memory(), review, call.out.place)
        self._seen: list[str] = []
        self._apart: set[str] = set()
        """Ids of the lines of conversations that are decided one by one."""
        self._numbers: dict[str, range] = {}
        """Numbers that the lines of a proposal were shown with, by id: it keeps them when its decision is undone.
        Lines are counted, so that the total is the same when those of a conversation are decided one by one."""

    def run(self) -> int:
        """Walk until the end or until the person quits; return the exit code, 1 if nothing waits."""
        self.review.recover()
        listed = self.review.waiting(limit=self.limit, expired=self.expired)
        for notice in (*self.review.ctx.notices, *listed.notices):
            self.call.out.say(notice)
        queue, most = listed.proposals, len(listed.proposals)
        if not queue:
            self.call.out.say("nothing waits for a decision")
            return 1
        while queue:
            proposal = queue.pop(0)
            self._seen.append(proposal.id)
            self._show(proposal, self._count(proposal, queue))
            answer = self._answer(proposal)
            if answer == "q":
                break
            if answer == "o":
                self._apart |= {part.id for part in proposal.parts}
                self._numbers.pop(proposal.id)
                self._seen.remove(proposal.id)
                most += len(proposal.parts) - 1
                queue[:0] = proposal.parts
            if answer == AGAIN:
                # Something was written or undone: the rest may conflict with other lines now.
                listed = self.review.waiting(limit=0, expired=self.expired)
                waiting = [part for proposal in listed.proposals for part in apart(proposal, self._apart)]
                unseen = [proposal for proposal in waiting if proposal.id not in self._seen]
                queue = unseen[: max(0, most - len(self._seen))]
        left = self.review.waiting(limit=1, expired=self.expired)
        _print(self.call, Text("\n" + self.call.out.as_called(self.sitting.summary(left))))
        return 0

    def _count(self, proposal: Proposal, queue: Sequence[Proposal]) -> str:
        """Return the numbers of a proposal's lines and their total, as ``1-4 of 8``; ``queue`` comes behind it."""
        first = max((numbers.stop for numbers in self._numbers.values()), default=1)
        numbers = self._numbers.setdefault(proposal.id, range(first, first + len(proposal.leaves)))
        shown = sum(len(self._numbers[name]) for name in self._seen) + sum(len(other.leaves) for other in queue)
        span = f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
        return f"{span} of {max(numbers[-1], shown)}"

    def _answer(self, proposal: Proposal) -> str:
        """Ask until the proposal is decided or left.

        Returns:
            The key of an answer after which all others wait as before; else :data:`AGAIN`.
        """
        while True:
            typed = _ask(self.call, f"{offer(proposal)} [?]: ")
            answer = ReviewAnswer("q") if typed is None else answer_to(proposal, typed)
            if answer.key == NO_LINE:
                _print(self.call, Text(unknown_line_reply(proposal), style="dim"))
            elif answer.key in ("q", "l", "o"):
                return answer.key
            elif answer.key == "u":
                if self._take_back(proposal):
                    return AGAIN
            elif answer.decides:
                if self._decided(proposal, answer):
                    return answer.key if answer.rejects else AGAIN
            elif answer.key == "?":
                _print(self.call, *explained(console(self.call.out), proposal))
            else:
                _print(self.call, Text(NOT_A_KEY, style="dim"))

    def _decided(self, proposal: Proposal, answer: ReviewAnswer) -> bool:
        """Decide the proposal, after asking for words or a heading; print the outcome; False if it still waits."""
        words = heading = None
        if answer.key == "e" and (words := self._edited(proposal)) is None:
            return False
        if answer.key == "s" and not (heading := self._typed("heading: ")):
            return False
        around = capture.remember.around(heading or proposal.section, ())
        try:
            heading = heading and self.call.ask_about_secrets(heading)
            words = words and self.call.ask_about_secrets(words, *around)
        except typer.Exit:  # already reported: it waits
            return False
        outcome = self.sitting.decide(proposal, answer, words=words, heading=heading)
        self.call.notices(outcome.notices)
        _print(self.call, *outcome.lines)
        return outcome.done

    def _take_back(self, shown: Proposal) -> bool:
        """Undo the last decision while another proposal is shown; print the outcome."""
        outcome = self.sitting.take_back()
        if outcome.proposal is not None:
            self._seen = [name for name in self._seen if name not in (outcome.proposal.id, shown.id)]
            if [*self._numbers][-1:] == [shown.id]:
                del self._numbers[shown.id]  # another proposal may get this number now
        _print(self.call, *outcome.lines)
        return outcome.done

    def _edited(self, proposal: Proposal) -> str | None:
        """Return the person's words for the proposal, from the editor or else a prompt; None if there are none."""
        try:
            words = edited(self.call, proposal)
        except UsageError as error:
            _print(self.call, Text(f"{line(error.message)}; {line(error.hint)}", style="yellow"))
            return self._typed("new words: ") or None
        if words.strip():
            return words
        _print(self.call, Text(NO_WORDS, style="yellow"))
        return None

    def _typed(self, prompt: str) -> str:
        """Return what the person types after a prompt; empty for nothing or a single letter, which was meant as a key
        of the walk: ``q`` here is not a line of the memory.
        """
        typed = _ask(self.call, prompt) or ""
        is_key = len(typed) == 1 and typed.isascii()
        if not typed or is_key:
            _print(
                self.call, Text(f"{typed!r} is a key, not text: nothing is decided" if is_key else NO_WORDS, "yellow")
            )
        return "" if is_key else typed

    def _show(self, proposal: Proposal, count: str) -> None:
        """Print a proposal; ``count`` is its number and the total."""
        head = Text(f"\n{count}  ", style="bold")
        head.append(place_of(proposal), "cyan").append(f"  {line(proposal.date)}", "green")
        _print(self.call, head, *_indented(change(proposal), 2))


def apart(proposal: Proposal, names: Collection[str]) -> tuple[Proposal, ...]:
    """Return a proposal, or the lines of a conversation if one of them is decided by itself."""
    return proposal.parts if any(part.id in names for part in proposal.parts) else (proposal,)


def edited(call: Call, proposal: Proposal) -> str:
    """Return the words of a proposal as the person leaves them in the editor.

    Raises:
        UsageError: there is no editor, or it failed.
    """
    return in_editor(call, clean(proposal.text), _context(proposal))


def walk_rules(call: Call, ctx: Caller, found: Sequence[UnapprovedRule]) -> int:
    """Ask about each unapproved rule: approve it, all that are left of its vault, or none. Return the exit code."""
    approved: list[UnapprovedRule] = []
    for number, rule in enumerate(found, 1):
        if rule in approved:
            continue
        head = Text(f"\n{number} of {len(found)}  ", style="bold")
        head.append(line(call.out.place(rule.path, rule.line)), "cyan")
        head.append(f" › {line(rule.section)}" if rule.section else "", "cyan")
        head.append(f"  {line(rule.vault)}" if rule.vault else "", "magenta")
        _print(call, head, *_indented((Text(line(text)) for text in rule.text.split("\n")), 2))
        choices = "[a]pprove [A]ll that are left"
        if rule.vault:
            choices = f"[a]dd to {ctx.layout.procedural} [A]ll of {line(rule.vault)}"
        prompt = f"{choices} [l]ater [q]uit: "
        while (answer := _ask(call, prompt)) not in ("a", "A", "l", "q", "", None):
            _print(call, Text("that is not an answer: type one of the letters in brackets", style="dim"))
        if answer in ("a", "A"):
            rest = [other for other in found[number - 1 :] if other.vault == rule.vault]
            chosen = rest if answer == "A" else [rule]
            approve(ctx, chosen)
            approved += chosen
        if answer in ("q", None):
            break
    left = len(found) - len(approved)
    call.notices(call.dry_run_notice())
    _print(call, Text(f"\n{len(approved)} approved, {counted(left, 'rule')} left"))
    return 0


def _indented(texts: Iterable[Text], cells: int) -> list[Padding]:
    return [Padding(text, (0, 0, 0, cells), expand=False) for text in texts]


def _print(call: Call, *texts: Text | Padding) -> None:
    """Print texts, each on separate lines."""
    try:
        console(call.out).print(*texts, sep="\n")
    except (OSError, ValueError):
        raise ClosedOutput from None  # the terminal is gone: the decisions so far are done


def _ask(call: Call, prompt: str) -> str | None:
    """Read a line from the person; None if there will be no more."""
    call.out.flush()
    try:
        console(call.out).print(Text(prompt), end="")
        call.out.flush()
    except (OSError, ValueError):
        return None  # the terminal is gone
    return call.read_answer()


def show(call: Call, proposals: Sequence[Proposal]) -> None:
    """Print proposals on a terminal, below their note and heading, each with its id and diff."""
    in_order = sorted(proposals, key=lambda proposal: (bool(proposal.parts), proposal.target, proposal.section))
    for place, group in groupby(in_order, place_of):
        _print(call, Text(place, style="cyan"))
        for proposal in group:
            head = Text(f"  {proposal.id}  ", style="bold").append(line(proposal.date), "green")
            _print(call, head, *_indented(change(proposal), 4))


def place_of(proposal: Proposal) -> str:
    """Return the note and heading of the proposed line; for several lines say that they are of one conversation."""
    if proposal.parts:
        return f"one conversation, {counted(len(proposal.parts), 'line')}"
    return line(proposal.target) + (f" › {line(proposal.section)}" if proposal.section else "")


def change(proposal: Proposal, *, alone: bool = True) -> list[Text]:
    """Return the diff of a proposal and the context below it; for several lines those of each, below its place."""
    if not proposal.parts:
        return [*diff(proposal), *(Text(text, style="dim") for text in _context(proposal, alone=alone))]
    lines = []
    for part in proposal.parts:
        lines += [Text(f"{place_of(part)}  {part.id}", style="cyan"), *change(part._replace(why=""), alone=False)]
    return lines


def diff(proposal: Proposal) -> list[Text]:
    """Return the removed and added lines, with the words that differ highlighted."""
    old = line(shown(proposal.replaces)) if proposal.op in ("replace", "remove", "remove_section") else ""
    new = line(proposal.text) if proposal.op not in ("remove", "remove_section") else ""
    if not new and proposal.op == "add_section":
        new = f"## {line(proposal.section)}"
    lines = []
    for ended in proposal.fact.ends if proposal.fact else ():
        lines += [_highlighted("- ", line(ended.text), line(ended.becomes), "red")]
        lines += [_highlighted("+ ", line(ended.becomes), line(ended.text), "green")]
    if proposal.fact and proposal.source:
        new += f" ([[{line(proposal.source)}|{line(proposal.date)}]])"
    if old:
        lines.append(_highlighted("- ", old, new, "red"))
    if proposal.op == "create":
        rows = [row for row in clean(proposal.text).split("\n") if row.strip()]
        return [_highlighted("+ ", row, "", "green") for row in rows]
    if new:
        lines.append(_highlighted("? " if proposal.op == "choose" else "+ ", new, old, "green"))
    return lines


def _highlighted(mark: str, words: str, other: str, style: str) -> Text:
    """Return a line of the diff; the words that the ``other`` side lacks are bold."""
    text = Text(mark, style=style)
    known = set(other.casefold().split())
    for part in re.split(r"(\s+)", words):
        text.append(part, "bold" if other and part.strip() and part.casefold() not in known else None)
    return text


def _context(proposal: Proposal, *, alone: bool = True) -> list[str]:
    """Return what to show below the change: quote, remarks, numbered lines to replace, related lines, reason.

    If the proposal is not ``alone``, lines have no numbers, since an answer for several proposals replaces none, and
    those that are only linked to a related one are left out.
    """
    lines = []
    if proposal.quoted:
        lines.append(line(proposal.quoted))
    if proposal.remarks:
        lines.append(f"mind: {line(proposal.remarks)}")
    choices = proposal.choices if alone else ()
    lines += [f"{number}  {_related(choice, proposal)}" for number, choice in enumerate(choices, 1)]
    beside = (related for related in proposal.conflicts if related not in choices and (alone or not related.linked))
    lines += [f"beside: {_related(related, proposal)}" for related in beside]
    if proposal.fact:
        target, section, text = map(line, proposal.fact.instead)
        lines.append(f"or as a line of {target}{f' › {section}' if section else ''}: {text}")
    if proposal.why and proposal.why != BESIDE:
        lines.append(line(proposal.why))
    if proposal.asked_before:
        lines.append(f"asked before: you rejected “{line(proposal.asked_before)}”")
    return lines


def _related(related: Related, proposal: Proposal) -> str:
    """Return a related line with its origin."""
    return line(f"{related.text} ({related.origin(proposal.target)})")


def in_editor(
    call: Call, text: str, comments: Iterable[str], *, instead: str = "write the words here, or Enter for nothing"
) -> str:
    """Let the person edit a text in $VISUAL or $EDITOR, and return the result.

    Args:
        call: its environment names the editor.
        text: the text to begin with.
        comments: shown below :data:`SCISSORS`; they are not part of the result.
        instead: the hint where there is no editor.

    Raises:
        UsageError: there is no editor, it failed, or the result is not text, which is kept in a file then.
        UnwritableError: the result is not text, and can't be kept: the message repeats it.
    """
    words = call.editor()
    if not words:
        raise UsageError("no editor is set", f"set VISUAL or EDITOR, or {instead}")
    with tempfile.TemporaryDirectory(prefix="tars-memory-", ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "line.md")
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write("\n".join([text, "", SCISSORS, *(f"# {line(comment)}" for comment in comments)]) + "\n")
        try:
            code = subprocess.run([*words, path], check=False).returncode
        except OSError as error:
            raise UsageError(f"{words[0]} can't be started: {error.strerror}", "set VISUAL or EDITOR") from None
        if code:
            raise UsageError(f"{words[0]} ended with {code}", instead)
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                edited_text = file.read().partition(SCISSORS)[0].strip()
        except OSError:
            return ""
    try:
        vault.suspicion.check_text(edited_text, "what the editor left")
    except UsageError as error:
        store = vault.writing.store
        kept = store.keep_aside(disk.Places.of(call.env).state / "kept", f"{store.new_item()}-editor", edited_text)
        raise UsageError(error.message, f"{error.hint}; it is kept in {kept}") from None
    return edited_text
