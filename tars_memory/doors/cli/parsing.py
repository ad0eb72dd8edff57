"""How a command line is read: the shared options in one place, TEXT that may look like options, commands by need; and
who answers a prompt: a model, another program (``--print-prompt``, then ``--reply``), or nobody (``--dry-run``).

typer makes each command from its function. Three things are added to it here, once, for all commands: the options that
every command takes (and writers take), that they count before and after the command's name, and that words behind
TEXT commands may begin with a dash.
"""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from tars_memory import curation, language
from tars_memory.doors.cli.call import Call, read_stdin
from tars_memory.doors.cli.output import clean, counted
from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tars_memory.curation.models.llm import LanguageModel, Prompt


About = Annotated[list[str] | None, typer.Option("--about", metavar="NAME", help="Only lines about NAME; repeatable.")]
Topic = Annotated[
    list[str] | None, typer.Option("--topic", metavar="TAG", help="Only below this tag or topic; repeatable.")
]
Expired = Annotated[bool, typer.Option("--expired", help="Also what has ended or expired.")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="DATE", help="As it held on this day.")]
"""Filters that several commands take."""

Ref = Annotated[list[str] | None, typer.Argument(metavar="REF", help="Its REF, or words that only it holds.")]

HELP = ("--help", "-h")
SHARED = ("vault", "project", "json", "quiet", "no_pager", "now", "dry_run")
"""The parameters that :func:`shared` makes; help shows them below a command's own."""


def _take(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> None:
    """Hand a shared option, where it was given, to the call."""
    if value is not None and value is not False and isinstance(ctx.obj, Call) and param.name is not None:
        ctx.obj.take(param.name, value)


def _shared(name: str, help_text: str, metavar: str | None = None) -> TyperOption:
    return TyperOption(
        param_decls=[name, "--" + name.replace("_", "-")],
        help=help_text,
        metavar=metavar,
        is_flag=metavar is None,
        expose_value=False,
        callback=_take,
    )


def shared(*, writes: bool) -> list[TyperOption]:
    """The options of every command, and with ``writes`` those of a writer."""
    options = [
        _shared("vault", "The vault's folder (or TARS_MEMORY_DIR).", "DIR"),
        _shared("project", "A project of the vault (or TARS_PROJECT, .tars-project).", "NAME"),
        _shared("json", "Print one JSON object."),
        _shared("quiet", "Print nothing but errors."),
        _shared("no_pager", "Use no pager."),
        _shared("now", "Pretend the time is TIME (or TARS_NOW).", "TIME"),
    ]
    if writes:
        options.append(_shared("dry_run", "Show what would be written; write nothing."))
    return options


class Command(TyperCommand):
    """One command.

    Attributes:
        words: takes all remaining words as text: a word that begins with one dash is text, not an option.
        pages: on a terminal a pager takes what is longer than the screen.
        examples: calls that show what it is for, each with a comment; help and reference begin with them.
        exits: its own exit codes beside those of every command; docs/commands.md lists them.
        answers: the members of its JSON object, for docs/commands.md: a line ``names: meaning``, where
            ``hits[].path line`` names two members of each of ``hits``; ``as NAME`` is the object of another command;
            below ``[OPTION]`` stands the object that an option asks for. ``notices``, which all have, is left out.
    """

    words = False
    pages = False
    examples = ""
    exits = ""
    answers = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep text from being read as options, then parse as usual."""
        if self.words and not ctx.resilient_parsing:
            args = list(HELP[:1]) if args == ["-h"] else self._separated(ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Check the shared options, then run."""
        if isinstance(ctx.obj, Call):
            if ctx.obj.dry_run and all(param.name != "dry_run" for param in self.params):
                raise UsageError(
                    f"{self.name} has no --dry-run: it writes nothing into the vault",
                    f"{ctx.command_path} --help shows how",
                )
            ctx.obj.begin()
            if (
                self.pages
                and ctx.obj.out.screen
                and ctx.obj.interactive
                and not (ctx.obj.no_pager or ctx.obj.out.quiet)
            ):
                from tars_memory.doors.cli.screen import paged

                with paged(ctx.obj.out):
                    return super().invoke(ctx)
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Usage as ``[OPTIONS] TEXT…``, arguments as their metavars are written."""
        return ["[OPTIONS]", *(param.metavar or "" for param in self.params if isinstance(param, TyperArgument))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List examples, arguments, the command's own options, then the shared ones."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {each}\n" for each in self.examples.strip().split("\n")))
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "Options of every command": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                common = param.name in (*SHARED, "help")
                title = "Options of every command" if common else "Options"
                groups["Arguments" if isinstance(param, TyperArgument) else title].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def _separated(self, ctx: Any, args: Sequence[str]) -> list[str]:
        flags: set[str] = set()
        valued: set[str] = set()
        for param in self.get_params(ctx):
            if isinstance(param, TyperOption):
                (flags if param.is_flag else valued).update(o for o in param.opts if o.startswith("--"))
        return separate(args, flags, valued)


def separate(args: Sequence[str], flags: set[str], valued: set[str]) -> list[str]:
    """Options first, then ``--``, then every other word in its order.

    Words with two dashes are options (an unknown one is an error, with a suggestion); a word with a single dash
    (``-milk``, ``-5``, ``-``) is text; behind ``--`` everything is.

    Args:
        args: as the shell gave them.
        flags: options without a value.
        valued: options that take the next word, unless it is joined by ``=``.
    """
    options: list[str] = []
    words: list[str] = []
    rest = iter(args)
    for word in rest:
        if word == "--":
            words.extend(rest)
        elif not word.startswith("--"):
            words.append(word)
        else:
            options.append(word)
            if word in valued:
                value = next(rest, None)
                if value is None:
                    return options  # the parser says that its value is missing
                options.append(value)
            elif word.split("=", 1)[0] not in flags | valued:
                return options  # the parser says that there is no such option
    return [*options, "--", *words]


def call_of(ctx: typer.Context) -> Call:
    """The call that a command's context belongs to."""
    assert isinstance(ctx.obj, Call)
    return ctx.obj


def validity(call: Call, as_of: str | None, *, expired: bool) -> dict[str, Any]:
    """``--as-of`` and ``--expired``, those given, as the use cases take them.

    Raises:
        UsageError: both of them, or a day that is none.
    """
    if as_of is not None and expired:
        raise UsageError("both --as-of and --expired", "give one of them")
    if expired:
        return {"expired": True}
    return {} if as_of is None else {"as_of": day(call, as_of, "--as-of", last=True)}


def today(call: Call) -> date:
    """The user's own day."""
    return (call.now or datetime.now().astimezone()).date()


def day(call: Call, text: str | None, option: str, *, last: bool = False) -> date | None:
    """A day as search takes it, of a month or year the first one, or the last; None for none.

    Raises:
        UsageError: it is not a day.
    """
    if text is None:
        return None
    dates = language.named_dates
    named = dates.parse_day(text, today(call))
    if named is None:
        raise UsageError(f"{option}: {text!r} is not a date", f"it takes {dates.ACCEPTED}")
    return named.end if last else named.start


def command(
    run: Callable[..., int | None],
    *,
    writes: bool = False,
    words: bool = False,
    pages: bool = False,
    kind: type[Command] = Command,
    examples: str = "",
    exits: str = "",
    answers: str = "",
) -> Callable[[], Command]:
    """What makes the command of a function, when it is called; its docstring is the help, its value the exit code.

    Args:
        run: its first parameter is the :class:`typer.Context` whose ``obj`` is the :class:`Call`.
        writes: it may change the vault: ``--dry-run`` is added.
        words: it takes all remaining words as text.
        pages: it may print more than a screen holds.
        kind: of command, for one that ends in a way of its own.
        examples: as in :class:`Command`.
        exits: as in :class:`Command`.
        answers: as in :class:`Command`.
    """

    def make() -> Command:
        app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        app.command(run.__name__.strip("_"), cls=kind)(run)
        made = typer.main.get_command(app)
        assert isinstance(made, Command)
        made.words, made.pages = words, pages
        made.examples, made.exits, made.answers = examples, exits, answers
        made.params.extend(shared(writes=writes))
        return made

    return make


PrintPrompt = Annotated[
    bool, typer.Option("--print-prompt", help="Print what a model would be asked, for another program.")
]
ReplyFile = Annotated[
    str | None, typer.Option("--reply", metavar="FILE", help="Take a model's answer from FILE, or - for stdin.")
]


def answer_in(source: str) -> str:
    """The text of a file, or of stdin; bytes that are not UTF-8 are replaced.

    Raises:
        UsageError: it can't be read.
    """
    if source == "-":
        return read_stdin()
    try:
        return Path(source).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{source} can't be read: {error.strerror}", "name the file that holds the answer") from error


def answering(call: Call, prompt: Prompt, job: str, model: str, reply: str | None) -> LanguageModel | None:
    """Who answers: the file of ``--reply``, else the model; None after a dry run has shown what it would be asked.

    Args:
        call: the call.
        prompt: what is asked.
        job: whose model is set: ``extract``, ``review`` or ``tidy``.
        model: the name of another one; may be empty.
        reply: the file that holds the answer.

    Raises:
        ModelUnavailableError: no model is set, or litellm is not installed.
        UsageError: the file can't be read.
    """
    if reply is not None:
        return curation.models.llm.Reply([answer_in(reply)])
    named = curation.models.llm.required(call.memory().workspace.settings, job, model)
    if not call.dry_run:
        return named
    tokens, cost = curation.models.llm.estimate(prompt, named)
    priced = f"at most {cost:.4f} US dollars" if cost is not None else "of unknown price"
    call.out.data(clean(str(prompt)))
    where = named.endpoint or "the provider's own address"
    call.out.say(f"dry run: {named.name} at {where} would be asked this, about {counted(tokens, 'token')}, {priced}")
    return None
