"""Spans are exact to the byte, over any bytes: an edit changes its own span, and undo gives back the very bytes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st
from noise import PIECES, document, splices
from random_documents import examples
from storekit import Place

from tars_memory.errors import ConflictError
from tars_memory.vault.markdown.document import Document, apply, newline_of
from tars_memory.vault.markdown.edits import (
    append_bytes,
    changed_lines,
    first_changed_line,
    is_written,
    lines_of,
    reversed_by_text,
    reversed_exactly,
    spans_of,
)
from tars_memory.vault.model import Splice

documents = st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=30).map(b"".join)


@st.composite
def edits(draw: st.DrawFn) -> tuple[bytes, list[Splice]]:
    data = draw(documents)
    chance = draw(st.randoms(use_true_random=False))
    return data, splices(chance, data)


@given(edits())
@settings(max_examples=examples(400))
def test_spans_say_what_the_splices_do(edit: tuple[bytes, list[Splice]]) -> None:
    data, chosen = edit
    new = apply(data, chosen)
    spans = spans_of(data, chosen)
    assert apply(data, [Splice(s.start, s.start + len(s.before), s.after) for s in spans]) == new
    assert all(data[s.start : s.start + len(s.before)] == s.before for s in spans)
    assert apply(new, reversed_exactly(spans)) == data
    starts = {line.start for line in Document(data).lines} | {0, len(data)}
    for span in spans:
        assert span.start in starts


@given(edits())
@settings(max_examples=examples(300))
def test_taking_back_by_text_gives_the_old_lines_or_refuses(edit: tuple[bytes, list[Splice]]) -> None:
    data, chosen = edit
    new = apply(data, chosen)
    spans = spans_of(data, chosen)
    try:
        back = apply(new, reversed_by_text(new, spans))
    except ConflictError:
        return
    assert sorted(line.strip(b"\r\n") for line in lines_of(back) if line.strip()) == sorted(
        line.strip(b"\r\n") for line in lines_of(data) if line.strip()
    )


@pytest.mark.parametrize("left", [b"- gmail: Rabbit2024!x (password)", None])
def test_a_masked_landmark_is_taken_for_no_other_line(left: bytes | None) -> None:
    """A byte of its hash is that of each 256th line, too."""
    others = [b"- thing %d" % number for number in range(200)]
    old = b"\n".join([*others, left or b"- gmail: Hase2023!y (password)", b"- tea", b"- bank: Igel2022!z (password)"])
    spans = spans_of(old, [Splice(old.index(b"- tea"), old.index(b"- bank"), b"")])
    assert spans[0].previous.startswith(b"(masked")
    now = b"\n".join([b"by hand", *others, *filter(None, [left])])
    if left:
        assert apply(now, reversed_by_text(now, spans)) == now + b"\n- tea\n"
    else:
        with pytest.raises(ConflictError, match="no longer there"):
            reversed_by_text(now, spans)


@given(edits())
@settings(max_examples=examples(200))
@example((b"ab\rc", [Splice(3, 3, b"\n"), Splice(4, 4, b"")]))
def test_the_first_changed_line_differs(edit: tuple[bytes, list[Splice]]) -> None:
    data, chosen = edit
    new = apply(data, chosen)
    line = first_changed_line(data, spans_of(data, chosen))
    assert 1 <= line <= len(new.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))


@given(documents)
def test_lines_are_those_of_the_document(data: bytes) -> None:
    lines = lines_of(data)
    assert b"".join(lines) == data
    assert all(line for line in lines)


def test_through_the_store_and_back(tmp_path: Path) -> None:
    """The whole way on real files; 20,000 of them in tests/prove."""
    place, chance = Place(tmp_path), random.Random(7)
    for _ in range(60):
        data = document(chance)
        chosen = splices(chance, data)
        place.put("a.md", data)
        written = place.write("a.md", lambda _, chosen=chosen: chosen)  # type: ignore[misc]
        assert place.get("a.md") == written.text
        if written.changed:
            place.store().undo()
        assert place.get("a.md") == data


@pytest.mark.parametrize(
    ("data", "style"),
    [(b"", b"\n"), (b"a", b"\n"), (b"a\r\nb", b"\r\n"), (b"a\rb", b"\r"), (b"a\r\nb\n", b"\n"), (b"\n", b"\n")],
)
def test_newline_style(data: bytes, style: bytes) -> None:
    assert newline_of(data) == style


@pytest.mark.parametrize(
    ("data", "splice", "payload"),
    [
        (b"a\n", Splice(2, 2, b"b\n"), b"b\n"),
        (b"a", Splice(1, 1, b"\nb\n"), b"\nb\n"),
        (b"a", Splice(1, 1, b"b\n"), b"\nb\n"),
        (b"a\r", Splice(2, 2, b"\nb\n"), None),
        (b"a\n", Splice(1, 2, b"b\n"), None),
        (b"a\n", Splice(2, 2, b"b"), None),
        (b"a\n", Splice(0, 0, b"b\n"), None),
    ],
)
def test_what_is_an_append(data: bytes, splice: Splice, payload: bytes | None) -> None:
    assert append_bytes(data, [splice]) == payload


def test_changed_lines_leave_out_what_stayed() -> None:
    (span,) = spans_of(b"top\n- a", [Splice(7, 7, b"\n- b\n")])
    assert changed_lines(span) == ([], [b"- b\n"], b"- a", None)
    assert is_written(b"x\n- b", [span])
    assert not is_written(b"x\n- a", [span])


def test_a_removal_is_present_when_its_lines_are_gone() -> None:
    (span,) = spans_of(b"- a\n- b\n", [Splice(0, 4, b"")])
    assert is_written(b"- b\n", [span])
    assert not is_written(b"- a\n", [span])
