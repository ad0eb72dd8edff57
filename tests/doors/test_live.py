"""The live search: on a terminal in tmux with real keys, its screens held as text; details by Textual's own pilot."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from doors.tmux import Tmux
from forked import ROOT, started

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))

from cli import screens
from terminal import environment, on_a_terminal, program

pytest.importorskip("textual")
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

from tars_memory.curation.proposals import change_of_line  # noqa: E402
from tars_memory.doors import live, views  # noqa: E402
from tars_memory.doors.cli import app as command_line, approve  # noqa: E402
from tars_memory.doors.cli.call import Call  # noqa: E402
from tars_memory.doors.views import FactsView, SearchView  # noqa: E402
from tars_memory.errors import UsageError, installing  # noqa: E402
from tars_memory.index import models  # noqa: E402
from tars_memory.index.models import QueryVector  # noqa: E402
from tars_memory.memory import Memory  # noqa: E402
from tars_memory.testing import make_vault  # noqa: E402
from tars_memory.vault import inbox  # noqa: E402
from tars_memory.vault.writing.system import alone  # noqa: E402

HELD = Path(__file__).with_name("live_screens.txt")
SCREENS = dict(re.findall(r"(?ms)^=== ([\w ]+) ===\n(.*?)\n(?====|\Z)", HELD.read_text("utf-8")))
"""By name; ``make screens`` holds what is shown now, there and on the pages."""
PAGES = {"tea on a low screen": ROOT / "README.md", "tea": ROOT / "docs" / "screens.md"}
SHELL = "stty -g > before; {}; code=$?; stty -g > after; echo left $code | tee -a ends"


def held(name: str, screen: str) -> None:
    """The screen is the one that is held."""
    if os.environ.get("PYTEST_LIVE_SCREENS") == "write":
        SCREENS[name] = screen
        HELD.write_text("".join(f"=== {name} ===\n{text}\n" for name, text in SCREENS.items()), "utf-8")
        if page := PAGES.get(name):
            block = re.compile(r"```text\n\[Search\].*?\n```\n", re.DOTALL)
            page.write_text(block.sub(lambda _: f"```text\n{screen}\n```\n", page.read_text("utf-8")), "utf-8")
    assert screen == SCREENS.get(name, "").rstrip("\n")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    base = tmp_path_factory.mktemp("live")
    root = make_vault(base / "Notes", screens.NOTES)
    env = environment(
        base / "home", TERM="screen-256color", TARS_MEMORY_DIR=str(root), TARS_MEMORY_BACKGROUND="0",
        TARS_MEMORY_EMBEDDING_MODEL="none", TARS_MEMORY_RECALL_MODE="lexical",
    )  # fmt: skip
    editor = root.parent / "editor.sh"
    opened = shlex.quote(str(root.parent / "opened"))
    editor.write_text(f'#!/bin/sh\ncase "$1" in *line.md) exit 1;; esac\necho "$@" >> {opened}\n')
    editor.chmod(0o755)
    return root, {**env, "EDITOR": editor.name, "PATH": f"{root.parent}:{env['PATH']}"}


@pytest.fixture
def window(place: tuple[Path, dict[str, str]], tmp_path: Path) -> Iterator[Callable[..., Tmux]]:
    made: list[Tmux] = []

    def make(size: tuple[int, int] = (80, 24), runs: int = 1, **env: str) -> Tmux:
        script = "; ".join([SHELL.format(shlex.join(started()))] * runs)
        made.append(Tmux(tmp_path, f"echo before; {script}; exec cat", {**place[1], **env}, tmp_path, size))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_sitting_with_the_keyboard_alone(
    place: tuple[Path, dict[str, str]], window: Callable[..., Tmux], tmp_path: Path
) -> None:
    root, _ = place
    tm = window()
    held("newest", tm.wait_for("hits, the newest", "Review 1"))
    tm.type("tea")
    held("tea", tm.wait_for("9 hits, by words", "upper shelf"))
    tm.resize(80, 14)
    held("tea on a low screen", tm.wait_until(lambda screen: screen.count("\n") == 13 and "9 hits" in screen, "14"))
    tm.resize(80, 24)
    assert "\x1b[35m" in tm.screen(colours=True), "a note's name has its colour"
    tm.press("Down", "Down", "Down")
    tm.wait_for("> 4", "── notes/Shops.md:6")
    tm.press("Enter")
    tm.wait_for("opened notes/Shops.md:6")
    assert (root.parent / "opened").read_text() == f"+6 {root}/notes/Shops.md\n"
    tm.press("C-u")
    tm.type("绿茶")
    held("script", tm.wait_for("绿茶要用八十度的水", "1 hit, by words"))
    tm.press("C-u")
    tm.type("tea since:soon")
    tm.wait_for("'soon' is not a date", " 1  ")  # the hits that came last, of whatever was typed by then
    tm.press("Tab")
    held("review", tm.wait_for("[Review 1]", "[a]ccept"))
    for typed, told in (("r 3", "that is not an answer"), ("?", "accept it as it is")):
        tm.type(typed)
        tm.press("Enter")
        tm.wait_for(told)
    tm.type("a")
    tm.press("Enter")
    tm.wait_for("accepted: Memory.md:", "1 accepted, 0 rejected, nothing is left")
    assert "- The tea shop closes at seven on Thursdays" in (root / "Memory.md").read_text()
    tm.type("u")
    tm.press("Enter")
    tm.wait_for("undone", "[Review 1]")
    assert "Thursdays" not in (root / "Memory.md").read_text()
    tm.type("e")
    tm.press("Enter")
    tm.wait_for(
        "editor.sh ended with", "type the new words, then Enter", "> The tea shop closes at seven on Thursdays\n"
    )
    tm.type(" [again]")
    tm.press("Enter")
    tm.wait_for("accepted: Memory.md:", "1 accepted, 0 rejected")
    assert "- The tea shop closes at seven on Thursdays [again]" in (root / "Memory.md").read_text()
    tm.type("u")
    tm.press("Enter")
    tm.wait_for("undone", "[Review 1]")
    tm.type("s")
    tm.press("Enter")
    tm.wait_for("type the heading, then Enter")
    tm.type("Kitchen")
    tm.press("Enter")
    tm.wait_for("1 accepted, 0 rejected")
    assert "upper shelf\n- The tea shop closes" in (root / "Memory.md").read_text()
    tm.press("Tab")
    tm.type("Anna")
    held("facts", tm.wait_for("3 facts", "── Facts.md:4"))
    tm.press("BTab", "BTab")
    tm.wait_for("[Search]", "> tea since:soon")
    tm.press("C-u")
    tm.type("oolong")
    tm.resize(40, 10)
    held(
        "narrow",
        tm.wait_until(lambda screen: max(map(len, screen.split("\n"))) <= 40 and "…her oolong" in screen, "40"),
    )
    tm.resize(120, 40)
    held(
        "wide",
        tm.wait_until(lambda screen: re.search("Oolong +── notes/drinks(?s:.*)is not there", screen), "side by side"),
    )
    tm.press("Escape")
    assert tm.wait_for("left 0").split() == ["before", "left", "0"], "the screen is as it was"
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_show_what_the_screen_shows(name: str) -> None:
    assert f"```text\n{SCREENS[name]}\n```\n" in PAGES[name].read_text("utf-8")


def test_whatever_ends_it_leaves_the_terminal_as_it_was(window: Callable[..., Tmux], tmp_path: Path) -> None:
    tm = window((100, 20), 3, NO_COLOR="1")
    told = ""
    for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (None, 130)):
        tm.wait_for("hits, the newest")
        tm.type("ha")
        tm.wait_for("> ha", "hits, by words")
        assert not re.search(r"\x1b\[[0-9;]*[34][0-7][;m]", tm.screen(colours=True)), "no colour"
        if number is None:
            tm.press("C-c")
        else:
            os.kill(tm.child(started()), number)
        told += f"left {code}\n"
        tm.wait_until(
            lambda _, told=told: (tmp_path / "ends").exists() and (tmp_path / "ends").read_text() == told, told
        )
    assert tm.wait_for(told.rstrip()) == f"before\n{told}".rstrip(), "thrice"
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()


def test_without_a_vault_it_says_what_search_says(tmp_path: Path) -> None:
    env = environment(tmp_path / "home", TERM="xterm", HOME=str(tmp_path))
    alone, search = (on_a_terminal(program(*words), env, tmp_path) for words in ((), ("search", "tea")))
    assert alone == search
    assert alone[0] == 4


def test_without_textual_it_is_the_help_and_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "_is_live", lambda _: True)
    monkeypatch.setattr(command_line, "find_spec", lambda _: None)
    assert command_line.run([], Call({})) == 0
    alone = capsys.readouterr()
    assert installing("tui") in alone.err.replace("\n  ", " ")
    monkeypatch.undo()
    assert command_line.run(["--help"], Call({})) == command_line.run([], Call({})) == 0
    assert capsys.readouterr().out == alone.out * 2


def piloted(root: Path, home: Path, act: Callable[[Any, live.Live], Coroutine[Any, Any, None]], **env: str) -> None:
    """Do something in a live search without a terminal."""
    names = {"TARS_MEMORY_HOME": str(home), "TARS_MEMORY_DIR": str(root), "TARS_NOW": "2026-11-21T14:30"}
    more = {"TARS_MEMORY_BACKGROUND": "0", "TARS_MEMORY_EMBEDDING_MODEL": "none", "TARS_MEMORY_RECALL_MODE": "lexical"}

    async def run() -> None:
        app = live.Live(Call({**names, **more, **env}))
        try:
            async with app.run_test(size=(80, 24)) as pilot:
                await act(pilot, app)
        finally:
            app.close()
        assert app.failed is None

    asyncio.run(run())


async def until(pilot: Any, met: Callable[[], object]) -> None:
    """Wait until something holds."""
    for _ in range(3_000):
        if met():
            return
        await pilot.pause(0.02)
    raise AssertionError("it never came")


def shown(app: live.Live, name: str) -> str:
    """The rows of one part of the screen."""
    return "\n".join(row.plain for row in app.query_one(f"#{name}", live.Rows)._rows)


NOTES = {
    "Trap.md": "# Trap\n\nharbour [bold]not bold[/bold] [@click=app.exit]out[/] \x1b[31mred \u202eback\U000e0041\n",
    "Dock.md": "# Dock\n\nthe harbour wall was mended\n",
    **{f"Log {number:02}.md": f"# Log {number:02}\n\nline {number}\n" for number in range(40)},
}


def test_notes_are_text_and_what_changed_meanwhile_is_told(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", NOTES)

    async def act(pilot: Any, app: live.Live) -> None:
        view = app.view
        assert isinstance(view, SearchView)
        await pilot.press(*"harbour")
        await until(pilot, lambda: len(view.items) == 2)
        seen = shown(app, "list")
        assert "harbour [bold]not bold[/bold] [@click=app.exit]out[/] red back" in seen
        assert not re.search("[\x00-\x08\x1b\u202e\U000e0041]", seen + shown(app, "preview"))
        at = next(number for number, hit in enumerate(view.items) if hit.path == "Dock.md")
        (root / "Dock.md").write_text("# Dock\n\n\nthe harbour wall was mended\n")
        view.choose(at)
        await until(pilot, lambda: "Dock.md:4" in shown(app, "rule"))
        (root / "Dock.md").write_text("# Dock\n\nnothing of it\n")
        await pilot.press("enter")
        await until(pilot, lambda: "Dock.md has changed" in shown(app, "foot") and len(view.items) == 1)
        app.query_one(live.Field).replace("\x1b[2Jharb\u202eour\r\nwall", 0, 7)
        assert app.query_one(live.Field).value == "harbour wall"
        for text in ('"', "-", "*", "tag:", "path:[", "\ud800", "tier:no", "(" * 3_000, "ü", "a" * 20_000):
            app.query_one(live.Field).value = text
            await pilot.pause(0)
        app.query_one(live.Field).value = "wall"
        await until(pilot, lambda: "nothing" in shown(app, "foot"))

    piloted(root, tmp_path / "home", act)


def test_keys_never_wait_and_stale_answers_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_vault(tmp_path / "vault", NOTES)
    begun, go = threading.Event(), threading.Event()
    asked: list[str] = []
    searching = Memory.search

    def slow(memory: Any, text: str, **more: Any) -> Any:
        asked.append(text)
        if text == "h":
            begun.set()
            go.wait(60)
        return searching(memory, text, **more)

    monkeypatch.setattr(Memory, "search", slow)

    async def act(pilot: Any, app: live.Live) -> None:
        await until(pilot, lambda: "the newest" in shown(app, "foot"))
        await pilot.press("h")
        await until(pilot, begun.is_set)
        await pilot.press(*"arbour", "tab", "tab", "shift+tab", "shift+tab")
        assert app.query_one(live.Field).value == "harbour"
        go.set()
        await until(pilot, lambda: "2 hits, by words" in shown(app, "foot"))
        go.clear()
        await pilot.press("ctrl+u", *"h")
        await until(pilot, lambda: asked[-1] == "h")
        await pilot.press("ctrl+u", *"wall", "enter")
        assert "set VISUAL" not in shown(app, "foot"), "what was found before is not opened"
        go.set()
        await until(pilot, lambda: "Dock.md:3: set VISUAL" in shown(app, "foot"))
        app.view.state = ["a long notice " * 9]
        app.draw()
        await until(pilot, lambda: app.query_one("#foot").size.height == 3)  # the keys below it
        assert "harbour" in asked and not {"ha", "harb", "harbou"} & set(asked)

    piloted(root, tmp_path / "home", act)


def test_a_vault_that_is_being_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_vault(tmp_path / "vault", NOTES)
    turns = iter([(42, 30), (42, 10), (0, 0)])
    go = threading.Event()

    def reading(_memory: Any) -> Any:
        turn = next(turns)
        if not turn[0]:
            go.wait(60)
        return turn

    monkeypatch.setattr(live, "_read_on", reading)

    async def act(pilot: Any, app: live.Live) -> None:
        await until(pilot, lambda: "reading the vault: 32 of 42 notes" in shown(app, "foot"))
        go.set()
        await until(pilot, lambda: "reading" not in shown(app, "foot") and "the newest" in shown(app, "foot"))
        await pilot.press("tab", "tab")
        await until(pilot, lambda: isinstance(app.view, FactsView) and "no facts yet" in shown(app, "foot"))

    piloted(root, tmp_path / "home", act)


def test_a_preview_that_comes_after_tab_goes_to_the_view_that_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_vault(tmp_path / "vault", NOTES)
    begun, go = threading.Event(), threading.Event()
    passage = views._passage

    def slow(*arguments: Any) -> views.Passage:
        begun.set()
        assert go.wait(30)
        return passage(*arguments)

    async def act(pilot: Any, app: live.Live) -> None:
        search = app.view
        await pilot.press(*"harbour")
        await until(pilot, lambda: "2 hits" in shown(app, "foot"))
        monkeypatch.setattr(views, "_passage", slow)
        await pilot.press("down")
        await until(pilot, begun.is_set)
        await pilot.press("tab")
        await until(pilot, lambda: "nothing waits" in shown(app, "foot"))
        go.set()
        await until(pilot, lambda: search.passage.title.startswith(search.chosen.path))
        assert app.view is app.deciding and app.deciding.passage is None

    piloted(root, tmp_path / "home", act)


class Model:
    """What makes vectors, without a model."""

    def embed_query(self, text: str) -> QueryVector:
        return QueryVector(text[0].encode() * 4 * 384, ())


def test_hooks_and_searches_are_answered_by_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_vault(tmp_path / "vault", NOTES)
    monkeypatch.setattr("tars_memory.workspace.Workspace.open_embedder", lambda _: Model())
    identity = models.manifest_of(models.EMBEDDED, tmp_path / "cache").identity

    async def act(pilot: Any, app: live.Live) -> None:
        await until(pilot, lambda: app._server is not None)
        assert app._server is not None
        path = app._server.path
        assert models.ask(path, identity, 384, "tea") == QueryVector(b"t" * 4 * 384, ())
        lock = path.with_name("watch.lock")
        with alone(lock, "watch", "a watcher could not begin", "it must"):
            pass

    piloted(root, tmp_path / "home", act, TARS_MEMORY_EMBEDDING_MODEL=models.EMBEDDED)
    assert not [*(tmp_path / "home").rglob(models.SOCKET)]


def test_bytes_that_are_no_text_do_not_end_the_reading_of_keys() -> None:
    ours, theirs = os.pipe()
    driver: Any = object.__new__(live.Live.get_driver_class(object.__new__(live.Live)))
    heard: list[str] = []
    ended = threading.Event()

    def hear(message: Any) -> None:
        heard.append(message.key)
        if message.key == "b":
            ended.set()
        else:
            os.write(theirs, b"\xe9x")

    driver.fileno, driver._debug, driver.exit_event, driver.process_message = ours, False, ended, hear
    os.write(theirs, b"a")
    reading = threading.Thread(target=driver.run_input_thread, daemon=True)
    reading.start()
    while not heard:
        time.sleep(0.005)
    for _ in range(3000):  # what came together with such a byte is lost with it
        if ended.wait(0.02):
            break
        os.write(theirs, b"b")
    reading.join(60)
    assert heard[0] == "a"
    assert ended.is_set()


def test_a_bug_is_told_when_the_terminal_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_vault(tmp_path / "vault", NOTES)
    places = {"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_DIR": str(root)}
    app = live.Live(Call({**places, "TARS_MEMORY_EMBEDDING_MODEL": "none"}))
    monkeypatch.setattr(app, "_draw_list", lambda _: 1 // 0)

    async def run() -> None:
        with pytest.raises(ZeroDivisionError):
            async with app.run_test() as pilot:
                await pilot.pause(1)

    asyncio.run(run())
    app.close()
    assert isinstance(app.failed, ZeroDivisionError)


def test_words_with_a_credential_for_a_line_that_may_have_it_wait(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n- my Gmail password is Rabbit2024!\n"})
    with Memory(root, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}, actor="person", interactive=True) as memory:
        review, entry = memory.review(), memory.show("Rabbit2024!")
        made = change_of_line("replace", entry, "My Gmail password is Rabbit2024!", "2026-11-21", "spelling")
        with review.ctx.writing("tidy", None) as session:
            inbox.keep(session, made.stored())
        (proposal,) = review.waiting().proposals
        view = object.__new__(views.ReviewView)
        view._sitting = approve.Sitting(memory, review, lambda path, _: path)
        view._ask = lambda _, act: act(memory)  # type: ignore[method-assign]
        with pytest.raises(UsageError, match="looks like a credential"):
            view._decide(proposal, approve.ReviewAnswer("e"), words="My Gmail password is Rabbit2025!")
        view._decide(proposal, approve.ReviewAnswer("e"), words="My Gmail password is in the safe")
    assert (root / "Memory.md").read_text() == "## Notes\n- My Gmail password is in the safe\n"
