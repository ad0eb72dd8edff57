"""The README's terminal example is run and must print what it shows; links in the documentation lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "cli"))
sys.path.insert(0, str(Path(__file__).parent))
import tesh
from terminal import OURS, on_a_terminal, rows

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:|#)([^)#\s]+)")

ANCHOR = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")


def transcript(page: Path) -> list[tuple[str, str]]:
    """Commands of the page's first ``console`` block, each with the output shown."""
    block = re.search(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert block, f"{page.name} has no console block"
    steps: list[tuple[str, str]] = []
    for line in block[1].split("\n")[:-1]:
        if line.startswith("$ "):
            steps.append((line[2:], ""))
        else:
            steps[-1] = (steps[-1][0], steps[-1][1] + line + "\n")
    return steps


def test_the_readme_shows_what_the_program_prints(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    steps = transcript(ROOT / "README.md")
    programs = tesh.shell(tmp_path_factory.mktemp("bin"))
    env = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TARS_MEMORY_HOME": str(tmp_path / "home"),
        "TARS_NOW": "2026-11-21T14:30",
        "TZ": "UTC",
        "TERM": "xterm",
        "NO_COLOR": "1",
    }
    cwd = tmp_path
    shown, printed = "", ""
    for command, output in steps:
        shown += f"$ {command}\n{output}"
        if command.startswith("cd "):
            cwd /= command[3:]
            printed += f"$ {command}\n"
            continue
        _, screen = on_a_terminal(["sh", "-c", command], env, cwd, size=(80, 24))
        told = "\n".join(rows(re.sub(OURS, b"", screen)))
        printed += f"$ {command}\n" + (told.replace(str(tmp_path), "/home/anna") + "\n" if told else "")
    assert printed == shown


def test_the_install_block_needs_no_folder_that_may_be_missing(tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text("utf-8")
    block = re.search(r"^```sh\n(python3 -m venv .*?)^```", page, re.DOTALL | re.MULTILINE)
    assert block
    lines = block[1].splitlines()
    assert lines[0].startswith("python3 -m venv ") and " install " in lines[1]
    made = tmp_path / ".local/share/tars-memory/bin"  # the first two lines make it
    made.mkdir(parents=True)
    for name in ("tars-memory", "tm"):
        (made / name).write_text("#!/bin/sh\necho here\n")
        (made / name).chmod(0o755)
    manual = "share/man/man1/tm.1"
    (made.parent / manual).parent.mkdir(parents=True)
    (made.parent / manual).write_text(".TH TM 1\n")
    for _ in range(2):  # an update runs it again
        env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        subprocess.run(["sh", "-ec", "\n".join(lines[2:])], env=env, check=True)
    for name in ("tars-memory", "tm"):
        assert subprocess.check_output([tmp_path / ".local/bin" / name], text=True) == "here\n"
    assert (tmp_path / ".local" / manual).samefile(made.parent / manual), "`man tm` looks there; else it shows C's tm"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
    for target, anchor in ANCHOR.findall(page.read_text("utf-8")):
        other = (page.parent / target) if target else page
        headings = re.findall(r"^#+ (.+)$", other.read_text("utf-8"), re.MULTILINE)
        slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
        assert anchor in slugs, f"{page.name} links to {target}#{anchor}"
    for named in re.findall(r"`((?:tests|tars_memory|eval|bench)/[\w./]*)`", page.read_text("utf-8")):
        assert page.name == "CHANGELOG.md" or (ROOT / named).exists(), f"{page.name} names {named}"


def test_the_settings_page_names_every_option_with_its_default() -> None:
    from tars_memory.settings import SECTIONS

    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    block = re.search(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert block
    said = tomllib.loads(block[1])
    assert said.pop("vault")
    assert {name: {*keys} for name, keys in said.items()} == {
        name: {*kind.__annotations__} for name, kind in SECTIONS.items()
    }
    for section, kind in SECTIONS.items():
        for key in kind.__annotations__:
            default, shown = getattr(kind, key), said[section][key]
            shown = tuple(shown) if isinstance(shown, list) else shown
            if isinstance(shown, tuple) and shown[-1:] == ("…",):
                assert default[: len(shown) - 1] == shown[:-1], key
            else:
                assert default in (shown, None), key  # None: as Obsidian has it, and the page shows an example
