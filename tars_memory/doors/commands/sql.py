"""``sql`` and ``export``: what the index knows of the notes, as tables to ask and as a file to take along."""

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tars_memory import index
from tars_memory.doors.cli.call import call_of, command
from tars_memory.doors.cli.output import clean, counted, line, show_rows
from tars_memory.errors import UsageError
from tars_memory.memory import SQL_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tars_memory.doors.cli.call import Call
    from tars_memory.index.tables import TableQuery


def sql(
    ctx: typer.Context,
    query: Annotated[
        list[str] | None, typer.Argument(metavar="QUERY…", help="One SELECT; none: list the tables.")
    ] = None,
    csv_: Annotated[bool, typer.Option("--csv", help="Print CSV, the columns first.")] = False,
    nl: Annotated[bool, typer.Option("--nl", help="Print a JSON object a row.")] = False,
    table: Annotated[bool, typer.Option("--table", help="Print columns that line up, in a pipe too.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0.01, help="Stop the query after so long (10).")
    ] = SQL_SECONDS,
) -> int:
    """Ask the index by SQL: one query that reads, over the notes that a search would see.

    It works on a copy of the tables that holds these notes alone: no notes of other projects, no conversations. Nothing
    can be written. Without a query it lists the tables and their columns.

    In a pipe one line a row, with tabs. Exit 1 if there are no rows.
    """
    call = call_of(ctx)
    if sum((csv_, nl, table, call.out.json)) > 1:
        raise UsageError("only one of --csv, --nl, --table and --json", "leave the others out")
    said = " ".join(query or ()).strip().rstrip("; ")
    if not said:
        return _tables(call)
    found = call.memory().sql(said, seconds=timeout)
    notices = call.notices()
    rows = _Counted(found)
    if call.out.json:
        told = [dict(zip(found.columns, row, strict=True)) for row in rows]
        call.out.record({"columns": found.columns, "rows": told, "notices": notices})
    elif nl:
        for row in rows:
            call.out.record(dict(zip(found.columns, row, strict=True)), lines=True)
    elif csv_:
        call.out.data(_csv(found.columns))
        for row in rows:
            call.out.data(_csv(map(_cell, row)), of_notes=False)
    elif table and not call.out.screen:
        from tabulate import tabulate

        cells = [[line(_cell(value)) for value in row] for row in rows]
        call.out.data(tabulate(cells, found.columns, disable_numparse=True), of_notes=False)
    else:
        show_rows(call.out, ([line(_cell(value)) for value in row] for row in rows), found.columns, of_notes=False)
    return 0 if rows.count else 1


class _Counted:
    """The rows of a query, and how many of them there were."""

    def __init__(self, query: "TableQuery") -> None:
        self._query = query
        self.count = 0

    def __iter__(self) -> "Iterator[tuple[Any, ...]]":
        for row in self._query:
            self.count += 1
            yield row


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value.hex() if isinstance(value, bytes) else str(value)


def _csv(row: "Iterable[str]") -> str:
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerow([clean(cell) for cell in row])
    return made.getvalue()[:-1]


def _tables(call: "Call") -> int:
    tables = index.tables.TABLES
    if call.out.json:
        told = [
            {"name": name, "columns": [{"name": each, "meaning": meaning} for each, meaning in columns.items()]}
            for name, columns in tables.items()
        ]
        call.out.record({"tables": told, "notices": []})
    else:
        rows = ((name, each, meaning) for name, columns in tables.items() for each, meaning in columns.items())
        show_rows(call.out, rows, ("table", "column", "what it holds"), ("magenta",), of_notes=False)
    return 0


SQL = command(
    sql,
    words=True,
    pages=True,
    examples="""
tm sql                                                # the tables and their columns
tm sql "select tag, count(*) from tags group by tag"
tm sql --csv "select subject, predicate, object from facts where current"
""",
    exits="1 no rows, 2 no such table, or more than a query, 3 stopped by --timeout",
    answers="""
columns: their names, in order
rows: an object for each row, its members named by the columns
[without QUERY]
tables[].name: of the table
tables[].columns[].name: of the column
tables[].columns[].meaning: what it holds
""",
)


def export(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Its ending says the form: .db, .json, .jsonl, .csv.")],
    table: Annotated[
        list[str] | None, typer.Option("--table", metavar="NAME", help="Only this table of `sql`; repeatable.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing file.")] = False,
) -> int:
    """Write the tables of `sql` into a file: a SQLite database that Datasette and any other tool opens, JSON or CSV.

    It holds what a search here would see, credentials masked; no notes of other projects and no conversations. Only you
    can read the file. It is a copy: nothing that is changed in it comes back.
    """
    call = call_of(ctx)
    rows = call.memory().export(file, table or (), replace=replace)
    notices = call.notices()
    if call.out.json:
        call.out.record({"file": str(file), "tables": rows, "notices": notices})
    else:
        call.out.data(line(str(file)), of_notes=False)
        call.out.say(", ".join(f"{name}: {counted(count, 'row')}" for name, count in rows.items()))
    return 0


EXPORT = command(
    export,
    examples="""
tm export memory.db
tm export facts.csv --table facts
tm export memory.jsonl --project website
""",
    exits="2 an unknown ending, or a file that is there, 5 the file can't be written",
    answers="""
file: that was written
tables: how many rows of each table
""",
)
