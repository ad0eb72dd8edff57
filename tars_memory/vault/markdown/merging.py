"""Merge two versions of a note with their common ancestor, entry by entry. Pure functions, no I/O.

Two bullets are versions of the same bullet if they share a block id, or have the same words, or have similar words in
the same place. A change, move or removal that only one side made is applied; a line that both sides added appears once,
and each side's lines keep their order. The result is the same whichever side is called ours.

Where the sides disagree about a bullet, the merge decides nothing: both versions stay, each with a child bullet that
quotes the ancestor (``also changed:: old words``). A bullet that one side removed and the other changed stays with
``also removed:: old words``. Review asks about these bullets (:func:`disputed`).
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import BOM, Document, newline_of
from tars_memory.vault.markdown.lines import ALSO_CHANGED, ALSO_REMOVED

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from tars_memory.vault.model import Entry

    TextMerge = Callable[[bytes, bytes, bytes], bytes | None]

_T = TypeVar("_T")

MIN_SIMILARITY = 0.5
"""Minimum similarity of two lines in the same place for one to count as an edit of the other, from 0 to 1. Nothing is
lost below it: the lines count as one removed and one added."""

MAX_BYTES = 4_000_000
"""Maximum size of a version in bytes; git merges larger ones by lines."""

_CONFLICT_MARKERS = re.compile(rb"^(?:<{7}|>{7}|\|{7})(?: |$)", re.MULTILINE)
_MARK = re.compile(r"[ \t]*[-*+](?:[ \t]+|(?=[\r\n]))")
_ENDING = re.compile(rb"\r\n|\r|\n")
_KEY = re.compile(rb"([^\s#:][^:]*):(?:\s|$)")

FRONT, HEADING, BULLET, TEXT = "front", "heading", "bullet", "text"


class Node:
    """A block of one version: front matter, a heading, a bullet's own lines, or other lines that belong together.

    Attributes:
        kind: FRONT, HEADING, BULLET or TEXT.
        raw: the block's bytes, without the final line ending.
        eol: the final line ending; empty at the end of a note without one.
        lead: the blank lines before the block; those before the first block under a heading are the heading's ``gap``.
        parent: the bullet or heading that contains the block; None at the top of the note.
        norm: ``raw`` with every line ending as LF.
        key: identifies a heading: level, titles of its path, and number among headings with the same path; empty for
            other blocks.
        parts: the parsed words of a bullet.
        piece: the piece of the merged note that this node is a version of.
        children: the nodes directly under this one, in order.
        siblings: the nodes with the same parent, in order, this one included.
        number: index of this node among its siblings.
        gap: the blank lines below a heading; None if it contains nothing.
    """

    def __init__(self, kind: str, raw: bytes, eol: bytes, lead: bytes, parent: Node | None) -> None:
        self.kind = kind
        self.raw = raw
        self.eol = eol
        self.lead = lead
        self.parent = parent
        self.norm = _normal(raw)
        self.key: tuple[object, ...] = ()
        self.parts = entries.Parts("")
        self.piece: MergePiece | None = None
        self.children: list[Node] = []
        self.siblings: list[Node] = []
        self.number = 0
        self.gap: bytes | None = None

    @property
    def above(self) -> Node | None:
        """The previous sibling, or the parent of a first child."""
        return self.siblings[self.number - 1] if self.number else self.parent

    @property
    def following(self) -> Node | None:
        """The next sibling."""
        return self.siblings[self.number + 1] if self.number + 1 < len(self.siblings) else None

    @property
    def place(self) -> tuple[object, ...]:
        """The path of containing blocks, comparable between versions."""
        if self.parent is None:
            return ()
        return self.parent.key if self.parent.kind == HEADING else (*self.parent.place, self.parent.norm)


class Version:
    """One version of a note, split into nodes.

    Attributes:
        bom: the byte order mark, if the version begins with one.
        newline: the line ending that the version uses.
        nodes: every block, in order.
        tail: the bytes after the last node. Nodes, ``bom`` and ``tail`` together hold every byte of the version.
        closed: whether the last node ends with a line ending.
    """

    def __init__(self, data: bytes) -> None:
        document = Document(data)
        self.bom = BOM if data.startswith(BOM) else b""
        self.newline = newline_of(data)
        self.nodes: list[Node] = []
        top: list[Node] = []
        at = len(self.bom)
        heading: Node | None = None
        open_bullets: list[tuple[int, Node]] = []
        seen: Counter[tuple[object, ...]] = Counter()
        titles = {section.start_line: section for section in document.sections if section.level}
        for kind, first, last, end in _node_lines(document):
            extent = document.lines[last - 1]
            start = document.lines[first - 1].start
            while open_bullets and open_bullets[-1][0] < first:
                open_bullets.pop()
            parent = None if kind in (FRONT, HEADING) else open_bullets[-1][1] if open_bullets else heading
            raw = data[start : extent.end]
            node = Node(kind, raw, data[extent.end : extent.next], data[at:start], parent)
            at = extent.next
            self.nodes.append(node)
            node.siblings = parent.children if parent else top
            node.number = len(node.siblings)
            node.siblings.append(node)
            if parent and parent.kind == HEADING and not node.number:
                parent.gap, node.lead = node.lead, b""
            if kind == HEADING:
                section = titles[first]
                path = (section.level, *(name.casefold() for name in section.path))
                node.key = (*path, seen[path])
                seen[path] += 1
                heading = node
            elif kind == BULLET:
                node.parts = _parts(raw)
                open_bullets.append((end, node))
        self.tail = data[at:]
        self.closed = not self.nodes or bool(self.nodes[-1].eol)

    def of(self, kind: str) -> list[Node]:
        """Return the nodes of one kind, in order."""
        return [node for node in self.nodes if node.kind == kind]


def _node_lines(document: Document) -> Iterator[tuple[str, int, int, int]]:
    """Yield the kind, the first line and the last line of each node, in order, and the last line of its children.

    The last number is 0 for nodes that are not bullets.
    """
    last_line = document.last_line
    headings = {
        section.start_line: max(section.start_line, section.body_line - 1)
        for section in document.sections
        if section.level
    }
    bullets = {bullet.line: bullet for bullet in document.bullets}
    blocks = {block.start_line: block.end_line for block in document.blocks}
    starts = sorted({*headings, *bullets, *blocks, last_line + 1})
    open_ends: list[int] = []
    line = 1
    if document.front_matter_lines:
        yield FRONT, 1, document.front_matter_lines[1], 0
        line = document.body_line
    while line <= last_line:
        while open_ends and open_ends[-1] < line:
            open_ends.pop()
        if document.is_blank(line):
            line += 1
            continue
        if line in headings:
            yield HEADING, line, headings[line], 0
            line = headings[line] + 1
            continue
        next_start = starts[bisect_right(starts, line)]
        if bullet := bullets.get(line):
            child = next((number for number in range(line + 1, bullet.end_line + 1) if number in bullets), 0)
            own_end = bullet.own_end_line if bullet.worded else (child - 1 if child else bullet.end_line)
            own_end = _trimmed(document, line, own_end)
            yield BULLET, line, own_end, bullet.end_line
            open_ends.append(bullet.end_line)
            line = own_end + 1
            continue
        end = open_ends[-1] if open_ends else blocks.get(line, next_start - 1)
        end = next((number - 1 for number in range(line + 1, end + 1) if number in bullets), end)
        yield TEXT, line, _trimmed(document, line, end), 0
        line = end + 1


def _trimmed(document: Document, first: int, last: int) -> int:
    """Return the last line of a block without its trailing blank lines."""
    while last > first and document.is_blank(last):
        last -= 1
    return last


def _parts(raw: bytes) -> entries.Parts:
    """Parse the words of a bullet, its lines joined into one."""
    text = raw.decode("utf-8", "surrogateescape")
    mark = _MARK.match(text)
    words = text[mark.end() :] if mark else ""
    return entries.parse(words, timed=True)


def _normal(raw: bytes) -> bytes:
    """Return a text with every line ending as LF."""
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class MergePiece:
    """A block of the merged note: the node of each version, and the result.

    Attributes:
        base, ours, theirs: the node in the common ancestor and in each side; None where the side lacks it.
        parent: the piece that contains this one.
        children: the pieces that this one contains, in order.
        versions: the bytes to write; none for a removed piece, two if both sides' versions stay.
        question: the text of the child bullet that asks about a disagreement; empty if the sides agree.
    """

    def __init__(self, base: Node | None, ours: Node | None, theirs: Node | None) -> None:
        self.base, self.ours, self.theirs = base, ours, theirs
        self.parent: MergePiece | None = None
        self.children: list[MergePiece] = []
        self.versions: list[bytes] = []
        self.question = ""

    @property
    def nodes(self) -> tuple[Node | None, Node | None, Node | None]:
        """The nodes of the common ancestor, of our side and of theirs."""
        return self.base, self.ours, self.theirs

    @property
    def any(self) -> Node:
        """Our node, else theirs, else that of the common ancestor."""
        node = self.ours or self.theirs or self.base
        assert node is not None
        return node


class MergedNote(NamedTuple):
    """A merged note.

    Attributes:
        data: the bytes.
        disputed: number of bullets that the sides disagree about.
    """

    data: bytes
    disputed: int


def merge(base: bytes, ours: bytes, theirs: bytes, text_merge: TextMerge) -> MergedNote | None:
    """Merge two versions of a note.

    Args:
        base: the common ancestor; empty if there is none.
        ours: one side.
        theirs: the other side. Exchanging the sides does not change the result.
        text_merge: merges three versions of lines that are not bullets; returns None if it can't.

    Returns:
        The merged note; None if it must be merged by lines, because a version is too large, holds conflict markers or
        NUL bytes, or the merged text would not parse back into the merged bullets.
    """
    if ours == theirs or theirs == base:
        return MergedNote(ours, 0)
    if ours == base:
        return MergedNote(theirs, 0)
    ours, theirs = sorted((ours, theirs))  # so that no choice below depends on which side is called ours
    if any(len(data) > MAX_BYTES or _CONFLICT_MARKERS.search(data) or b"\0" in data for data in (base, ours, theirs)):
        return None
    base_version, our_version, their_version = Version(base), Version(ours), Version(theirs)
    pieces = _make_pieces(base_version, our_version, their_version)
    _set_parents(pieces)
    for piece in pieces:
        _decide(piece, text_merge)
    _repeat_questions(pieces)
    top = _arrange(pieces, our_version, their_version)
    data = _render(top, base_version, our_version, their_version)
    wanted = Counter(_normal(raw).strip() for piece in _walk(top) if piece.any.kind == BULLET for raw in piece.versions)
    found = Counter(node.norm.strip() for node in Version(data).of(BULLET))
    new = (raw for raw in found - wanted if not _parts(raw).text.startswith((ALSO_CHANGED, ALSO_REMOVED)))
    if wanted - found or any(
        _count_lines(data, raw) > max(_count_lines(ours, raw), _count_lines(theirs, raw)) for raw in new
    ):
        return None  # an unclosed fence of one side swallowed a bullet of the other, or two open fences became a pair
    return MergedNote(data, sum(1 for piece in _walk(top) if piece.question))


def _count_lines(data: bytes, raw: bytes) -> int:
    """Return how often the first line of a block occurs in a note."""
    wanted = raw.partition(b"\n")[0]
    return sum(line.strip() == wanted for line in _normal(data).split(b"\n"))


# -- pair the nodes of the versions


def _make_pieces(base: Version, ours: Version, theirs: Version) -> list[MergePiece]:
    """Return one piece for each block that occurs in any of the versions."""
    once = _unique_words(base, ours, theirs)
    our_pairs, their_pairs = (_Pairs(base.nodes, side.nodes, base=True, once=once).new_of for side in (ours, theirs))
    _align_copies(base, our_pairs, their_pairs)
    pieces = [MergePiece(node, our_pairs.get(node), their_pairs.get(node)) for node in base.nodes]
    taken = {node for piece in pieces for node in (piece.ours, piece.theirs) if node}
    only_ours = [node for node in ours.nodes if node not in taken]
    only_theirs = [node for node in theirs.nodes if node not in taken]
    both = _Pairs(only_ours, only_theirs, base=False)
    pieces += [MergePiece(None, node, both.new_of.get(node)) for node in only_ours]
    pieces += [MergePiece(None, None, node) for node in only_theirs if node not in both.old_of]
    for piece in pieces:
        for node in piece.nodes:
            if node:
                node.piece = piece
    return pieces


def _align_copies(base: Version, ours: dict[Node, Node], theirs: dict[Node, Node]) -> None:
    """Re-pair copies of a line of which each side left a different copy unchanged, so that both left the same one.

    Otherwise each side would remove the copy that the other kept, and a line that both still have would be gone.

    Args:
        base: the common ancestor.
        ours: our nodes by the nodes of the ancestor.
        theirs: their nodes by the nodes of the ancestor; changed in place.
    """
    groups: dict[object, tuple[list[Node], list[Node]]] = defaultdict(lambda: ([], []))
    for node in base.of(BULLET):
        kept = [node in side and side[node].norm == node.norm for side in (ours, theirs)]
        if kept[0] is not kept[1]:
            groups[node.parent, node.norm][kept[1]].append(node)
    for kept_by_us, kept_by_them in groups.values():
        for our_copy, their_copy in zip(kept_by_us, kept_by_them, strict=False):
            changed, unchanged = theirs.pop(our_copy, None), theirs.pop(their_copy)
            theirs[our_copy] = unchanged
            if changed is not None:
                theirs[their_copy] = changed


def _unique_words(*versions: Version) -> set[object]:
    """Return the words that exactly one bullet of each version has: it is the same bullet wherever it moved."""
    counts = [Counter(_words(node) for node in version.of(BULLET)) for version in versions]
    return {words for words in counts[0] if all(count[words] == 1 for count in counts)}


def _words(node: Node) -> tuple[str | None, str]:
    """Return the time and the text of a bullet."""
    return node.parts.time, node.parts.text


class _Pairs:
    """Pairs of nodes, one of an old and one of a new version, that are the same block.

    Args:
        old: nodes of the old version, in order.
        new: nodes of the new version, in order.
        base: whether the new version derives from the old one. Then a node in the same place may be an edit, and a
            node elsewhere may have been moved; between the additions of two sides neither is assumed.
        once: words that exactly one bullet of every version has (:func:`_unique_words`).

    Attributes:
        new_of: new nodes by their old nodes.
        old_of: old nodes by their new nodes.
    """

    def __init__(self, old: Sequence[Node], new: Sequence[Node], *, base: bool, once: Container[object] = ()) -> None:
        self.new_of: dict[Node, Node] = {}
        self.old_of: dict[Node, Node] = {}
        self._old, self._new, self._base = old, new, base
        self._pair_by(FRONT, lambda node: node.kind)
        self._pair_by(HEADING, lambda node: node.key)
        self._pair_by(BULLET, lambda node: node.parts.block_id, unique=True)
        self._pair_by(BULLET, lambda node: (node.place, node.norm))
        self._pair_by(
            BULLET, lambda node: None if _nested(node) else (_section(node), node.parts.time, node.parts.text)
        )
        if base:
            self._pair_by(BULLET, lambda node: None if _nested(node) else node.norm, unique=True)
            self._pair_by(BULLET, lambda node: None if _nested(node) else _words(node), unique=True)
            self._pair_renamed_headings()
        else:
            self._pair_by(BULLET, lambda node: None if _nested(node) else _words(node), compatible=_nested_sections)
        self._pair_children()
        self._pair_moved(once)
        if base:
            self._pair_by(BULLET, lambda node: node.norm.strip(), unique=True)
        self._pair_by(TEXT, lambda node: (node.place, node.norm))
        if base:
            self._pair_by(TEXT, lambda node: node.norm, unique=True)
            self._pair_edited_bullets()
            self._pair_edited(TEXT)

    def _pair(self, old: Node, new: Node) -> None:
        """Pair two nodes unless their parents differ, or they are additions with different block ids."""
        if _nested(old) and _nested(new) and not self._same_parent(old, new):
            return
        names = {old.parts.block_id, new.parts.block_id} - {None}
        if self._base or len(names) < 2:  # links may lead to either block id
            self._link(old, new)

    def _link(self, old: Node, new: Node) -> None:
        """Pair two nodes, whatever their parents are."""
        self.new_of[old] = new
        self.old_of[new] = old

    def _same_parent(self, old: Node, new: Node) -> bool:
        """Whether nested bullets may be the same: their parents are paired or have equal text, or they share an id."""
        assert old.parent is not None
        same_id = old.parts.block_id is not None and old.parts.block_id == new.parts.block_id
        return same_id or self.new_of.get(old.parent) is new.parent or old.place == new.place

    def _pair_by(
        self,
        kind: str,
        key: Callable[[Node], object],
        *,
        unique: bool = False,
        compatible: Callable[[Node, Node], bool] | None = None,
    ) -> None:
        """Pair unpaired nodes that have the same key, in order.

        Args:
            kind: the kind of node.
            key: None for a node that must not be paired.
            unique: pair only keys that one node of each version has.
            compatible: pair only such unique keys whose two nodes it accepts.
        """
        old_groups: dict[object, list[Node]] = defaultdict(list)
        new_groups: dict[object, list[Node]] = defaultdict(list)
        for nodes, groups, paired in ((self._old, old_groups, self.new_of), (self._new, new_groups, self.old_of)):
            for node in nodes:
                if node.kind == kind and node not in paired and (name := key(node)) is not None:
                    groups[name].append(node)
        for name, old in old_groups.items():
            new = new_groups.get(name, [])
            single = len(old) == len(new) == 1
            if compatible and not (single and compatible(old[0], new[0])):
                continue
            if single or not unique:
                self._pair_copies(old, new)

    def _pair_children(self) -> None:
        """Pair child bullets of paired bullets by their words, down to the deepest level.

        The parent counts because many lines have a child with the same words, such as ``said by::``.
        """
        paired = -1
        while paired != len(self.new_of):
            paired = len(self.new_of)
            self._pair_by(BULLET, self._parent_and_words)

    def _pair_moved(self, once: Container[object]) -> None:
        """Pair bullets whose words every version has once, though their parents differ; then their children."""
        by_words = {_words(node): node for node in self._new if node.kind == BULLET and node not in self.old_of}
        for node in self._old:
            if node.kind == BULLET and node not in self.new_of and _words(node) in once and _words(node) in by_words:
                self._link(node, by_words[_words(node)])
        self._pair_children()

    def _parent_and_words(self, node: Node) -> object:
        """Return the parent of a nested bullet, as a node of the old version, with its words; None if unpaired."""
        parent = node.parent if node.parent in self.new_of else self.old_of.get(node.parent) if node.parent else None
        return (parent, *_words(node)) if parent and _nested(node) else None

    def _pair_copies(self, old_copies: Sequence[Node], new_copies: Sequence[Node]) -> None:
        """Pair copies of the same line: if their number changed, first those with the same neighbours."""
        old_left, new_left = dict.fromkeys(old_copies), dict.fromkeys(new_copies)
        if len(old_left) != len(new_left):
            for neighbour in (_predecessor, _successor):
                beside: dict[tuple[bool, Node | None], list[Node]] = defaultdict(list)
                for new in reversed(new_left):
                    beside[neighbour(new)].append(new)
                for old in list(old_left):
                    is_last, node = neighbour(old)
                    place = is_last, self.new_of.get(node) if node else None
                    if place != (False, None) and beside[place]:
                        new = beside[place].pop()
                        del old_left[old], new_left[new]
                        self._pair(old, new)
        for old, new in zip(old_left, new_left, strict=False):
            self._pair(old, new)

    def _pair_renamed_headings(self) -> None:
        """Pair renamed headings: more than half of the old heading's children are paired with children of the new."""
        for old in self._old:
            if old.kind != HEADING or old in self.new_of:
                continue
            votes = Counter(self.new_of[child].parent for child in old.children if child in self.new_of)
            for new, count in votes.most_common(1):
                if new and new.kind == HEADING and new not in self.old_of and 2 * count > len(old.children):
                    self._pair(old, new)

    def _pair_edited_bullets(self) -> None:
        """Pair edited bullets, then their children, unchanged or edited too."""
        paired = -1
        while paired != len(self.new_of):
            paired = len(self.new_of)
            self._pair_edited(BULLET)
            self._pair_children()

    def _pair_edited(self, kind: str) -> None:
        """Pair nodes in the same gap between paired siblings that have similar words, the most similar first."""
        unpaired = [(rank, old) for rank, old in enumerate(self._old) if old.kind == kind and old not in self.new_of]
        gaps: dict[object, list[Node]] = defaultdict(list)
        for node in self._new if unpaired else ():
            if node.kind == kind and node not in self.old_of:
                gaps[_gap(node, self.old_of)].append(node)
        itself: dict[Node, Node] = {old: old for old in self.new_of}
        candidates: list[tuple[float, int, int, Node, Node]] = []
        for old_rank, old in unpaired:
            for new_rank, new in enumerate(gaps.get(_gap(old, itself), ())):
                similarity = _similarity(old, new)
                if similarity >= MIN_SIMILARITY:
                    candidates.append((-similarity, old_rank, new_rank, old, new))
        for *_, old, new in sorted(candidates, key=lambda candidate: candidate[:3]):
            if old not in self.new_of and new not in self.old_of:
                self._pair(old, new)


def _predecessor(node: Node) -> tuple[bool, Node | None]:
    """Return False, and the node right above."""
    return False, node.above


def _successor(node: Node) -> tuple[bool, Node | None]:
    """Return whether a node is the last child, and its parent then, else its next sibling."""
    return (True, node.parent) if node.following is None else (False, node.following)


def _nested(node: Node) -> bool:
    """Whether the node is inside a bullet."""
    return node.parent is not None and node.parent.kind == BULLET


def _section(node: Node) -> tuple[object, ...]:
    """Return the key of the heading above a node; empty before the first heading."""
    while node.parent is not None:
        node = node.parent
    return node.key


def _nested_sections(first: Node, second: Node) -> bool:
    """Whether two nodes are in the same section, or one is in a subsection of the other's section."""
    outer, inner = sorted((_section(first)[1:-1], _section(second)[1:-1]), key=len)
    return outer == inner[: len(outer)]


def _gap(node: Node, known: Mapping[Node, Node]) -> object:
    """Return the parent of a node and the nearest paired sibling above it, as nodes of the old version.

    Args:
        node: of either version.
        known: the old node of every paired node in the version of ``node``.

    Returns:
        A pair that is equal for nodes in the same gap; the parent itself if it is not paired.
    """
    parent = known.get(node.parent) if node.parent else None
    if node.parent and parent is None:
        return node.parent
    above = (known[sibling] for sibling in reversed(node.siblings[: node.number]) if sibling in known)
    return parent, next(above, None)


def _similarity(first: Node, second: Node) -> float:
    """Return how similar two nodes of one kind are, from 0 to 1.

    Two single words with the same time count as equal; two values of the same ``name::`` are at least similar enough.
    """
    if first.kind == BULLET:
        first_words, second_words = first.parts.text.split(), second.parts.text.split()
        if first.parts.time and first.parts.time == second.parts.time and len(first_words) == len(second_words) == 1:
            return 1.0
    else:
        first_words, second_words = (
            first.norm.decode("utf-8", "replace").split(),
            second.norm.decode("utf-8", "replace").split(),
        )
    if "::" in first.parts.text and first.parts.text.partition("::")[0] == second.parts.text.partition("::")[0]:
        return max(MIN_SIMILARITY, SequenceMatcher(None, first_words, second_words, autojunk=False).ratio())
    return SequenceMatcher(None, first_words, second_words, autojunk=False).ratio()


# -- decide about each piece


def _three_way(base: _T, ours: _T, theirs: _T) -> tuple[_T, ...]:
    """Merge a value: return the result, or both sides' values if each side changed it differently."""
    if ours == theirs or theirs == base:
        return (ours,)
    return (theirs,) if ours == base else (ours, theirs)


def _parent_piece(node: Node | None) -> MergePiece | None:
    """Return the piece of a node's parent; None without a node or a parent."""
    return node.parent.piece if node and node.parent else None


def _set_parents(pieces: Sequence[MergePiece]) -> None:
    """Set the parent of every piece."""
    for piece in pieces:
        parents = [_parent_piece(node) for node in (piece.ours, piece.theirs) if node]
        if len(parents) == 2:
            parents = list(_three_way(_parent_piece(piece.base), *parents)) if piece.base else parents
            parents.sort(key=lambda parent: (-len(parent.any.key), parent.any.norm) if parent else (0, b""))
        piece.parent = parents[0] if parents else _parent_piece(piece.base)
    for piece in pieces:
        seen = {piece}
        above = piece.parent
        while above is not None:
            if above in seen:  # one side moved A below B, the other side moved B below A
                piece.parent = None
                break
            seen.add(above)
            above = above.parent


def _decide(piece: MergePiece, text_merge: TextMerge) -> None:
    """Set the versions and the question of a piece, regardless of other pieces."""
    base, ours, theirs = piece.nodes
    if ours and theirs:
        _decide_both(piece, base, ours, theirs, text_merge)
    elif base is None:
        piece.versions = [piece.any.raw]
    elif left := ours or theirs:
        was, now = (node.parts._replace(block_id=None) for node in (base, left))  # a new id alone is not a change
        if left.kind != BULLET:
            piece.versions = [left.raw] if left.norm != base.norm else []
        elif was != now or _parent_piece(left) is not _parent_piece(base):
            piece.versions = [left.raw]
            piece.question = ALSO_REMOVED + entries.harmless(base.parts.text)


def _repeat_questions(pieces: Sequence[MergePiece]) -> None:
    """Ask a question of an earlier merge again if the sides answered it differently, and keep what either side kept.

    Otherwise each side would remove what the other chose, and nothing would be left.
    """
    groups: dict[str, list[MergePiece]] = defaultdict(list)
    for piece in pieces:
        if piece.base and piece.base.kind == BULLET:
            for question in _questions(piece.base):
                groups[question].append(piece)
    for question, group in groups.items():
        kept = [{piece for piece in group if piece.nodes[side]} for side in (1, 2)]
        # Editing a line and leaving the question below it is not an answer. Removing the line is, even if the question
        # stayed and is below another line now.
        holders = [piece for piece in pieces if piece in group or piece.base is None]
        asked = [sum(question in _questions(piece.nodes[side]) for piece in holders) for side in (0, 1, 2)]
        answered = [count < asked[0] for count in asked[1:]]
        if not all(answered) or kept[0] == kept[1]:
            continue
        remaining = [piece for piece in group if piece in kept[0] | kept[1]]
        for piece in remaining:
            piece.versions = piece.versions or [piece.any.raw]
            if len(remaining) == 1 and piece.base and not question.startswith(ALSO_REMOVED):
                question = ALSO_REMOVED + entries.harmless(piece.base.parts.text)
            piece.question = piece.question or question


def _questions(node: Node | None) -> list[str]:
    """Return the questions that an earlier merge put below a bullet."""
    texts = (child.parts.text for child in (node.children if node else ()))
    return [text for text in texts if text.startswith((ALSO_CHANGED, ALSO_REMOVED))]


def _decide_both(piece: MergePiece, base: Node | None, ours: Node, theirs: Node, text_merge: TextMerge) -> None:
    """Set the versions and the question of a piece that both sides have."""
    if ours.norm == theirs.norm:
        piece.versions = [min(_three_way(base.raw, ours.raw, theirs.raw)) if base else min(ours.raw, theirs.raw)]
        return
    if base and base.norm in (ours.norm, theirs.norm):
        piece.versions = [theirs.raw if ours.norm == base.norm else ours.raw]
        return
    first, second = sorted((ours, theirs), key=lambda node: (node.norm, node.raw))
    if ours.kind == BULLET:
        whole = _merged_bullet(base, *sorted((first, second), key=lambda node: _parent_piece(node) is not piece.parent))
        piece.versions = [first.raw, second.raw] if whole is None else [whole]
        if whole is None:
            name = first.parts.block_id
            piece.question = ALSO_CHANGED + entries.harmless(base.parts.text if base else name or first.parts.text)
    elif ours.kind == FRONT:
        piece.versions = [_merged_front_matter(base.raw if base else b"", first.raw, second.raw)]
    elif ours.kind == HEADING:
        piece.versions = [first.raw, second.raw]
    else:
        merged = text_merge(base.raw if base else b"", first.raw, second.raw)
        piece.versions = [first.raw, second.raw] if merged is None else [merged]


def _merged_bullet(base: Node | None, ours: Node, theirs: Node) -> bytes | None:
    """Merge a bullet of which the sides changed different parts; return None if they disagree about a part."""
    if any(b"\n" in node.norm for node in (base, ours, theirs) if node):
        return None
    was = base.parts if base else None
    merged: dict[str, str | None] = {}
    for field in entries.Parts._fields:
        values = {getattr(node.parts, field) for node in (ours, theirs)}
        if was is not None:
            values = set(_three_way(getattr(was, field), *(getattr(node.parts, field) for node in (ours, theirs))))
        elif field not in ("text", "time"):
            values -= {None} if len(values) > 1 else set()
        if field == "state" and len(values) > 1:
            values = {value for value in values if value not in (None, "extracted")}
            values -= {"expired"} if len(values) > 1 else set()  # set by age: gives way to one that a person set
        if len(values) != 1:
            return None
        merged[field] = values.pop()
    text = ours.raw.decode("utf-8", "surrogateescape")
    mark = _MARK.match(text)
    words = entries.render(entries.Parts(**merged)).removeprefix("- ")  # type: ignore[arg-type]
    return ((mark[0] if mark else "- ") + words).encode("utf-8", "surrogateescape")


def _merged_front_matter(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge front matter that both sides changed, property by property.

    If both changed the same property, lists are joined; of other values the first in byte order stays, and the other
    becomes a comment.
    """
    base_lines, our_lines, their_lines = _properties(base), _properties(ours), _properties(theirs)
    newline = b"\r\n" if b"\r\n" in ours else b"\n"
    found: list[bytes] = []
    for key in dict.fromkeys((*our_lines, *their_lines)):
        values = _three_way(base_lines.get(key), our_lines.get(key), their_lines.get(key))
        present = [value for value in values if value is not None]
        if len(present) < 2:
            found += present[0] if present else []
            continue
        kept, commented = sorted(present)
        if kept[0] == commented[0] and len(kept) > 1 and len(commented) > 1:
            removed = set(base_lines.get(key) or ()) - (set(kept) & set(commented))
            found += [line for line in dict.fromkeys((*kept, *commented)) if line not in removed or line == kept[0]]
        else:
            found += [*kept, *(line if line.startswith(b"#") else b"# " + line for line in commented)]
    return newline.join([b"---", *found, b"---"])


def _properties(raw: bytes) -> dict[bytes, list[bytes]]:
    """Return the lines of front matter, by property."""
    found: dict[bytes, list[bytes]] = {}
    key = b""
    for line in _normal(raw).split(b"\n")[1:-1]:
        if match := _KEY.match(line):
            key = match[1].strip()
        found.setdefault(key, []).append(line)
    return found


# -- put the pieces in order


def _arrange(pieces: Sequence[MergePiece], ours: Version, theirs: Version) -> list[MergePiece]:
    """Set the children of every piece that stays, in order; return the pieces without a parent."""
    for piece in pieces:
        if not piece.versions:
            continue
        above = piece.parent
        while above is not None and not above.versions:  # one side removed it, the other added a child
            above.versions = [above.any.raw]
            if above.any.kind == BULLET and above.base is not None:
                above.question = ALSO_REMOVED + entries.harmless(above.base.parts.text)
            above = above.parent
    for piece in pieces:  # ask once about a line that was removed with its children
        if piece.question.startswith(ALSO_REMOVED) and any(
            ancestor.question.startswith(ALSO_REMOVED) for ancestor in _ancestors(piece)
        ):
            piece.question = ""
    kept: dict[MergePiece | None, list[MergePiece]] = defaultdict(list)
    for piece in pieces:
        if piece.versions:
            kept[piece.parent].append(piece)
    ranks: dict[Node | None, int] = {
        node: number for version in (ours, theirs) for number, node in enumerate(version.nodes)
    }
    for parent, group in kept.items():
        our_order, their_order = (
            sorted((piece for piece in group if piece.nodes[side]), key=lambda piece: ranks[piece.nodes[side]])
            for side in (1, 2)
        )
        ordered = _merged_order(our_order, their_order, [piece for piece in group if piece.base])
        placed = set(ordered)
        ordered += [piece for piece in group if piece not in placed]  # removed by both sides, but must stay
        if parent is not None:
            parent.children = ordered
        kept[parent] = ordered
    return kept[None]


def _merged_order(
    ours: Sequence[MergePiece], theirs: Sequence[MergePiece], base: Sequence[MergePiece]
) -> list[MergePiece]:
    """Merge two orders of pieces.

    Pieces that both sides have take the order of the side that changed it; the others follow their neighbour.
    """
    common = set(ours) & set(theirs)
    old, our, their = ([piece for piece in pieces if piece in common] for pieces in (base, ours, theirs))
    common_order = min(_three_way(old, our, their) if len(old) == len(our) else (our, their), key=_norms)
    runs: dict[MergePiece | None, list[list[MergePiece]]] = defaultdict(lambda: [[], []])
    for side, pieces in enumerate((ours, theirs)):
        anchor = None
        for piece in pieces:
            if piece in common:
                anchor = piece
            else:
                runs[anchor][side].append(piece)
    merged = []
    for anchor in (None, *common_order):
        merged += [anchor] if anchor else []
        merged += _merged_runs(*runs[anchor]) if anchor in runs else []
    return merged


def _merged_runs(ours: list[MergePiece], theirs: list[MergePiece]) -> list[MergePiece]:
    """Merge what the sides added in the same place: by time if every line has one, else one side after the other."""
    if not ours or not theirs:
        return [*ours, *theirs]
    if all(piece.any.kind == BULLET and piece.any.parts.time for piece in (*ours, *theirs)):
        ours_timed, theirs_timed = (
            # no line is earlier than the one above it, so that each side's lines keep their order
            zip(accumulate(((piece.any.parts.time or "").rjust(16) for piece in run), max), run, strict=True)
            for run in (ours, theirs)
        )
        by_time = heapq.merge(ours_timed, theirs_timed, key=lambda timed: (timed[0], timed[1].any.norm))
        return [piece for _, piece in by_time]
    # A heading stays with the lines below it: the sections of one side come after those of the other, and lines under
    # no heading come before all of them.
    starts = [
        next((at for at, piece in enumerate(run) if piece.any.kind == HEADING), len(run)) for run in (ours, theirs)
    ]
    parts = [run[:at] for run, at in zip((ours, theirs), starts, strict=True)], [ours[starts[0] :], theirs[starts[1] :]]
    return [piece for runs in parts for run in sorted(runs, key=_norms) for piece in run]


def _norms(run: Sequence[MergePiece]) -> list[bytes]:
    """Return the text of pieces, as a key to sort by."""
    return [piece.any.norm for piece in run]


def _ancestors(piece: MergePiece) -> Iterator[MergePiece]:
    """Yield the parent of a piece, its parent, and so on."""
    while piece.parent is not None:
        piece = piece.parent
        yield piece


def _walk(pieces: Iterable[MergePiece]) -> Iterator[MergePiece]:
    """Yield pieces and their descendants, in the order of the note."""
    for piece in pieces:
        yield piece
        yield from _walk(piece.children)


# -- write the bytes


def _render(top: Sequence[MergePiece], base: Version, ours: Version, theirs: Version) -> bytes:
    """Return the bytes of the merged note: those of each piece, with the blank lines of the versions between them."""
    newline = _merged_bytes(base.newline, ours.newline, theirs.newline)
    parts: list[bytes] = [_merged_bytes(base.bom, ours.bom, theirs.bom)]
    eol = b""
    previous: MergePiece | None = None
    for piece in _walk(top):
        node = piece.any
        first_below = (
            piece.parent is not None and piece.parent.any.kind == HEADING and piece.parent.children[0] is piece
        )
        lead = _blanks(piece.parent, "gap") if first_below and piece.parent else _blanks(piece, "lead")
        if previous and not lead and _may_join(node) and not _follows(previous, piece):
            lead = newline  # otherwise it would continue the paragraph above
        old_newline = newline
        if piece.base is None and not (piece.ours and piece.theirs):  # new on a side that may have other line endings
            old_newline = ours.newline if piece.ours else theirs.newline
        for number, raw in enumerate(piece.versions):
            blanks = lead if not number else newline if node.kind == TEXT else b""
            parts += [(eol or newline) if previous or number else b""]
            parts += [_with_endings(data, old_newline, newline) for data in (blanks, raw)]
            eol = _blanks(piece, "eol")
            eol = newline if eol == old_newline else eol
            if piece.question and not (number + 1 == len(piece.versions) and _has_question(piece)):
                parts += [eol or newline, _child_prefix(piece, raw), piece.question.encode("utf-8", "surrogateescape")]
        previous = piece
    closed = max(_three_way(base.closed, ours.closed, theirs.closed))
    if previous and closed:
        parts.append(eol or newline)
    tail = _merged_bytes(base.tail, ours.tail, theirs.tail)
    return b"".join((*parts, tail if not previous or closed else b""))


def _with_endings(data: bytes, old: bytes, new: bytes) -> bytes:
    """Return data with line endings of one kind replaced by another; a CRLF counts as one ending, not as CR or LF."""
    return _ENDING.sub(lambda end: new if end[0] == old else end[0], data) if old != new else data


def _merged_bytes(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge a property of the whole note; of two new values take the larger."""
    return max(_three_way(base, ours, theirs))


def _blanks(piece: MergePiece, name: Literal["lead", "gap", "eol"]) -> bytes:
    """Merge blank lines or the line ending of a piece, by the name of the attribute; of two new values the longer."""
    base, *both = (getattr(node, name, None) for node in piece.nodes)
    sides = [value for value in both if value is not None]
    if len(sides) == 2 and base is not None:
        sides = [*_three_way(base, *sides)]
    return max(sides, key=lambda side: (len(side), side), default=base or b"")


def _may_join(node: Node) -> bool:
    """Whether a node would continue a paragraph right above it."""
    return node.kind == TEXT or (node.kind == HEADING and b"\n" in node.norm)


def _follows(previous: MergePiece | None, piece: MergePiece) -> bool:
    """Whether a side has one piece right after the other."""
    sides = ((piece.ours, previous.ours), (piece.theirs, previous.theirs)) if previous else ()
    return any(node.above is above for node, above in sides if node and above)


def _has_question(piece: MergePiece) -> bool:
    """Whether an earlier merge put the same question below the piece."""
    question = piece.question.encode("utf-8", "surrogateescape")
    return any(raw.lstrip(b" \t")[2:] == question for child in piece.children for raw in child.versions)


def _child_prefix(piece: MergePiece, raw: bytes) -> bytes:
    """Return indent and mark for a new child bullet: those of another child, else as deep as the words of ``raw``."""
    for child in piece.children:
        if child.any.kind == BULLET:
            return child.versions[0][: len(child.versions[0]) - len(child.versions[0].lstrip(b" \t"))] + b"- "
    mark = re.match(rb"([ \t]*)[-*+]( {1,4}(?! )| |\t)", raw)
    if mark is None:
        return b"  - "
    return mark[1] + (b"\t" if b"\t" in mark[0] else b" " * (1 + len(mark[2]))) + b"- "


class Dispute(NamedTuple):
    """Entries that two machines disagreed about.

    Attributes:
        lines: the entries, in order.
        was: the words before both changes, or the block id.
        removed: whether one machine removed the entry that the other changed.
    """

    lines: tuple[Entry, ...]
    was: str
    removed: bool


def disputed(found: Sequence[Entry]) -> list[Dispute]:
    """Return the disagreements that a merge left in a note.

    Args:
        found: all entries of the note.
    """
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    enclosing: list[Entry] = []
    for entry in found:
        while enclosing and enclosing[-1].end_line < entry.line:
            enclosing.pop()
        for marker in (ALSO_CHANGED, ALSO_REMOVED):
            if entry.text.startswith(marker) and enclosing:
                groups[marker, entry.text.removeprefix(marker)].append(enclosing[-1])
        enclosing.append(entry)
    return [
        Dispute(tuple(lines), was, marker == ALSO_REMOVED)
        for (marker, was), lines in groups.items()
        if marker == ALSO_REMOVED or len(lines) > 1
    ]
