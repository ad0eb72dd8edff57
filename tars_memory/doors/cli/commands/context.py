"""``context``: what a model should know, packed for its prompt."""

from typing import Any

from tars_memory.doors.cli.call import AS_OF, ENDED, Call, command, flag, one_of, one_only, option, read_stdin, word
from tars_memory.doors.cli.output import clean, counted
from tars_memory.errors import UsageError
from tars_memory.recall.loaded import ALONE, COMMENT, FRONT_MATTER
from tars_memory.recall.packing import KINDS, NOTHING, Context

FORMATS = ("text", "json")
MOST_REASONS = 3
"""Maximum number of reasons that the message about dropped lines names."""


@command(
    words=True,
    examples="""
tm context what does Anna like to eat
tm context --budget 800 --found-only presents for Anna
echo "$PROMPT" | tm context --stdin --json
""",
    answers="""
budget used: tokens
text: the whole prompt
blocks[].kind: {kinds}
blocks[].path start_line end_line: where its lines are
blocks[].text: a line for each line of the note
blocks[].tokens: its share
dropped[].path start_line end_line why: what was considered and left out
playbooks[].path title: those that fit the question, best first
playbooks[].whole approved: whether it is given in full; whether a person typed or approved every line of it here
[as it applies]
blocks[].vault: of lines of a shared vault: its name; `path` is absolute then
""".format(kinds=", ".join(f"`{kind}`" for kind in KINDS)),
)
def context(
    call: Call,
    question: list[str] | None = word("[QUESTION…]", "In plain words; operators have no meaning here."),
    budget: int | None = option("--budget", "N", "At most N tokens (2000).", least=0),
    window: int | None = option("--window", "N", "Set the budget as a share of a model's window of N tokens.", least=0),
    days: int | None = option("--days", "N", "The last N daily notes; 1 is today's (1).", least=0, most=366),
    file_cap: int | None = option("--file-cap", "N", "At most N characters of one loaded note (20000).", least=0),
    format_: str | None = option("--format", "FORMAT", "text or json."),
    found_only: bool = flag("--found-only", "Print only what the question finds, not what is always loaded."),
    about: list[str] | None = option("--about", "NAME", "Find only lines about NAME; repeatable."),
    topic: list[str] | None = option("--topic", "TAG", "Find only lines with this tag or topic; repeatable."),
    agent: str | None = option("--agent", "NAME", "Include this agent's own notes, agents/NAME/."),
    ended: bool = ENDED,
    as_of: str | None = AS_OF,
    stdin: bool = flag("--stdin", "Take the question from stdin."),
) -> int:
    """Print what a model should know before it answers: approved rules, what the QUESTION finds, Memory.md, User.md,
    today's note.

    It never takes more tokens than the budget (a token is 4 characters), asks no model and writes nothing. stderr
    says what was left out. Exit 0 even if there is nothing to print.
    """
    one_of(FORMATS, format_, "--format ")
    one_only({"QUESTION": question, "--stdin": stdin})
    call.out.json = call.out.json or format_ == "json"
    text = read_stdin() if stdin else " ".join(question or ())
    given = {"budget": budget, "window": window, "days": days, "file_cap": file_cap}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    options |= {"about": tuple(map(call.note, about))} if about else {}
    options |= {"topics": tuple(topic)} if topic else {}
    if agent and ("/" in agent or not agent.strip(".")):  # such a name could lead to another folder
        raise UsageError(f"{agent!r} is not a name for an agent's folder", "give a plain one, such as claude")
    options |= ({"agent": agent} if agent else {}) | call.validity(as_of, ended=ended)
    if found_only:
        options["loaded"] = False
    packed = call.memory().context(text, **options)
    call.out.notes = None  # it is masked note by note
    notices = [notice + call.unsearched_projects() if notice == NOTHING else notice for notice in packed.notices]
    if call.answered(packed, notices):
        return 0
    if packed.text:
        call.out.data(clean(packed.text))
    else:
        call.out.say("there is nothing to say" + ("" if NOTHING in packed.notices else call.unsearched_projects()))
    _say_left_out(call, packed)
    return 0


def _say_left_out(call: Call, packed: "Context") -> None:
    """Print how many lines were dropped for which reasons, except lines that hold no content."""
    reasons: dict[str, int] = {}
    for block in packed.dropped:
        if block.why not in (ALONE, COMMENT, FRONT_MATTER):
            reasons[block.why] = reasons.get(block.why, 0) + block.end_line - block.start_line + 1
    ordered = sorted(reasons.items(), key=lambda pair: -pair[1])
    if ordered:
        text = "; ".join(f"{counted(count, 'line')}: {why}" for why, count in ordered[:MOST_REASONS])
        more = "; …" if len(ordered) > MOST_REASONS else ""
        call.out.say(f"left out: {text}{more} (--json lists them)")
