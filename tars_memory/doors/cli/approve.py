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
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from tars_memory.curation.model import BESIDE, Proposal, Related
from tars_memory.curation.reviewing.note import shown
from tars_memory.curation.reviewing.review import Review, Reviewed, UnapprovedRule, approve
from tars_memory.doors.cli.output import ClosedOutput, clean, counted, line
from tars_memory.doors.cli.screen import console
from tars_memory.errors import ConflictError, TarsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tars_memory.capture.caller import Caller
    from tars_memory.doors.cli.call import Call

SCISSORS = "# ---- below this line nothing is kept ----"
QUIT, LATER, AGAIN, APART = "quit", "later", "again", "apart"
KEYS = {
    "a": "accept it as it stands: it is added, and nothing is replaced",
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


class Walk:
    """One sitting.

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
        self.accepted = self.rejected = 0
        self._last: list[tuple[str, Proposal, int]] = []
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
                # Something was written or taken back: what is left may stand differently to the notes now.
                listed = self.review.waiting(limit=0, expired=self.expired)
                left = [one for each in listed.proposals for one in self._each(each) if one.id not in self._seen]
                queue = left[: max(0, most - len(self._seen))]
        self._end()
        return 0

    def _each(self, proposal: Proposal) -> tuple[Proposal, ...]:
        """A proposal, or the lines of a conversation of which one is decided by itself."""
        return proposal.parts if self._apart & {each.id for each in proposal.parts} else (proposal,)

    def _end(self) -> None:
        left = self.review.waiting(limit=1, expired=self.expired).total
        said = [f"{self.accepted} accepted", f"{self.rejected} rejected"]
        said.append(f"{counted(left, 'proposal')} left: tars-memory review goes on" if left else "nothing is left")
        self._print(Text("\n" + ", ".join(said)))

    def _answer(self, proposal: Proposal) -> str:
        """What the person says to one proposal; :data:`AGAIN` if something was written or taken back."""
        offer, lines = _offer(proposal), proposal.choices
        while True:
            said = self._ask(f"{offer} [?]: ")
            key, numbers = ("q", []) if said is None else (said[:1].lower(), re.split(r"[\s,]+", said[1:].strip()))
            numbers = [each for each in numbers if each]
            named = [each for each in numbers if each.isdecimal() and 0 < int(each) <= len(lines)]
            chosen = [lines[int(each) - 1].ref for each in named]
            if key in "esmr" and numbers != named:
                self._print(
                    Text(f"name a line by its number: {counted(len(lines), 'line')} to choose from", style="dim")
                )
            elif key == "q":
                return QUIT
            elif key in ("", "l"):
                return LATER
            elif key == "u":
                if self._take_back(proposal):
                    return AGAIN
            elif key == "o" and proposal.parts:
                return APART
            elif key == "r" and not chosen:
                if self._decided(proposal, reject=[proposal.id]):
                    return LATER
            elif key in "aesbmr" and not (key in "ab" and numbers):
                if self._accept(proposal, key, chosen):
                    return AGAIN
            else:
                self._print(Text("\n".join(f"  {each:<3}  {text}" for each, text in KEYS.items())))

    def _accept(self, proposal: Proposal, key: str, chosen: Sequence[str]) -> bool:
        texts: dict[str, str] = {}
        sections: dict[str, str] = {}
        if _kind(proposal) not in _FOR.get(key, (_kind(proposal),)):
            self._print(Text("that is nothing to do here", style="dim"))
            return False
        if key == "e":
            words = self._edited(proposal)
            if words is None:
                return False
            texts = {proposal.id: words}
        if key == "s":
            title = self._ask("heading: ")
            if not title:
                return False
            sections = {proposal.id: title}
        return self._decided(
            proposal,
            accept=[proposal.id],
            both=[proposal.id] if key == "b" else [],
            lines=[proposal.id] if key == "m" else [],
            texts=texts,
            sections=sections,
            replace={proposal.id: chosen},
        )

    def _decided(self, proposal: Proposal, **choice: Any) -> bool:
        """Do it; False, and said, if the proposal waits as it did."""
        try:
            done: Reviewed = self.review.decide(**choice)
        except ConflictError as error:
            self._print(Text(f"{line(error.message)}; it will be shown anew", style="yellow"))
            return True
        except TarsError as error:
            self._print(Text(f"{line(error.message)}\n  {line(error.hint)}", style="yellow"))
            return False
        self.call.notices(done.notices)
        accepted = sum(result.decision == "accepted" for result in done.decided)
        if done.txn:
            self._last.append((done.txn, proposal, accepted))
        self.accepted += accepted
        self.rejected += len(done.decided) - accepted
        if not accepted:
            self._print(Text("rejected", style="dim"))
        dry = " (dry run: nothing was written)" if self.call.dry_run else ""
        for result in done.decided if accepted else ():
            place = self.call.out.place(result.path, result.line)
            self._print(Text((line(result.reason) or f"accepted: {place}") + dry, style="dim"))
        return True

    def _take_back(self, shown: Proposal) -> bool:
        if not self._last:
            self._print(Text("there is nothing to take back", style="dim"))
            return False
        txn, proposal, accepted = self._last.pop()
        try:
            self.call.memory().undo(txn)
        except TarsError as error:
            self._print(Text(line(error.message), style="yellow"))
            return False
        self.accepted -= accepted
        self.rejected -= len(proposal.each) - accepted
        self._seen = [each for each in self._seen if each not in (proposal.id, shown.id)]
        if [*self._numbers][-1:] == [shown.id]:
            del self._numbers[shown.id]  # it may be another one now, in the same place
        self._print(Text(f"taken back: {line(proposal.text)}", style="dim"))
        return True

    def _edited(self, proposal: Proposal) -> str | None:
        """The person's words, or None: nothing is decided then."""
        before = clean(proposal.text)
        try:
            words = in_editor(self.call, before, _told(proposal))
        except UsageError as error:
            self._print(Text(f"{line(error.message)}; {line(error.hint)}", style="yellow"))
            words = self._ask("new words: ") or ""
        if not words.strip():
            self._print(Text("no words are left, so nothing is decided", style="yellow"))
            return None
        return words

    def _show(self, proposal: Proposal, place: str) -> None:
        head = Text(f"\n{place}  ", style="bold")
        head.append(_place(proposal), "cyan")
        head.append(f"  {line(proposal.date)}", "green")
        self._print(head)
        for each in _change(proposal):
            self._print(Padding(each, (0, 0, 0, 2), expand=False))

    def _print(self, what: Text | Padding) -> None:
        _print(self.call, what)

    def _ask(self, prompt: str) -> str | None:
        return _ask(self.call, prompt)


def walk_rules(call: Call, ctx: Caller, found: Sequence[UnapprovedRule]) -> int:
    """One rule after another that nobody approved here: approve it, all that are left, or none; the exit code."""
    approved: list[UnapprovedRule] = []
    for number, rule in enumerate(found, 1):
        head = Text(f"\n{number} of {len(found)}  ", style="bold")
        head.append(line(call.out.place(rule.path, rule.line)), "cyan")
        head.append(f" › {line(rule.section)}" if rule.section else "", "cyan")
        _print(call, head)
        for each in rule.text.split("\n"):
            _print(call, Padding(Text(line(each)), (0, 0, 0, 2), expand=False))
        said: str | None = "?"
        while said not in ("a", "A", "l", "q", "", None):
            said = _ask(call, "[a]pprove [A]ll that are left [l]ater [q]uit [?]: ")
        if said in ("a", "A"):
            chosen = found[number - 1 :] if said == "A" else [rule]
            approve(ctx, chosen)
            approved += chosen
        if said in ("A", "q", None):
            break
    left = len(found) - len(approved)
    if call.dry_run:
        call.out.say("dry run: nothing was written")
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


_FOR = {"b": ("replace", "fact"), "m": ("fact",), "e": ("append", "replace", "fact"), "s": ("append", "replace")}
"""What keys are for one kind of proposal or another."""

_NAMES = {"a": "ccept", "e": "dit", "b": "oth", "m": "emory", "o": "ne by one", "r": "eject", "l": "ater", "q": "uit"}
_NAMES_OF = {"choose": {"a": " all stand"}, "together": {"a": "ccept all", "r": "eject all"}}
"""What a key means where it means something else."""


def _offer(proposal: Proposal) -> str:
    """The keys that there are for a proposal, with their names."""
    facts = "aebmrlq" if proposal.fact and proposal.fact.ends else "aemrlq"
    by_kind = {"append": "aerlq", "replace": "aebrlq", "fact": facts, "together": "aorlq"}
    names = {**_NAMES, **_NAMES_OF.get(proposal.op, {})}
    offer = " ".join(f"[{key}]{names[key]}" for key in by_kind.get(_kind(proposal), "arlq"))
    if lines := proposal.choices:
        verb = "remove" if proposal.op == "choose" else "replace"
        offer = offer.replace(" [r]", f" [r {'1' if len(lines) == 1 else 'N'}] {verb} [r]", 1)
    return offer


def _kind(proposal: Proposal) -> str:
    """The op; a new heading with a line below it is decided as that line is."""
    return "append" if proposal.op == "add_section" and proposal.text.strip() else proposal.op


def show(call: Call, proposals: Sequence[Proposal]) -> None:
    """The list on a terminal: under its note and heading each id with its diff."""
    screen = console(call.out)
    last = ""
    for proposal in sorted(proposals, key=lambda each: (bool(each.parts), each.target, each.section)):
        place = _place(proposal)
        if place != last:
            screen.print(Text(place, style="cyan"))
            last = place
        head = Text(f"  {proposal.id}  ", style="bold")
        head.append(line(proposal.date), "green")
        screen.print(head)
        for each in _change(proposal):
            screen.print(Padding(each, (0, 0, 0, 4), expand=False))


def _place(proposal: Proposal) -> str:
    """Where its line is to stand; of several lines, that they are of one conversation."""
    if proposal.parts:
        return f"one conversation, {counted(len(proposal.parts), 'line')}"
    return line(proposal.target) + (f" › {line(proposal.section)}" if proposal.section else "")


def _change(proposal: Proposal) -> list[Text]:
    """What would change, and what there is to know beside it; of several lines each in its place."""
    if not proposal.parts:
        return [*diff(proposal), *(Text(told, style="dim") for told in _told(proposal))]
    found = []
    for each in proposal.parts:
        found += [Text(f"{_place(each)}  {each.id}", style="cyan"), *_change(each._replace(why=""))]
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
    if proposal.quote and proposal.quote != proposal.replaces:
        told.append(f"“{line(proposal.quote)}”")
    if proposal.remarks:
        told.append(f"mind: {line(proposal.remarks)}")
    chosen = proposal.choices
    told += [f"{number}  {_related(each, proposal)}" for number, each in enumerate(chosen, 1)]
    told += [f"beside: {_related(each, proposal)}" for each in proposal.conflicts if each not in chosen]
    if proposal.fact:
        target, section, text = map(line, proposal.fact.instead)
        told.append(f"or as a line of {target} › {section}: {text}")
    if proposal.why and proposal.why != BESIDE:
        told.append(line(proposal.why))
    if proposal.asked_before:
        told.append(f"asked before: you refused “{line(proposal.asked_before)}”")
    return told


def _related(each: Related, proposal: Proposal) -> str:
    """A line about the same, with its note if that is another one, and its day."""
    place = ", waits too" if each.waits else f", {each.path}" if each.path not in ("", proposal.target) else ""
    return f"{line(each.text)} ({each.date or 'undated'}{line(place)})"


def in_editor(call: Call, text: str, told: Iterable[str]) -> str:
    """A text as the person leaves it in $VISUAL or $EDITOR.

    Args:
        call: whose environment names the editor.
        text: to begin with.
        told: shown below a line under which nothing is kept.

    Raises:
        UsageError: there is no editor, or it failed.
    """
    named = call.env.get("VISUAL") or call.env.get("EDITOR") or ""
    try:
        words = shlex.split(named, posix=os.name != "nt")
    except ValueError:
        words = []
    if not words:
        raise UsageError("no editor is set", "set VISUAL or EDITOR, or write the words here")
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
            raise UsageError(f"{words[0]} ended with {code}", "write the words here, or Enter for nothing")
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read().partition(SCISSORS)[0].strip()
        except OSError:
            return ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)
