"""Which daily notes go to the archive, and why the others stay. Pure: facts in, a plan out.

A note moves only if nothing that leads to it, and nothing that it leads to, would be lost on the way: each link of the
vault is followed before and after, and must end at the same note by a way that still holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from tars_memory.curation.tidying.outlinks import Outlink, lead
from tars_memory.errors import counted
from tars_memory.vault.links import Links

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import date

Action = Literal["move", "keep"]

WAITING = "lines in it still wait for review"
CUT_OFF = "its copy in the archive is the same: a move that was cut off is finished"


class Daily(NamedTuple):
    """What is known of one daily note.

    Attributes:
        path: where it is.
        to: where it would go.
        day: that it is of.
        waiting: whether a line in it is still offered for review.
        copied: whether the very same text stands at ``to`` already.
        obstacle: why it can't go there, or empty.
    """

    path: str
    to: str
    day: date
    waiting: bool = False
    copied: bool = False
    obstacle: str = ""


class DailyMove(NamedTuple):
    """What is to happen to one daily note that is past the window.

    Attributes:
        path: where it is.
        to: where it goes, or would go.
        action: ``move`` or ``keep``.
        reason: in words.
    """

    path: str
    to: str
    action: Action
    reason: str

    def as_dict(self) -> dict[str, str]:
        """The documented JSON object."""
        return self._asdict()


def past(day: date, today: date, days: int) -> bool:
    """Whether a day is past the window: more than ``days`` days ago. The day exactly ``days`` ago is not."""
    return (today - day).days > days


def plan(
    dailies: Iterable[Daily],
    outgoing: Mapping[str, Collection[Outlink]],
    files: Collection[str],
    *,
    today: date,
    days: int,
) -> list[DailyMove]:
    """What happens to the daily notes past the window, oldest first.

    Args:
        dailies: the daily notes that are not in the archive.
        outgoing: the links of every note, canvas and list of bookmarks, by the path of what holds them.
        files: the paths of all files of the vault.
        today: the local day.
        days: how long a daily note stays in its place.

    Returns:
        A step for each daily note past the window, and none for the others.
    """
    old = sorted((d for d in dailies if past(d.day, today, days)), key=lambda d: (d.day, d.path))
    reasons: dict[str, str] = {}
    for daily in old:
        if daily.obstacle:
            reasons[daily.path] = daily.obstacle
        elif daily.waiting:
            reasons[daily.path] = WAITING
    reasons |= held_by_links({daily.path: daily.to for daily in old if daily.path not in reasons}, outgoing, files)
    return [_step(daily, reasons.get(daily.path), today) for daily in old]


def held_by_links(
    moves: Mapping[str, str], outgoing: Mapping[str, Collection[Outlink]], files: Collection[str]
) -> dict[str, str]:
    """Which of some notes must stay where they are because a link would break, each with the reason.

    Args:
        moves: where each note would go, by where it is.
        outgoing: as for :func:`plan`.
        files: as for :func:`plan`.
    """
    reasons: dict[str, str] = {}
    told = _near(outgoing, moves)
    while broken := _broken(told, files, moves):
        reasons |= broken
        moves = {path: to for path, to in moves.items() if path not in broken}
    return reasons


def _step(daily: Daily, kept: str | None, today: date) -> DailyMove:
    if kept is not None:
        return DailyMove(daily.path, daily.to, "keep", kept)
    age = (today - daily.day).days
    return DailyMove(daily.path, daily.to, "move", CUT_OFF if daily.copied else f"{counted(age, 'day')} old")


def _near(outgoing: Mapping[str, Collection[Outlink]], moves: Mapping[str, str]) -> list[tuple[str, Outlink]]:
    """The links that a move could touch: those of a moved note, and those that name one."""
    names = {_name(path) for path in moves}
    return [
        (source, link)
        for source, found in outgoing.items()
        for link in found
        if source in moves or _name(link.target) in names
    ]


def _broken(told: Sequence[tuple[str, Outlink]], files: Collection[str], moves: Mapping[str, str]) -> dict[str, str]:
    """The notes that must stay after all, each with the reason; empty if every link holds."""
    after_files = {moves.get(path, path) for path in files}
    before, after = Links(files), Links(after_files)
    come = {to: path for path, to in moves.items()}
    kept: dict[str, str] = {}
    for source, link in told:
        way, found = lead(link, source, before, files)
        if found is None:
            continue
        new_way, new_found = lead(link, moves.get(source, source), after, after_files)
        if new_found == moves.get(found, found) and (way == new_way or way == "name"):
            continue
        if found in moves:
            kept.setdefault(found, f"{source} links to it by its path: {link}")
        elif source in moves:
            kept.setdefault(source, f"its own link {link} would lead nowhere or elsewhere")
        elif new_found in come:
            kept.setdefault(come[new_found], f"the link {link} in {source} would lead to it instead of {found}")
    return kept


def _name(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2].casefold().strip()
    return name.removesuffix(".md")
