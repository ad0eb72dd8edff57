"""Two versions of a note and the one that both came from, merged by entry. Pure.

A bullet is the same bullet in two versions if they agree on its block id, else on its words, else if it stands in the
same place with similar words. What one side changed, moved or removed and the other left alone is done; what both added
is there once, each side's lines in their order. The outcome is the same whichever side is called ours.

Where two sides disagree about a bullet nothing is decided: both versions stay, each with a bullet below it that says
what both come from (``also changed:: old words``); one that a side removed and the other changed stays with
``also removed:: old words``. Review asks about them (:func:`disputed`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import BOM, Document, newline_of
from tars_memory.vault.markdown.lines import ALSO_CHANGED, ALSO_REMOVED

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from tars_memory.vault.model import Entry

    TextMerge = Callable[[bytes, bytes, bytes], bytes | None]

_T = TypeVar("_T")

ALIKE = 0.5
"""Lines in the same place share at least this part of their words if the one is the other, edited. Less makes no loss:
they count as one line removed and one added."""

LARGEST = 4_000_000
"""Bytes of a version; beyond, git merges by lines."""

_SIGNS = re.compile(rb"^(?:<{7}|>{7}|\|{7})(?: |$)", re.MULTILINE)
_MARK = re.compile(r"[ \t]*[-*+][ \t]+")
_ENDING = re.compile(rb"\r\n|\r|\n")
_KEY = re.compile(rb"([^\s#:][^:]*):(?:\s|$)")

FRONT, HEADING, BULLET, TEXT = "front", "heading", "bullet", "text"


class Node:
    """A stretch of one version: front matter, a heading, a bullet's own lines, or other lines that belong together.

    Attributes:
        kind: which of these.
        raw: its bytes, without the line ending behind it.
        eol: that line ending; empty at the end of a note without one.
        lead: the blank lines before it; of what stands first under a heading they are the heading's ``gap``.
        gap: of a heading, the blank lines below it; None if nothing stands under it.
        up: the bullet or heading that it stands under; None for what stands under none.
        key: by which a heading is told from others, or the words of a bullet.
        parts: of a bullet.
        item: which piece of the merged note it is a version of.
        siblings: those that stand under the same one, in order.
        number: which of them it is, from 0.
    """

    def __init__(self, kind: str, raw: bytes, eol: bytes, lead: bytes, up: Node | None) -> None:
        self.kind = kind
        self.raw = raw
        self.eol = eol
        self.lead = lead
        self.up = up
        self.norm = _normal(raw)
        self.key: tuple[object, ...] = ()
        self.parts = entries.Parts("")
        self.item: MergePiece | None = None
        self.children: list[Node] = []
        self.siblings: list[Node] = []
        self.number = 0
        self.gap: bytes | None = None

    @property
    def above(self) -> Node | None:
        """What stands right above it: under the same one, or that one."""
        return self.siblings[self.number - 1] if self.number else self.up

    @property
    def following(self) -> Node | None:
        """What stands next under the same one."""
        return self.siblings[self.number + 1] if self.number + 1 < len(self.siblings) else None

    @property
    def place(self) -> tuple[object, ...]:
        """What it stands under, for comparing with another version."""
        if self.up is None:
            return ()
        return self.up.key if self.up.kind == HEADING else (*self.up.place, self.up.norm)


class Version:
    """One version of a note, taken apart. Every byte of it is in one of the nodes, or in bom and tail."""

    def __init__(self, data: bytes) -> None:
        document = Document(data)
        self.bom = BOM if data.startswith(BOM) else b""
        self.newline = newline_of(data)
        self.nodes: list[Node] = []
        top: list[Node] = []
        at = len(self.bom)
        heading: Node | None = None
        around: list[tuple[int, Node]] = []
        seen: Counter[tuple[object, ...]] = Counter()
        titles = {section.start_line: section for section in document.sections if section.level}
        for kind, first, last, end in _stretches(document):
            extent = document.lines[last - 1]
            start = document.lines[first - 1].start
            while around and around[-1][0] < first:
                around.pop()
            above = None if kind in (FRONT, HEADING) else around[-1][1] if around else heading
            raw = data[start : extent.end]
            node = Node(kind, raw, data[extent.end : extent.next], data[at:start], above)
            at = extent.next
            self.nodes.append(node)
            node.siblings = above.children if above else top
            node.number = len(node.siblings)
            node.siblings.append(node)
            if above and above.kind == HEADING and not node.number:
                above.gap, node.lead = node.lead, b""
            if kind == HEADING:
                section = titles[first]
                path = (section.level, *(name.casefold() for name in section.path))
                node.key = (*path, seen[path])
                seen[path] += 1
                heading = node
            elif kind == BULLET:
                node.parts = _parts(raw)
                around.append((end, node))
        self.tail = data[at:]
        self.closed = not self.nodes or bool(self.nodes[-1].eol)

    def of(self, kind: str) -> list[Node]:
        """Its nodes of one kind, in order."""
        return [node for node in self.nodes if node.kind == kind]


def _stretches(document: Document) -> Iterator[tuple[str, int, int, int]]:
    """Kind, first and last line of each node in order, and where what it holds ends."""
    last = document.last_line
    headings = {each.start_line: max(each.start_line, each.body_line - 1) for each in document.sections if each.level}
    bullets = {bullet.line: bullet for bullet in document.bullets}
    blocks = {block.start_line: block.end_line for block in document.blocks}
    starts = sorted({*headings, *bullets, *blocks, last + 1})
    inside: list[int] = []
    line = 1
    if document.front_matter_lines:
        yield FRONT, 1, document.front_matter_lines[1], 0
        line = document.body_line
    while line <= last:
        while inside and inside[-1] < line:
            inside.pop()
        if document.is_blank(line):
            line += 1
            continue
        if line in headings:
            yield HEADING, line, headings[line], 0
            line = headings[line] + 1
            continue
        following = starts[bisect_right(starts, line)]
        if bullet := bullets.get(line):
            below = next((number for number in range(line + 1, bullet.end_line + 1) if number in bullets), 0)
            own = bullet.own_end_line if bullet.worded else (below - 1 if below else bullet.end_line)
            while own > line and document.is_blank(own):
                own -= 1
            yield BULLET, line, own, bullet.end_line
            inside.append(bullet.end_line)
            line = own + 1
            continue
        end = inside[-1] if inside else blocks.get(line, following - 1)
        end = next((number - 1 for number in range(line + 1, end + 1) if number in bullets), end)
        shown = end
        while shown > line and document.is_blank(shown):
            shown -= 1
        yield TEXT, line, shown, 0
        line = end + 1


def _parts(raw: bytes) -> entries.Parts:
    text = raw.decode("utf-8", "surrogateescape")
    mark = _MARK.match(text)
    words = text[mark.end() :] if mark else ""
    return entries.parse(" ".join(line.strip(" \t") for line in re.split(r"\r\n|\r|\n", words)), timed=True)


def _normal(raw: bytes) -> bytes:
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class MergePiece:
    """A piece of the merged note: its versions, and what becomes of it.

    Attributes:
        base, one, two: its node in the common version and in each side; None where it isn't.
        home: the item that it stands under.
        disputed: what is said below it where the sides disagree; empty where they don't.
        versions: the bytes that stand for it; none if it is gone, two if both sides stay.
    """

    def __init__(self, base: Node | None, one: Node | None, two: Node | None) -> None:
        self.base, self.one, self.two = base, one, two
        self.home: MergePiece | None = None
        self.down: list[MergePiece] = []
        self.versions: list[bytes] = []
        self.disputed = ""

    @property
    def nodes(self) -> tuple[Node | None, Node | None, Node | None]:
        """Base, one, two."""
        return self.base, self.one, self.two

    @property
    def any(self) -> Node:
        """One of its nodes, rather a side's than the base's."""
        node = self.one or self.two or self.base
        assert node is not None
        return node


class MergedNote(NamedTuple):
    """A merged note.

    Attributes:
        data: its bytes.
        disputed: about how many bullets the sides disagree.
    """

    data: bytes
    disputed: int


def merge(base: bytes, one: bytes, two: bytes, text_merge: TextMerge) -> MergedNote | None:
    """The merged note; None if entries can't be told in one of the versions, so that it must be merged by lines.

    Args:
        base: the version that both come from; empty for none.
        one: a side.
        two: the other; which is which makes no difference.
        text_merge: merges three versions of lines that are not bullets; None if they can't be merged.
    """
    if one == two or two == base:
        return MergedNote(one, 0)
    if one == base:
        return MergedNote(two, 0)
    one, two = sorted((one, two))  # so that no choice below can hang on who is called ours
    if any(len(data) > LARGEST or _SIGNS.search(data) or b"\0" in data for data in (base, one, two)):
        return None
    old, first, second = Version(base), Version(one), Version(two)
    items = _items(old, first, second)
    _place(items)
    for item in items:
        _settle(item, text_merge)
    _ask_again(items)
    top = _arranged(items, first, second)
    data = _written(top, old, first, second)
    wanted = Counter(_normal(raw).strip() for item in _walk(top) if item.any.kind == BULLET for raw in item.versions)
    found = Counter(node.norm.strip() for node in Version(data).of(BULLET))
    new = (raw for raw in found - wanted if not _parts(raw).text.startswith((ALSO_CHANGED, ALSO_REMOVED)))
    if wanted - found or any(_often(data, raw) > max(_often(one, raw), _often(two, raw)) for raw in new):
        return None  # an open fence of the one has swallowed a bullet of the other, or two of them are one closed one
    return MergedNote(data, sum(1 for item in _walk(top) if item.disputed))


def _often(data: bytes, raw: bytes) -> int:
    """How often a note has a line."""
    line = raw.partition(b"\n")[0]
    return sum(each.strip() == line for each in _normal(data).split(b"\n"))


# -- which is which


def _items(old: Version, first: Version, second: Version) -> list[MergePiece]:
    """One item for each piece that is in any of the versions."""
    once = _had_once(old, first, second)
    one, two = (_Pairs(old.nodes, side.nodes, base=True, once=once).found for side in (first, second))
    _same_copies(old, one, two)
    items = [MergePiece(node, one.get(node), two.get(node)) for node in old.nodes]
    taken = {node for item in items for node in (item.one, item.two) if node}
    new_one = [node for node in first.nodes if node not in taken]
    new_two = [node for node in second.nodes if node not in taken]
    both = _Pairs(new_one, new_two, base=False)
    items += [MergePiece(None, node, both.found.get(node)) for node in new_one]
    items += [MergePiece(None, None, node) for node in new_two if node not in both.back]
    for item in items:
        for node in item.nodes:
            if node:
                node.item = item
    return items


def _same_copies(old: Version, one: dict[Node, Node], two: dict[Node, Node]) -> None:
    """Of a line that stood there twice each side may have left another copy alone: both have left the same one, then.

    Else each would take away the copy of the other, and a line that both still have were gone.
    """
    groups: dict[object, tuple[list[Node], list[Node]]] = defaultdict(lambda: ([], []))
    for node in old.of(BULLET):
        kept = [node in side and side[node].norm == node.norm for side in (one, two)]
        if kept[0] is not kept[1]:
            groups[node.up, node.norm][kept[1]].append(node)
    for of_one, of_two in groups.values():
        for here, there in zip(of_one, of_two, strict=False):
            mine, other = two.pop(here, None), two.pop(there)
            two[here] = other
            if mine is not None:
                two[there] = mine


def _had_once(*versions: Version) -> set[object]:
    """The words of bullets that each version has once: they are the same bullet, below whatever lines it stands."""
    counts = [Counter(_words(node) for node in version.of(BULLET)) for version in versions]
    return {words for words, count in counts[0].items() if count == 1 and all(each[words] == 1 for each in counts)}


def _words(node: Node) -> tuple[str | None, str]:
    return node.parts.time, node.parts.text


class _Pairs:
    """Which node of one version is which of another.

    Args:
        old: nodes of the one, in order.
        new: nodes of the other.
        base: the other comes from the one, so what stands in the same place may be an edit of it, and what stands
            elsewhere may have been moved. Of two additions neither is assumed.
        once: the words of bullets that all versions have once.

    Attributes:
        found: by a node of the one version the same node in the other.
        back: the other way round.
    """

    def __init__(self, old: Sequence[Node], new: Sequence[Node], *, base: bool, once: Container[object] = ()) -> None:
        self.found: dict[Node, Node] = {}
        self.back: dict[Node, Node] = {}
        self._old, self._new, self._base = old, new, base
        self._by(FRONT, lambda node: node.kind)
        self._by(HEADING, lambda node: node.key)
        self._by(BULLET, lambda node: node.parts.block_id, unique=True)
        self._by(BULLET, lambda node: (node.place, node.norm))
        self._by(BULLET, lambda node: None if _nested(node) else (_section(node), node.parts.time, node.parts.text))
        if base:
            self._by(BULLET, lambda node: None if _nested(node) else node.norm, unique=True)
            self._by(BULLET, lambda node: None if _nested(node) else _words(node), unique=True)
            self._renamed()
        else:
            self._by(BULLET, lambda node: None if _nested(node) else _words(node), among=_within)
        self._below()
        self._moved(once)
        if base:
            self._by(BULLET, lambda node: node.norm.strip(), unique=True)
        self._by(TEXT, lambda node: (node.place, node.norm))
        if base:
            self._by(TEXT, lambda node: node.norm, unique=True)
            self._all_edited()
            self._edited(TEXT)

    def _pair(self, one: Node, two: Node) -> None:
        if _nested(one) and _nested(two) and not self._same_above(one, two):
            return
        names = {one.parts.block_id, two.parts.block_id} - {None}
        if self._base or len(names) < 2:  # else each may be linked to
            self._link(one, two)

    def _link(self, one: Node, two: Node) -> None:
        self.found[one] = two
        self.back[two] = one

    def _same_above(self, one: Node, two: Node) -> bool:
        """Whether nested bullets may be the same: what they are below is, or says the same, or they share an id."""
        assert one.up is not None
        same_id = one.parts.block_id is not None and one.parts.block_id == two.parts.block_id
        return same_id or self.found.get(one.up) is two.up or one.place == two.place

    def _by(
        self,
        kind: str,
        key: Callable[[Node], object],
        *,
        unique: bool = False,
        among: Callable[[Node, Node], bool] | None = None,
    ) -> None:
        """Pair what has the same key, in order; with ``unique`` only what no other node has.

        With ``among`` that, too, and only if it says that the two may be the same.
        """
        here: dict[object, list[Node]] = defaultdict(list)
        there: dict[object, list[Node]] = defaultdict(list)
        for nodes, groups, taken in ((self._old, here, self.found), (self._new, there, self.back)):
            for node in nodes:
                if node.kind == kind and node not in taken and (name := key(node)) is not None:
                    groups[name].append(node)
        for name, group in here.items():
            others = there.get(name, [])
            if not (unique or among) or (len(group) == len(others) == 1 and (not among or among(group[0], others[0]))):
                self._in_order(group, others)

    def _below(self) -> None:
        """Pair bullets with the same words below bullets that are paired; ``said by::`` stands below many a line."""
        paired = -1
        while paired != len(self.found):
            paired = len(self.found)
            self._by(BULLET, self._words_below)

    def _moved(self, once: Container[object]) -> None:
        """Pair what all versions have once though it stands below another line, then what is below it."""
        there = {_words(node): node for node in self._new if node.kind == BULLET and node not in self.back}
        for node in self._old:
            if node.kind == BULLET and node not in self.found and _words(node) in once and _words(node) in there:
                self._link(node, there[_words(node)])
        self._below()

    def _words_below(self, node: Node) -> object:
        """What a nested bullet is below, as a node of the one version, and its words; None if nobody knows that."""
        above = node.up if node.up in self.found else self.back.get(node.up) if node.up else None
        return (above, node.parts.time, node.parts.text) if above and _nested(node) else None

    def _in_order(self, group: Sequence[Node], others: list[Node]) -> None:
        """Pair copies of the same line: if some of them are gone, first those below the same line, or above it."""
        rest = list(group)
        if len(group) != len(others):
            for beside in (self._below_same, self._above_same):
                for one in list(rest):
                    fit = next((two for two in others if beside(one, two)), None)
                    if fit is not None:
                        rest.remove(one)
                        others.remove(fit)
                        self._pair(one, fit)
        for one, two in zip(rest, others, strict=False):
            self._pair(one, two)

    def _below_same(self, one: Node, two: Node) -> bool:
        return one.above is not None and two.above is not None and self.found.get(one.above) is two.above

    def _above_same(self, one: Node, two: Node) -> bool:
        """Whether the same stands next to both; of the last ones, whether they are below the same."""
        following = one.following, two.following
        if following == (None, None):
            return (self.found.get(one.up) if one.up else None) is two.up
        return None not in following and self.found.get(following[0]) is following[1]  # type: ignore[arg-type]

    def _renamed(self) -> None:
        """Headings with other words: most of what stood under the one stands under the other."""
        for one in self._old:
            if one.kind != HEADING or one in self.found:
                continue
            votes = Counter(self.found[child].up for child in one.children if child in self.found)
            for two, count in votes.most_common(1):
                if two and two.kind == HEADING and two not in self.back and 2 * count > len(one.children):
                    self._pair(one, two)

    def _all_edited(self) -> None:
        """Edited bullets, then what stands below them: unchanged, or edited itself."""
        paired = -1
        while paired != len(self.found):
            paired = len(self.found)
            self._edited(BULLET)
            self._below()

    def _edited(self, kind: str) -> None:
        """Pair what stands in the same place, between the same neighbours, with similar words; the likest first."""
        left = [(number, one) for number, one in enumerate(self._old) if one.kind == kind and one not in self.found]
        gaps: dict[object, list[Node]] = defaultdict(list)
        for node in self._new if left else ():
            if node.kind == kind and node not in self.back:
                gaps[_gap(node, self.back)].append(node)
        there: dict[Node, Node] = {one: one for one in self.found}
        close: list[tuple[float, int, int, Node, Node]] = []
        for number, one in left:
            for other, two in enumerate(gaps.get(_gap(one, there), ())):
                alike = _alike(one, two)
                if alike >= ALIKE:
                    close.append((-alike, number, other, one, two))
        for *_, one, two in sorted(close, key=lambda each: each[:3]):
            if one not in self.found and two not in self.back:
                self._pair(one, two)


def _nested(node: Node) -> bool:
    return node.up is not None and node.up.kind == BULLET


def _section(node: Node) -> tuple[object, ...]:
    while node.up is not None:
        node = node.up
    return node.key


def _within(one: Node, two: Node) -> bool:
    """Whether the one stands under a heading, and the other in front of all that this one is a part of."""
    here, there = sorted((_section(one)[1:-1], _section(two)[1:-1]), key=len)
    return here == there[: len(here)]


def _gap(node: Node, known: Mapping[Node, Node]) -> object:
    """The nearest known neighbour above a node, and what it stands under, as nodes of the old version."""
    up = known.get(node.up) if node.up else None
    if node.up and up is None:
        return node.up
    above = (known[each] for each in reversed(node.siblings[: node.number]) if each in known)
    return up, next(above, None)


def _alike(one: Node, two: Node) -> float:
    if one.kind == BULLET:
        said, says = one.parts.text.split(), two.parts.text.split()
        if one.parts.time and one.parts.time == two.parts.time and len(said) == len(says) == 1:
            return 1.0
    else:
        said, says = one.norm.decode("utf-8", "replace").split(), two.norm.decode("utf-8", "replace").split()
    if "::" in one.parts.text and one.parts.text.partition("::")[0] == two.parts.text.partition("::")[0]:
        return max(ALIKE, SequenceMatcher(None, said, says, autojunk=False).ratio())
    return SequenceMatcher(None, said, says, autojunk=False).ratio()


# -- what becomes of each


def _three(base: _T, one: _T, two: _T) -> tuple[_T, ...]:
    """What becomes of a value: one, or both where the sides disagree."""
    if one == two or two == base:
        return (one,)
    return (two,) if one == base else (one, two)


def _home(node: Node | None) -> MergePiece | None:
    return node.up.item if node and node.up else None


def _place(items: Sequence[MergePiece]) -> None:
    """Give every item the one that it stands under."""
    for item in items:
        homes = [_home(node) for node in (item.one, item.two) if node]
        if len(homes) == 2:
            homes = list(_three(_home(item.base), *homes)) if item.base else homes
            homes.sort(key=lambda home: (-len(home.any.key), home.any.norm) if home else (0, b""))
        item.home = homes[0] if homes else _home(item.base)
    for item in items:
        seen = {item}
        above = item.home
        while above is not None:
            if above in seen:  # the one moved beneath the other, and the other beneath the one
                item.home = None
                break
            seen.add(above)
            above = above.home


def _settle(item: MergePiece, text_merge: TextMerge) -> None:
    """Decide what stands for an item by itself."""
    base, one, two = item.nodes
    if one and two:
        _both(item, base, one, two, text_merge)
    elif base is None:
        item.versions = [item.any.raw]
    elif left := one or two:
        was, now = (node.parts._replace(block_id=None) for node in (base, left))  # an id alone says nothing
        if left.kind != BULLET:
            item.versions = [left.raw] if left.norm != base.norm else []
        elif was != now or _home(left) is not _home(base):
            item.versions = [left.raw]
            item.disputed = ALSO_REMOVED + entries.harmless(base.parts.text)


def _ask_again(items: Sequence[MergePiece]) -> None:
    """A question of an earlier merge that each side has answered differently: what either kept stays, and is asked
    again.

    Else each would take away what the other chose, and nothing were left.
    """
    groups: dict[str, list[MergePiece]] = defaultdict(list)
    for item in items:
        if item.base and item.base.kind == BULLET:
            for said in _questions(item.base):
                groups[said].append(item)
    for said, group in groups.items():
        kept = [{item for item in group if item.nodes[side]} for side in (1, 2)]
        # A line edited with the question left below it answers nothing; a question whose line was taken away, so that
        # it came below another one, is answered.
        holding = [item for item in items if item in group or item.base is None]
        asked = [sum(said in _questions(item.nodes[side]) for item in holding) for side in (0, 1, 2)]
        answered = [count < asked[0] for count in asked[1:]]
        left = [item for item in group if item in kept[0] | kept[1]]
        if not all(answered) or kept[0] == kept[1]:
            continue
        for item in left:
            item.versions = item.versions or [item.any.raw]
            if len(left) == 1 and item.base and not said.startswith(ALSO_REMOVED):
                said = ALSO_REMOVED + entries.harmless(item.base.parts.text)
            item.disputed = item.disputed or said


def _questions(node: Node | None) -> list[str]:
    """What an earlier merge has put below a bullet."""
    below = node.children if node else ()
    return [each.parts.text for each in below if each.parts.text.startswith((ALSO_CHANGED, ALSO_REMOVED))]


def _both(item: MergePiece, base: Node | None, one: Node, two: Node, text_merge: TextMerge) -> None:
    if one.norm == two.norm:
        item.versions = [min(_three(base.raw, one.raw, two.raw)) if base else min(one.raw, two.raw)]
        return
    if base and base.norm in (one.norm, two.norm):
        item.versions = [two.raw if one.norm == base.norm else one.raw]
        return
    first, second = sorted((one, two), key=lambda node: (node.norm, node.raw))
    if one.kind == BULLET:
        whole = _combined(base, *sorted((first, second), key=lambda node: _home(node) is not item.home))
        item.versions = [first.raw, second.raw] if whole is None else [whole]
        if whole is None:
            name = first.parts.block_id
            item.disputed = ALSO_CHANGED + entries.harmless(base.parts.text if base else name or first.parts.text)
    elif one.kind == FRONT:
        item.versions = [_front(base.raw if base else b"", first.raw, second.raw)]
    elif one.kind == HEADING:
        item.versions = [first.raw, second.raw]
    else:
        made = text_merge(base.raw if base else b"", first.raw, second.raw)
        item.versions = [first.raw, second.raw] if made is None else [made]


def _combined(base: Node | None, one: Node, two: Node) -> bytes | None:
    """A bullet of which the sides changed different parts; None if they disagree about one."""
    if any(b"\n" in node.norm for node in (base, one, two) if node):
        return None
    was = base.parts if base else None
    said: dict[str, str | None] = {}
    for name in entries.Parts._fields:
        values = {getattr(node.parts, name) for node in (one, two)}
        if was is not None:
            values = set(_three(getattr(was, name), *(getattr(node.parts, name) for node in (one, two))))
        elif name not in ("text", "time"):
            values -= {None} if len(values) > 1 else set()
        if name == "state" and len(values) > 1:
            values = {value for value in values if value not in (None, "extracted")}
            values -= {"expired"} if len(values) > 1 else set()  # by age, not by anybody's word
        if len(values) != 1:
            return None
        said[name] = values.pop()
    text = one.raw.decode("utf-8", "surrogateescape")
    mark = _MARK.match(text)
    made = entries.render(entries.Parts(**said)).removeprefix("- ")  # type: ignore[arg-type]
    return ((mark[0] if mark else "- ") + made).encode("utf-8", "surrogateescape")


def _front(base: bytes, one: bytes, two: bytes) -> bytes:
    """Front matter of which both sides changed something, by property.

    Of a property that both changed, lists are joined; else the first value stays and the other one as a comment.
    """
    was, first, second = _properties(base), _properties(one), _properties(two)
    newline = b"\r\n" if b"\r\n" in one else b"\n"
    found: list[bytes] = []
    for key in dict.fromkeys((*first, *second)):
        values = _three(was.get(key), first.get(key), second.get(key))
        there = [value for value in values if value is not None]
        if len(there) < 2:
            found += there[0] if there else []
            continue
        mine, other = sorted(there)
        if mine[0] == other[0] and len(mine) > 1 and len(other) > 1:
            gone = set(was.get(key) or ()) - (set(mine) & set(other))
            found += [line for line in dict.fromkeys((*mine, *other)) if line not in gone or line == mine[0]]
        else:
            found += [*mine, *(line if line.startswith(b"#") else b"# " + line for line in other)]
    return newline.join([b"---", *found, b"---"])


def _properties(raw: bytes) -> dict[bytes, list[bytes]]:
    """The lines of front matter by the property that they belong to."""
    found: dict[bytes, list[bytes]] = {}
    key = b""
    for line in _normal(raw).split(b"\n")[1:-1]:
        if match := _KEY.match(line):
            key = match[1].strip()
        found.setdefault(key, []).append(line)
    return found


# -- in which order


def _arranged(items: Sequence[MergePiece], first: Version, second: Version) -> list[MergePiece]:
    """The items that stay, each under its own, in order; those that stand under nothing."""
    for item in items:
        if not item.versions:
            continue
        above = item.home
        while above is not None and not above.versions:  # one side removed what the other put something under
            node = above.one or above.two or above.base
            assert node is not None
            above.versions = [node.raw]
            if node.kind == BULLET and above.base is not None:
                above.disputed = ALSO_REMOVED + entries.harmless(above.base.parts.text)
            above = above.home
    for item in items:  # who removed a line with all below it is asked once
        if item.disputed.startswith(ALSO_REMOVED) and any(
            each.disputed.startswith(ALSO_REMOVED) for each in _around(item)
        ):
            item.disputed = ""
    kept: dict[MergePiece | None, list[MergePiece]] = defaultdict(list)
    for item in items:
        if item.versions:
            kept[item.home].append(item)
    ranks = [{id(node): number for number, node in enumerate(version.nodes)} for version in (first, second)]
    for home, group in kept.items():
        here = set(group)
        sides = [
            sorted(
                (item for item in group if (node := (item.one, item.two)[side]) is not None),
                key=lambda item: ranks[side][id((item.one, item.two)[side])],
            )
            for side in (0, 1)
        ]
        ordered = _ordered(sides[0], sides[1], [item for item in items if item.base and item in here])
        ordered += [item for item in group if item not in set(ordered)]  # what both removed, and yet must stay
        if home is not None:
            home.down = ordered
        kept[home] = ordered
    return kept[None]


def _ordered(one: Sequence[MergePiece], two: Sequence[MergePiece], base: Sequence[MergePiece]) -> list[MergePiece]:
    """Two orders as one: what both have as the side that changed the order has it, what one has after its neighbour."""
    common = set(one) & set(two)
    order = [[item for item in items if item in common] for items in (base, one, two)]
    agreed = [item for item in order[0] if item in common]
    if len(agreed) == len(order[1]):
        chosen = _three(agreed, order[1], order[2])
    else:
        chosen = tuple({tuple(map(id, each)): each for each in order[1:]}.values())
    common_order = min(chosen, key=lambda items: [item.any.norm for item in items])
    runs: dict[MergePiece | None, list[list[MergePiece]]] = defaultdict(lambda: [[], []])
    for side, items in enumerate((one, two)):
        anchor = None
        for item in items:
            if item in common:
                anchor = item
            else:
                runs[anchor][side].append(item)
    found = []
    for anchor in (None, *common_order):
        found += [anchor] if anchor else []
        found += _joined(*runs[anchor]) if anchor in runs else []
    return found


def _joined(one: list[MergePiece], two: list[MergePiece]) -> list[MergePiece]:
    """What both sides added in the same place: by time if every line bears one, else the one side after the other."""
    if not one or not two:
        return [*one, *two]
    timed = [[(item.any.parts.time or "").rjust(16) for item in run] for run in (one, two)]
    if all(item.any.kind == BULLET and item.any.parts.time for item in (*one, *two)):
        keyed = [
            [(time, item.any.norm, item) for time, item in zip(_rising(times), run, strict=True)]
            for times, run in zip(timed, (one, two), strict=True)
        ]
        found: list[MergePiece] = []
        left, right = keyed
        while left and right:
            found.append((left if left[0][:2] <= right[0][:2] else right).pop(0)[2])
        return [*found, *(item for *_, item in (*left, *right))]
    # A heading and what follows it stay together: runs of whole sections, the one after the other. What stands under
    # no heading stays above them all.
    starts = [next((at for at, item in enumerate(run) if item.any.kind == HEADING), len(run)) for run in (one, two)]
    parts = [run[:at] for run, at in zip((one, two), starts, strict=True)], [one[starts[0] :], two[starts[1] :]]
    return [item for runs in parts for run in sorted(runs, key=_names) for item in run]


def _names(run: Sequence[MergePiece]) -> list[bytes]:
    return [item.any.norm for item in run]


def _rising(times: Sequence[str]) -> Iterator[str]:
    """Times that never fall, so that each side's lines keep their order."""
    latest = ""
    for time in times:
        latest = max(latest, time)
        yield latest


def _around(item: MergePiece) -> Iterator[MergePiece]:
    """What an item stands under, from the nearest on."""
    while item.home is not None:
        item = item.home
        yield item


def _walk(items: Iterable[MergePiece]) -> Iterator[MergePiece]:
    for item in items:
        yield item
        yield from _walk(item.down)


# -- the bytes


def _written(top: Sequence[MergePiece], old: Version, first: Version, second: Version) -> bytes:
    """The merged note's bytes: each item's own, and between them the blank lines that stood there."""
    newline = _chosen(old.newline, first.newline, second.newline)
    parts: list[bytes] = [_chosen(old.bom, first.bom, second.bom)]
    eol = b""
    previous: MergePiece | None = None
    for item in _walk(top):
        node = item.any
        first_below = item.home is not None and item.home.any.kind == HEADING and item.home.down[0] is item
        lead = _gap_below(item.home) if first_below and item.home else _lead(item)
        if previous and not lead and _may_join(node) and not _follows(previous, item):
            lead = newline  # else it would be read as part of what stands above
        own = first.newline if item.one else second.newline if item.two else newline
        ours = newline if item.base or (item.one and item.two) else own  # else new, from a note of other line endings
        for number, raw in enumerate(item.versions):
            said = (lead if not number else newline if node.kind == TEXT else b""), raw
            parts += [(eol or newline) if previous or number else b"", *(_ended(each, ours, newline) for each in said)]
            eol = _three_bytes(
                [each.eol for each in (item.one, item.two) if each], item.base.eol if item.base else None
            )
            eol = newline if eol == ours else eol
            if item.disputed and not (number + 1 == len(item.versions) and _is_asked(item)):
                parts += [eol or newline, _below(item, raw), item.disputed.encode("utf-8", "surrogateescape")]
        previous = item
    closed = max(_three(old.closed, first.closed, second.closed))
    if previous and closed:
        parts.append(eol or newline)
    tail = _chosen(old.tail, first.tail, second.tail)
    return b"".join((*parts, tail if not previous or closed else b""))


def _ended(data: bytes, old: bytes, new: bytes) -> bytes:
    """Bytes whose line endings of one kind become those of another; half of a CRLF is none of them."""
    return _ENDING.sub(lambda end: new if end[0] == old else end[0], data) if old != new else data


def _chosen(base: bytes, one: bytes, two: bytes) -> bytes:
    """What becomes of a property of the whole note; of two new values the larger."""
    return max(_three(base, one, two))


def _lead(item: MergePiece) -> bytes:
    """The blank lines before an item."""
    return _three_bytes([node.lead for node in (item.one, item.two) if node], item.base.lead if item.base else None)


def _gap_below(item: MergePiece) -> bytes:
    """The blank lines below a heading."""
    gaps = [node.gap for node in (item.one, item.two) if node and node.gap is not None]
    return _three_bytes(gaps, item.base.gap if item.base else None)


def _three_bytes(sides: Sequence[bytes], base: bytes | None) -> bytes:
    """What becomes of blank lines or a line ending, as far as the sides have them; of two new ones the longer."""
    if len(sides) == 2 and base is not None:
        sides = _three(base, *sides)
    return max(sides, key=lambda each: (len(each), each), default=base or b"")


def _may_join(node: Node) -> bool:
    """Whether it would be read as part of a paragraph right above it."""
    return node.kind == TEXT or (node.kind == HEADING and b"\n" in node.norm)


def _follows(previous: MergePiece | None, item: MergePiece) -> bool:
    """Whether a side has the two right after each other."""
    sides = ((item.one, previous.one), (item.two, previous.two)) if previous else ()
    return any(mine.above is other for mine, other in sides if mine and other)


def _is_asked(item: MergePiece) -> bool:
    """Whether an earlier merge has put the same question below it."""
    said = item.disputed.encode("utf-8", "surrogateescape")
    return any(raw.lstrip(b" \t")[2:] == said for child in item.down for raw in child.versions)


def _below(item: MergePiece, raw: bytes) -> bytes:
    """What a bullet below another one begins with: as the one that will stand there, else as far in as its words."""
    for child in item.down:
        if child.any.kind == BULLET:
            return child.versions[0][: len(child.versions[0]) - len(child.versions[0].lstrip(b" \t"))] + b"- "
    mark = re.match(rb"([ \t]*)[-*+]( {1,4}(?! )| |\t)", raw)
    if mark is None:
        return b"  - "
    return mark[1] + (b"\t" if b"\t" in mark[0] else b" " * (1 + len(mark[2]))) + b"- "


class Dispute(NamedTuple):
    """Lines about which two machines disagreed.

    Attributes:
        lines: the entries, in order.
        was: the words that they come from, or their block id.
        removed: whether one machine removed what the other changed.
    """

    lines: tuple[Entry, ...]
    was: str
    removed: bool


def disputed(found: Sequence[Entry]) -> list[Dispute]:
    """The disagreements that a merge has left in a note.

    Args:
        found: all its entries.
    """
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    above: list[Entry] = []
    for entry in found:
        while above and above[-1].end_line < entry.line:
            above.pop()
        for said in (ALSO_CHANGED, ALSO_REMOVED):
            if entry.text.startswith(said) and above:
                groups[said, entry.text.removeprefix(said)].append(above[-1])
        above.append(entry)
    return [
        Dispute(tuple(lines), was, said == ALSO_REMOVED)
        for (said, was), lines in groups.items()
        if said == ALSO_REMOVED or len(lines) > 1
    ]
