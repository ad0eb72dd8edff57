"""The walk: one proposal after another on a terminal, each with its diff, each decided at once.

Whatever ends the walk (quit, Ctrl-C, a closed terminal) ends it between two decisions, so nothing is lost and the next
one goes on where this one stopped.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from rich.padding import Padding
from rich.text import Text

from tars_memory import vault
from tars_memory.curation.proposals import BESIDE, Proposal, Related
from tars_memory.curation.review import Review, Reviewed, UnapprovedRule, approve
from tars_memory.curation.review_note import shown
from tars_memory.disk import Places
from tars_memory.doors.cli.output import ClosedOutput, clean, counted, line
from tars_memory.doors.cli.screen import console
from tars_memory.errors import ConflictError, TarsError, UsageError
from tars_memory.vault.suspicion import check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.doors.cli.call import Call
    from tars_memory.memory import Memory

SCISSORS = "# ---- below this line nothing is kept ----"
QUIT, LATER, AGAIN, APART = "quit", "later", "again", "apart"
NO_LINE = "no line"
NO_WORDS = "no words are left, so nothing is decided"
KEYS = {
    "a": "accept it as it is: it is added, nothing is replaced (of a question: all its lines stay)",
    "r N": "accept it in place of line N, which goes (r 1 3: of two; also e 1, s 1)",
    "e": "edit its words in $EDITOR, then accept",
    "b": "keep both: accept it and leave the line or the fact that it names",
    "m": "keep it as a line of Memory.md and not as a fact",
    "s": "accept it under another heading",
    "r": "reject it; it is not offered again",
    "o": "decide the lines of a conversation one by one",
    "l": "leave it for later (Enter does so too)",
    "u": "take your last decision back",
    "q": "quit; what you decided is done",
}


class ReviewAnswer(NamedTuple):
    """What a person said to a proposal.

    Attributes:
        key: of :data:`KEYS`, of ``r N`` the letter alone; empty for what is none of them, :data:`NO_LINE` for a number
            that no line has.
        chosen: names (REF) of the lines that it replaces.
    """

    key: str
    chosen: tuple[str, ...] = ()

    @property
    def decides(self) -> bool:
        """Whether it accepts or rejects."""
        return self.key in tuple("aesbmr")

    @property
    def rejects(self) -> bool:
        """Whether it refuses the proposal: ``r`` without a number."""
        return self.key == "r" and not self.chosen


def answer_to(proposal: Proposal, said: str) -> ReviewAnswer:
    """Read what was typed for a proposal, also in full-width letters; nothing typed is ``l``."""
    said = normalize("NFKC", said)
    key, numbers = said[:1].lower() or "l", [each for each in re.split(r"[\s,]+", said[1:].strip()) if each]
    lines = proposal.choices
    named = [each for each in numbers if each.isdecimal() and 0 < int(each) <= len(lines)]
    if key in "esmr" and numbers != named:
        return ReviewAnswer(NO_LINE)
    known = key in "qluaesbmr" or (key == "o" and bool(proposal.parts))
    if not known or (key in "ab" and numbers):
        return ReviewAnswer("")
    return ReviewAnswer(key, tuple(lines[int(each) - 1].ref for each in named))


def no_line(proposal: Proposal) -> str:
    """What to say to a number that no line has."""
    return f"name a line by its number: {counted(len(proposal.choices), 'line')} to choose from"


class ReviewTold(NamedTuple):
    """What came of an answer.

    Attributes:
        lines: sentences to be shown, in their style.
        done: False if the proposal waits as it did.
        proposal: the one whose decision was taken back.
        notices: what the person should know beside it.
    """

    lines: list[Text]
    done: bool
    proposal: Proposal | None = None
    notices: Sequence[str] = ()


class Sitting:
    """Decisions one after another, and the last of them taken back. It asks nobody and prints nothing.

    Args:
        memory: whose undo takes a decision back.
        review: what is decided.
        place: how a note and its line are shown.

    Attributes:
        accepted, rejected: how many proposals so far.
    """

    def __init__(self, memory: Memory, review: Review, place: Callable[[str, int | None], str]) -> None:
        self.memory = memory
        self.review = review
        self.accepted = self.rejected = 0
        self._place = place
        self._last: list[tuple[str, Proposal, int]] = []

    def decide(
        self, proposal: Proposal, answer: ReviewAnswer, *, words: str | None = None, heading: str | None = None
    ) -> ReviewTold:
        """Accept or reject a proposal, at once.

        Args:
            proposal: as it was shown.
            answer: one that decides.
            words: of the person, in place of the proposal's.
            heading: below which it is to stand.
        """
        name, key = proposal.id, answer.key
        if not is_for(key, proposal):
            return ReviewTold([Text("that is nothing to do here", style="dim")], done=False)
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
            return ReviewTold([Text(f"{line(error.message)}; it will be shown again", style="yellow")], done=True)
        except TarsError as error:
            return ReviewTold([Text(f"{line(error.message)}\n  {line(error.hint)}", style="yellow")], done=False)
        accepted = sum(result.decision == "accepted" for result in done.decided)
        if done.txn:
            self._last.append((done.txn, proposal, accepted))
        self.accepted += accepted
        self.rejected += len(done.decided) - accepted
        return ReviewTold(self._sentences(done, accepted), done=True, notices=done.notices)

    def _sentences(self, done: Reviewed, accepted: int) -> list[Text]:
        if not accepted:
            return [Text("rejected", style="dim")]
        dry = " (dry run: nothing was written)" if self.memory.workspace.dry_run else ""
        told = (line(each.reason) or f"accepted: {self._place(each.path, each.line)}" for each in done.decided)
        return [Text(each + dry, style="dim") for each in told]

    def take_back(self) -> ReviewTold:
        """Take the last decision back; the proposal waits again."""
        if not self._last:
            return ReviewTold([Text("there is nothing to take back", style="dim")], done=False)
        txn, proposal, accepted = self._last.pop()
        try:
            self.memory.undo(txn)
        except TarsError as error:
            return ReviewTold([Text(line(error.message), style="yellow")], done=False)
        self.accepted -= accepted
        self.rejected -= len(proposal.each) - accepted
        return ReviewTold([Text(f"taken back: {line(proposal.text)}", style="dim")], done=True, proposal=proposal)

    def summary(self, left: int) -> str:
        """What was decided, and how much is left."""
        said = [f"{self.accepted} accepted", f"{self.rejected} rejected"]
        said.append(
            f"{counted(left, 'proposal')} left: continue with tars-memory review" if left else "nothing is left"
        )
        return ", ".join(said)


class Walk:
    """One sitting at a terminal, a question after another.

    Args:
        call: the call it answers.
        review: what is decided.
        limit: most proposals of the sitting; None for the setting.
        expired: candidates that aged, too.
    """

    def __init__(self, call: Call, review: Review, *, limit: int | None, expired: bool) -> None:
        self.call = call
        self.review = review
        self.limit = limit
        self.expired = expired
        self.sitting = Sitting(call.memory(), review, call.out.place)
        self._seen: list[str] = []
        self._apart: set[str] = set()
        """Lines of a conversation that are decided one by one."""
        self._numbers: dict[str, int] = {}
        """The place that each was shown at: one whose decision is taken back has it again."""

    def run(self) -> int:
        """Walk until the end or until the person quits; the exit code: 1 if nothing waits."""
        self.review.settle()
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
            number = self._numbers.setdefault(proposal.id, len(self._numbers) + 1)
            self._show(proposal, f"{number} of {max(number, len(self._seen) + len(queue))}")
            answer = self._answer(proposal)
            if answer == QUIT:
                break
            if answer == APART:
                self._apart |= {each.id for each in proposal.parts}
                self._numbers.pop(proposal.id)
                self._seen.remove(proposal.id)
                most += len(proposal.parts) - 1
                queue[:0] = proposal.parts
            if answer == AGAIN:
                # Something was written or taken back: what is left may be in conflict with other lines now.
                listed = self.review.waiting(limit=0, expired=self.expired)
                every = [one for each in listed.proposals for one in apart(each, self._apart)]
                queue = [each for each in every if each.id not in self._seen][: max(0, most - len(self._seen))]
        left_now = self.review.waiting(limit=1, expired=self.expired).total
        self._print(Text("\n" + self.sitting.summary(left_now)))
        return 0

    def _answer(self, proposal: Proposal) -> str:
        """What the person says to one proposal; :data:`AGAIN` if something was written or taken back."""
        while True:
            said = self._ask(f"{offer(proposal)} [?]: ")
            answer = ReviewAnswer("q") if said is None else answer_to(proposal, said)
            if answer.key == NO_LINE:
                self._print(Text(no_line(proposal), style="dim"))
            elif answer.key in _WAYS:
                return _WAYS[answer.key]
            elif answer.key == "u":
                if self._take_back(proposal):
                    return AGAIN
            elif answer.decides:
                if self._decided(proposal, answer):
                    return LATER if answer.rejects else AGAIN
            else:
                self._print(Text("\n".join(f"  {each:<3}  {text}" for each, text in KEYS.items())))

    def _decided(self, proposal: Proposal, answer: ReviewAnswer) -> bool:
        """Do it, asking for words or a heading first; False, and said, if the proposal waits as it did."""
        words = heading = None
        if is_for(answer.key, proposal):
            if answer.key == "e" and (words := self._edited(proposal)) is None:
                return False
            if answer.key == "s" and not (heading := self._ask("heading: ")):
                return False
        told = self.sitting.decide(proposal, answer, words=words, heading=heading)
        self.call.notices(told.notices)
        for each in told.lines:
            self._print(each)
        return told.done

    def _take_back(self, shown: Proposal) -> bool:
        told = self.sitting.take_back()
        if told.proposal is not None:
            self._seen = [each for each in self._seen if each not in (told.proposal.id, shown.id)]
            if [*self._numbers][-1:] == [shown.id]:
                del self._numbers[shown.id]  # it may be another one now, in the same place
        for each in told.lines:
            self._print(each)
        return told.done

    def _edited(self, proposal: Proposal) -> str | None:
        """The person's words, or None: nothing is decided then."""
        try:
            words = edited(self.call, proposal)
        except UsageError as error:
            self._print(Text(f"{line(error.message)}; {line(error.hint)}", style="yellow"))
            words = self._ask("new words: ") or ""
        if not words.strip():
            self._print(Text(NO_WORDS, style="yellow"))
            return None
        return words

    def _show(self, proposal: Proposal, place: str) -> None:
        head = Text(f"\n{place}  ", style="bold")
        head.append(place_of(proposal), "cyan")
        head.append(f"  {line(proposal.date)}", "green")
        self._print(head)
        for each in change(proposal):
            self._print(Padding(each, (0, 0, 0, 2), expand=False))

    def _print(self, what: Text | Padding) -> None:
        _print(self.call, what)

    def _ask(self, prompt: str) -> str | None:
        return _ask(self.call, prompt)


_WAYS = {"q": QUIT, "l": LATER, "o": APART}


def apart(proposal: Proposal, names: Collection[str]) -> tuple[Proposal, ...]:
    """A proposal, or the lines of a conversation if one of them is decided by itself."""
    return proposal.parts if any(each.id in names for each in proposal.parts) else (proposal,)


def edited(call: Call, proposal: Proposal) -> str:
    """The words of a proposal as the person leaves them in the editor.

    Raises:
        UsageError: there is no editor, or it failed.
    """
    return in_editor(call, clean(proposal.text), _told(proposal))


def walk_rules(call: Call, ctx: Caller, found: Sequence[UnapprovedRule]) -> int:
    """One rule after another that nobody approved here: approve it, all that are left of its vault, or none; the exit
    code.
    """
    approved: list[UnapprovedRule] = []
    for number, rule in enumerate(found, 1):
        if rule in approved:
            continue
        head = Text(f"\n{number} of {len(found)}  ", style="bold")
        head.append(line(call.out.place(rule.path, rule.line)), "cyan")
        head.append(f" › {line(rule.section)}" if rule.section else "", "cyan")
        head.append(f"  {line(rule.vault)}" if rule.vault else "", "magenta")
        _print(call, head)
        for each in rule.text.split("\n"):
            _print(call, Padding(Text(line(each)), (0, 0, 0, 2), expand=False))
        said: str | None = "?"
        while said not in ("a", "A", "l", "q", "", None):
            here = f"[a]dd to {ctx.layout.procedural} [A]ll of {line(rule.vault)}"
            said = _ask(call, f"{here if rule.vault else '[a]pprove [A]ll that are left'} [l]ater [q]uit [?]: ")
        if said in ("a", "A"):
            rest = [each for each in found[number - 1 :] if each.vault == rule.vault]
            chosen = rest if said == "A" else [rule]
            approve(ctx, chosen)
            approved += chosen
        if said in ("q", None):
            break
    left = len(found) - len(approved)
    call.notices(call.dry())
    _print(call, Text(f"\n{len(approved)} approved, {counted(left, 'rule')} left"))
    return 0


def _print(call: Call, what: Text | Padding) -> None:
    try:
        console(call.out).print(what)
    except (OSError, ValueError):
        raise ClosedOutput from None  # the terminal is gone: what was decided is done


def _ask(call: Call, prompt: str) -> str | None:
    """A line from the person; None if there will be no more."""
    call.out.flush()
    try:
        console(call.out).print(Text(prompt), end="")
        call.out.flush()
        said = sys.stdin.buffer.readline()
    except (OSError, ValueError):
        return None  # the terminal is gone
    return said.decode("utf-8", "replace").strip() if said else None


_FOR = {
    "b": ("replace", "fact"),
    "m": ("fact",),
    "e": ("append", "replace", "fact", "create"),
    "s": ("append", "replace"),
}
"""What keys are for one kind of proposal or another."""

_NAMES = {"a": "ccept", "e": "dit", "b": "oth", "m": "emory", "o": "ne by one", "r": "eject", "l": "ater", "q": "uit"}
_NAMES_OF = {"choose": {"a": "ll stay"}, "together": {"a": "ccept all", "r": "eject all"}}
"""What a key means where it means something else."""


def offer(proposal: Proposal) -> str:
    """The keys of a proposal, with their names."""
    facts = "aebmrlq" if proposal.fact and proposal.fact.ends else "aemrlq"
    by_kind = {"append": "aerlq", "create": "aerlq", "replace": "aebrlq", "fact": facts, "together": "aorlq"}
    names = {**_NAMES, **_NAMES_OF.get(proposal.op, {})}
    told = " ".join(f"[{key}]{names[key]}" for key in by_kind.get(_kind(proposal), "arlq"))
    if lines := proposal.choices:
        verb = "remove" if proposal.op == "choose" else "replace"
        told = told.replace(" [r]", f" [r {'1' if len(lines) == 1 else 'N'}] {verb} [r]", 1)
    return told


def is_for(key: str, proposal: Proposal) -> bool:
    """Whether a key means anything for a proposal of this kind."""
    return _kind(proposal) in _FOR.get(key, (_kind(proposal),))


def _kind(proposal: Proposal) -> str:
    """The op; a new heading with a line below it is decided as that line is."""
    return "append" if proposal.op == "add_section" and proposal.text.strip() else proposal.op


def show(call: Call, proposals: Sequence[Proposal]) -> None:
    """The list on a terminal: under its note and heading each id with its diff."""
    screen = console(call.out)
    last = ""
    for proposal in sorted(proposals, key=lambda each: (bool(each.parts), each.target, each.section)):
        place = place_of(proposal)
        if place != last:
            screen.print(Text(place, style="cyan"))
            last = place
        head = Text(f"  {proposal.id}  ", style="bold")
        head.append(line(proposal.date), "green")
        screen.print(head)
        for each in change(proposal):
            screen.print(Padding(each, (0, 0, 0, 4), expand=False))


def place_of(proposal: Proposal) -> str:
    """Where its line is to stand; of several lines, that they are of one conversation."""
    if proposal.parts:
        return f"one conversation, {counted(len(proposal.parts), 'line')}"
    return line(proposal.target) + (f" › {line(proposal.section)}" if proposal.section else "")


def change(proposal: Proposal) -> list[Text]:
    """What would change, and what there is to know beside it; of several lines each in its place."""
    if not proposal.parts:
        return [*diff(proposal), *(Text(told, style="dim") for told in _told(proposal))]
    found = []
    for each in proposal.parts:
        found += [Text(f"{place_of(each)}  {each.id}", style="cyan"), *change(each._replace(why=""))]
    return found


def diff(proposal: Proposal) -> list[Text]:
    """The lines that go and come, the words that differ lit."""
    old = line(shown(proposal.replaces)) if proposal.op in ("replace", "remove", "remove_section") else ""
    new = line(proposal.text) if proposal.op not in ("remove", "remove_section") else ""
    if not new and proposal.op == "add_section":
        new = f"## {line(proposal.section)}"
    lines = []
    for each in proposal.fact.ends if proposal.fact else ():
        lines += [_lit("- ", line(each.text), line(each.becomes), "red")]
        lines += [_lit("+ ", line(each.becomes), line(each.text), "green")]
    if proposal.fact and proposal.source:
        new += f" ([[{line(proposal.source)}|{line(proposal.date)}]])"
    if old:
        lines.append(_lit("- ", old, new, "red"))
    if proposal.op == "create":
        shown_lines = [each for each in clean(proposal.text).split("\n") if each.strip()]
        return [_lit("+ ", each, "", "green") for each in shown_lines]
    if new:
        lines.append(_lit("? " if proposal.op == "choose" else "+ ", new, old, "green"))
    return lines


def _lit(mark: str, words: str, other: str, style: str) -> Text:
    text = Text(mark, style=style)
    known = set(other.casefold().split())
    for part in re.split(r"(\s+)", words):
        text.append(part, "bold" if other and part.strip() and part.casefold() not in known else None)
    return text


def _told(proposal: Proposal) -> list[str]:
    """What there is to know beside the change."""
    told = []
    if proposal.quoted:
        told.append(line(proposal.quoted))
    if proposal.remarks:
        told.append(f"mind: {line(proposal.remarks)}")
    chosen = proposal.choices
    told += [f"{number}  {_related(each, proposal)}" for number, each in enumerate(chosen, 1)]
    told += [f"beside: {_related(each, proposal)}" for each in proposal.conflicts if each not in chosen]
    if proposal.fact:
        target, section, text = map(line, proposal.fact.instead)
        told.append(f"or as a line of {target}{f' › {section}' if section else ''}: {text}")
    if proposal.why and proposal.why != BESIDE:
        told.append(line(proposal.why))
    if proposal.asked_before:
        told.append(f"asked before: you refused “{line(proposal.asked_before)}”")
    return told


def _related(each: Related, proposal: Proposal) -> str:
    """A line about the same, with its note if that is another one, and its day."""
    place = ", waits too" if each.waits else f", {each.path}" if each.path not in ("", proposal.target) else ""
    return line(f"{each.text} ({each.date or 'undated'}{place})")


def in_editor(
    call: Call, text: str, told: Iterable[str], *, instead: str = "write the words here, or Enter for nothing"
) -> str:
    """A text as the person leaves it in $VISUAL or $EDITOR.

    Args:
        call: whose environment names the editor.
        text: to begin with.
        told: shown below a line under which nothing is kept.
        instead: what helps where there is no editor.

    Raises:
        UsageError: there is no editor, it failed, or what it left is no text; that is kept then.
        UnwritableError: it is no text, and can't be kept: the message repeats it.
    """
    named = call.env.get("VISUAL") or call.env.get("EDITOR") or ""
    try:
        words = shlex.split(named, posix=os.name != "nt")
    except ValueError:
        words = []
    if not words:
        raise UsageError("no editor is set", f"set VISUAL or EDITOR, or {instead}")
    folder = tempfile.mkdtemp(prefix="tars-memory-")
    try:
        path = os.path.join(folder, "line.md")
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write("\n".join([text, "", SCISSORS, *(f"# {line(each)}" for each in told)]) + "\n")
        try:
            code = subprocess.run([*words, path], check=False).returncode
        except OSError as error:
            raise UsageError(f"{words[0]} can't be started: {error.strerror}", "set VISUAL or EDITOR") from None
        if code:
            raise UsageError(f"{words[0]} ended with {code}", instead)
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                left = file.read().partition(SCISSORS)[0].strip()
        except OSError:
            return ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        check_text(left, "what the editor left")
    except UsageError as error:
        store = vault.writing.store
        kept = store.keep_aside(Places.of(call.env).state / "kept", f"{store.new_item()}-editor", left)
        raise UsageError(error.message, f"{error.hint}; it is kept in {kept}") from None
    return left
