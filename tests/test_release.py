"""What is released: a wheel of what it needs and nothing else, twice the same; locks, bill and manual in step."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EPOCH = "1767225600"


def built(folder: Path, epoch: str = EPOCH) -> list[Path]:
    """Wheel and sdist, built in a copy of the sources."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: make test installs it")
    env = {"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": epoch, "HOME": str(folder)}
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)],
        cwd=ROOT, env=env, check=True, capture_output=True,
    )  # fmt: skip
    return sorted(folder.glob("tars_memory-*"))


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return built(tmp_path_factory.mktemp("dist"))


def test_two_builds_are_the_same_to_the_byte(dist: list[Path], tmp_path: Path) -> None:
    again = built(tmp_path)
    assert [path.name for path in dist] == [path.name for path in again]
    assert [path.read_bytes() for path in dist] == [path.read_bytes() for path in again]


def test_the_wheel_holds_what_it_needs_and_nothing_else(dist: list[Path]) -> None:
    name = f"tars_memory-{PROJECT['project']['version']}"
    package = ROOT / "tars_memory"
    wanted = {
        f"tars_memory/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert {Path(name).suffix for name in wanted} <= {".py", ".toml", ".jsonl", ".txt", ".md", ".typed"}
    for folder, inside in (("vault-template", "_vault_template"), ("completions", "_completions")):
        files = [path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()]
        wanted |= {f"tars_memory/{inside}/{file}" for file in files}
    info = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE", "sboms/sbom.cdx.json")
    wanted |= {f"{name}.dist-info/{file}" for file in info}
    shared = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    wanted |= {f"{name}.data/data/{file}" for file in shared.values()}
    with zipfile.ZipFile(next(path for path in dist if path.suffix == ".whl")) as wheel:
        assert sorted(wheel.namelist()) == sorted(wanted)
        assert wheel.testzip() is None
        points = wheel.read(f"{name}.dist-info/entry_points.txt").decode()
    assert "tm = tars_memory.__main__:main" in points


def test_the_sdist_holds_sources_alone(dist: list[Path]) -> None:
    with tarfile.open(next(path for path in dist if path.name.endswith(".tar.gz"))) as sdist:
        names = ["/".join(name.split("/")[1:]) for name in sdist.getnames()]
    tops = {name.split("/")[0] for name in names}
    allowed = {*PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]}
    assert tops - allowed <= {"PKG-INFO", "pyproject.toml", ".gitignore"}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".db"))]
    assert {"pyproject.toml", "man/tm.1", "completions/tm.bash", "sbom.cdx.json", "tests/conftest.py"} <= {*names}


def pins(name: str) -> dict[str, set[str]]:
    """Names and versions of a lock; each has its hashes."""
    text = (ROOT / "requirements" / name).read_text("utf-8").replace("\\\n", " ")
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line and not line.lstrip().startswith("#"):
            pin = re.match(r"([a-z0-9.-]+)==(\S+).*--hash=sha256:[0-9a-f]{64}", line)
            assert pin, f"requirements/{name}: {line[:60]}"
            found.setdefault(pin[1], set()).add(pin[2])
    return found


def needs(*extras: str, groups: tuple[str, ...] = ()) -> list[str]:
    project = PROJECT["project"]
    found = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
    grouped = [each for group in groups for each in PROJECT["dependency-groups"][group]]
    return [*found, *(each for each in grouped if isinstance(each, str))]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("demo.txt", needs("embedded", groups=("build",))),
        ("dev.txt", needs("embedded", "llm", "dev", groups=("build",))),
        ("tools.txt", needs(groups=("build", "tools"))[len(needs()) :]),
    ],
)
def test_the_locks_are_in_step_with_pyproject(name: str, wanted: list[str]) -> None:
    packaging = pytest.importorskip("packaging.requirements")
    locked = pins(name)
    assert wanted
    for each in map(packaging.Requirement, wanted):
        versions = locked.get(re.sub(r"[-_.]+", "-", each.name).lower(), set())
        assert any(version in each.specifier for version in versions), f"{each} in requirements/{name}: make lock"
    text = (ROOT / "requirements" / name).read_text("utf-8")
    assert "://" not in text and "--index" not in text and "--find-links" not in text


def test_what_is_installed_by_make_is_locked() -> None:
    for line in (ROOT / "Makefile").read_text("utf-8").splitlines():
        if "pip install" in line:
            assert "--require-hashes -r requirements/" in line or "--no-deps --no-build-isolation" in line, line


def test_the_bill_of_materials_names_what_is_locked() -> None:
    bill = json.loads((ROOT / "sbom.cdx.json").read_text("utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["version"] == PROJECT["project"]["version"]
    locked = pins("demo.txt")
    told = {(part["name"].lower(), part["version"]) for part in bill["components"]}
    assert told and all(version in locked[name] for name, version in told)
    direct = {re.match(r"[A-Za-z0-9-]+", each)[0].lower() for each in PROJECT["project"]["dependencies"]}  # type: ignore[index]
    assert direct <= {name for name, _ in told}


@pytest.fixture
def man_page(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that makes the manual."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("man_page")


def test_the_manual_is_what_make_docs_makes(man_page: Any) -> None:
    assert man_page.PAGE.read_text("utf-8") == man_page.page(), "make docs"
    assert man_page.ALIAS.read_text("utf-8") == ".so man1/tm.1\n"


def test_the_manual_is_well_formed(man_page: Any) -> None:
    mandoc = shutil.which("mandoc")
    if mandoc is None:
        pytest.skip("mandoc is not installed")
    done = subprocess.run([mandoc, "-T", "lint", "-W", "warning", str(man_page.PAGE)], capture_output=True, text=True)
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []
    shown = subprocess.run(
        [mandoc, "-T", "utf8", str(man_page.PAGE)], capture_output=True, text=True, check=True
    ).stdout
    plain = re.sub(".\b", "", shown)
    for words in ('tm facts add Anna "lives in" Cork', "--explain", "[ABOUT | add S P O | end REF | remove REF]"):
        assert words in " ".join(plain.split()), words


def test_only_the_job_that_publishes_may_prove_who_it_is() -> None:
    flow = yaml.safe_load((ROOT / ".github/workflows/publish.yml").read_text("utf-8"))
    assert flow["permissions"] == {}
    assert flow["jobs"]["build"]["permissions"] == {"contents": "read"}
    assert flow["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "vars.PUBLISH" in flow["jobs"]["build"]["if"] and flow["jobs"]["publish"]["needs"] == "build"
    uses = [step["uses"] for job in flow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert uses and all(re.search(r"@[0-9a-f]{40}$", each) for each in uses)
    assert not re.search(r"secrets\.|password", (ROOT / ".github/workflows/publish.yml").read_text("utf-8"))
