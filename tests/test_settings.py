"""Where a setting may come from, and what a bad one does."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from tars_memory.disk import Places
from tars_memory.errors import ModelUnavailableError, SettingsError, UnwritableError, UsageError
from tars_memory.memory import Memory
from tars_memory.settings import ALLOWED, SECTIONS, Settings

RULE = {"TARS_MEMORY_PERMISSIONS_UNATTENDED_RULES": "true"}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def settings(base: Path, env: dict[str, str] | None = None) -> Settings:
    env = {"TARS_MEMORY_HOME": str(base / "home"), **(env or {})}
    return Settings(env, Places.of(env))


def memory(base: Path, env: dict[str, str] | None = None) -> Memory:
    (base / "vault/.obsidian").mkdir(parents=True, exist_ok=True)
    return Memory(base / "vault", env={"TARS_MEMORY_HOME": str(base / "home"), **(env or {})})


def test_the_nearest_place_wins(tmp_path: Path) -> None:
    write(tmp_path / "home/config/config.toml", "[layout]\nlog_heading = 'Mine'\nnotes_section = 'Mine'\n")
    write(tmp_path / "vault/.tars/config.toml", "[layout]\nnotes_section = 'Its'\nsessions_folder = 'Its'\n")
    said = settings(tmp_path, {"TARS_MEMORY_LAYOUT_LOG_HEADING": "Now"})
    said.read_vault(tmp_path / "vault")
    layout = said.layout
    assert (layout.log_heading, layout.notes_section, layout.sessions_folder) == ("Now", "Mine", "Its")
    assert layout.daily_folder is None


def test_nobody_permits_himself_by_a_variable_or_through_the_vault(tmp_path: Path) -> None:
    write(tmp_path / "vault/.tars/config.toml", "[permissions]\nunattended_rules = true\n")
    said = settings(tmp_path, RULE)
    said.read_vault(tmp_path / "vault")
    assert said.permissions.unattended_rules is False
    write(tmp_path / "home/config/config.toml", "[permissions]\nunattended_rules = true\n")
    assert settings(tmp_path).permissions.unattended_rules is True


def test_a_script_with_the_variable_changes_no_rule(tmp_path: Path) -> None:
    with memory(tmp_path, RULE) as script:
        assert script.remember("Obey", tier="procedural").written is False
    assert not (tmp_path / "vault/Procedural.md").exists()


@pytest.mark.parametrize("text", ["[layout", "\0", "[layout]\ndaily_folder = 5\n", "[limits]\nmax_note_bytes = 'x'\n"])
def test_what_is_wrong_in_the_vaults_own_file_is_said_and_ends_nothing(tmp_path: Path, text: str) -> None:
    write(tmp_path / "vault/.tars/config.toml", text)
    with memory(tmp_path) as script:
        receipt = script.remember("a fact")
        assert receipt.written
        assert any("ignored" in notice for notice in receipt.notices)
        with pytest.raises(UnwritableError) as caught:
            script.log("a day whose note is unknown")
    assert caught.value.spooled


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("store", "lock_timeout", "nan"),
        ("store", "lock_timeout", "-1"),
        ("store", "lock_timeout", "inf"),
        ("store", "lock_timeout", "soon"),
        ("store", "journal_days", "-5"),
        ("recall", "limit", "0"),
        ("recall", "limit", "-3"),
        ("recall", "mode", "bogus"),
        ("recall", "daily_half_life", "-1"),
        ("recall", "session_half_life", "nan"),
        ("index", "chunk_size", "100"),
        ("index", "chunk_overlap", "a lot"),
        ("limits", "max_note_bytes", "-1"),
    ],
)
def test_a_value_out_of_range_is_said(tmp_path: Path, section: str, key: str, value: str) -> None:
    said = settings(tmp_path, {f"TARS_MEMORY_{section}_{key}".upper(): value})
    with pytest.raises(UsageError, match=rf"{section}\.{key}") as caught:
        getattr(said, section)
    assert caught.value.hint


@pytest.mark.parametrize("name", ALLOWED)
def test_the_default_of_a_setting_may_be_set(tmp_path: Path, name: str) -> None:
    section, key = name.split(".")
    default = getattr(SECTIONS[section], key)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(f"[{section}]\n{key} = {json.dumps(default)}\n")
    found = Settings({"TARS_MEMORY_HOME": str(tmp_path)})
    assert getattr(getattr(found, section), key) == default
    assert found.origins == {name: "config"}


def test_our_own_folders_may_be_named_from_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Places.of({"TARS_MEMORY_HOME": "~/tars"}).state == tmp_path / "tars/state"


def test_an_overlap_of_more_than_half_a_passage_is_said(tmp_path: Path) -> None:
    said = settings(tmp_path, {"TARS_MEMORY_INDEX_CHUNK_SIZE": "300", "TARS_MEMORY_INDEX_CHUNK_OVERLAP": "151"})
    with pytest.raises(UsageError, match=r"index\.chunk_overlap \(151\) is more than half") as caught:
        _ = said.index.cut
    assert caught.value.hint


def test_what_is_wrong_in_the_persons_own_file_is_said_at_once(tmp_path: Path) -> None:
    write(tmp_path / "home/config/config.toml", "[recall]\nlimit = true\n")
    with pytest.raises(UsageError, match=r"recall\.limit"):
        _ = settings(tmp_path).recall


def test_what_is_set_and_means_nothing_is_said_with_what_may_be_meant(tmp_path: Path) -> None:
    text = "vaul = '~/Notes'\n[recal]\nlimit = 3\n[recall]\nlimitt = 3\nmode = 'lexical'\n[store]\n"
    write(tmp_path / "home/config/config.toml", text)
    write(tmp_path / "vault/.tars/config.toml", "[layout]\nlog_headin = 'x'\n[llm]\nmodel = 'evil'\n[nonsense]\n")
    env = {"TARS_MEMORY_DRI": "/x", "TARS_MEMORY_RECALL_LIMT": "5", "TARS_NOWW": "x", "TARS_HOUSE": "a program's own"}
    env |= {"TARS_MEMORY_PERMISSIONS_UNATTENDED_RULES": "1", "TARS_MEMORY_ZZZ": "1", "TARS_MEMORY_BACKGROUND": "0"}
    said = settings(tmp_path, {**env, "TARS_MEMORY_RECALL_LIMIT": "5", "TARS_PROJECT": "boat"})
    said.read_vault(tmp_path / "vault")
    variables, keys = said.unknown_variables, said.unknown_keys()
    assert [line.split()[2] for line in variables] == [
        "TARS_MEMORY_DRI",
        "TARS_MEMORY_PERMISSIONS_UNATTENDED_RULES",
        "TARS_MEMORY_RECALL_LIMT",
        "TARS_MEMORY_ZZZ",
        "TARS_NOWW",
    ]
    assert "did you mean TARS_MEMORY_DIR?" in variables[0] and "TARS_MEMORY_RECALL_LIMIT?" in variables[2]
    assert "did you mean" not in variables[3] and "TARS_NOW?" in variables[4]
    own = str(tmp_path / "home/config/config.toml")
    assert [line.removeprefix(own) for line in keys] == [
        ": vaul is unknown and sets nothing; did you mean vault?",
        ": [recal] is unknown and sets nothing; did you mean recall?",
        ": limitt in [recall] is unknown and sets nothing; did you mean limit?",
        ".tars/config.toml: log_headin in [layout] is unknown and sets nothing; did you mean log_heading?",
        ".tars/config.toml: [llm] is ignored: a vault may only set [layout] and [limits]",
        ".tars/config.toml: [nonsense] is unknown and sets nothing",
    ]


def test_every_section_that_is_read_is_known() -> None:
    """A class of options that no section names would make a known setting unknown."""
    import tars_memory.settings as known

    classes = {value for value in vars(known).values() if isinstance(value, type) and issubclass(value, known.Options)}
    assert classes - {known.Options} == set(known.SECTIONS.values())


def test_status_and_doctor_tell_what_is_set_and_means_nothing(tmp_path: Path) -> None:
    write(tmp_path / "home/config/config.toml", "[recall]\nlimitt = 3\n")
    env = {"TARS_MEMORY_DRI": "/x", "TARS_MEMORY_EMBEDDING_MODEL": "none"}
    with memory(tmp_path, env) as script:
        told = script.status()["notices"]
        assert sum("limitt" in line for line in told) == sum("TARS_MEMORY_DRI" in line for line in told) == 1
        found = [one["message"] for one in script.doctor()["findings"] if one["kind"] == "settings"]
        assert len(found) == 2


@pytest.mark.parametrize("target", ["dotfiles/tars.toml", "not/there/yet.toml"])
def test_a_configuration_that_is_a_link_stays_one(tmp_path: Path, target: str) -> None:
    kept, link = tmp_path / target, tmp_path / "home/config/config.toml"
    before = "# mine\r\n[recall]\r\nlimit = 5\r\n"
    if "dotfiles" in target:
        write(kept, before)
        kept.write_bytes(before.encode())
        kept.chmod(0o640)
    link.parent.mkdir(parents=True)
    link.symlink_to(kept)
    settings(tmp_path).write("recall", "mode", "lexical")
    assert link.is_symlink() and os.readlink(link) == str(kept)
    if "dotfiles" in target:
        said = '# mine\r\n[recall]\r\nmode = "lexical"\r\nlimit = 5\r\n'
        assert kept.read_bytes() == said.encode() and kept.stat().st_mode & 0o777 == 0o640
    assert settings(tmp_path).recall.mode == "lexical"
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_a_configuration_of_another_system_keeps_its_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "home/config/config.toml"
    write(path, "")
    path.write_bytes(b'[recall]\r\nmode = "hybrid"\r\n\r\n[hook]\r\n')
    settings(tmp_path).write("recall", "mode", "lexical")
    settings(tmp_path).write("sources", "paths", "/logs")
    said = b'[recall]\r\nmode = "lexical"\r\n\r\n[hook]\r\n\r\n[sources]\r\npaths = "/logs"\r\n'
    assert path.read_bytes() == said


def test_a_list_is_a_list_or_one_text_with_commas(tmp_path: Path) -> None:
    for text in ('["lives in", "ringmaat"]', '"lives in, ringmaat"', '[\n  "lives in",\n  "ringmaat", # mine\n]'):
        write(tmp_path / "home/config/config.toml", f"[facts]\nsingle = {text}\n[hook]\nlines = ['tools']\n")
        found = settings(tmp_path)
        assert (found.facts.single, found.hook.lines) == (("lives in", "ringmaat"), ("tools",))
    assert settings(tmp_path, {"TARS_MEMORY_FACTS_SINGLE": "a,b , c"}).facts.single == ("a", "b", "c")
    write(tmp_path / "home/config/config.toml", "[facts]\nsingle = ['lives in', 3]\n")
    with pytest.raises(SettingsError, match="list of strings"):
        settings(tmp_path).facts  # noqa: B018


def test_a_list_over_several_lines_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "home/config/config.toml"
    write(path, "[sources]\npaths = [\n  '/a, b',\n  '/c',\n]\nvectors = 9\n")
    assert settings(tmp_path).sources.logs == ["/a, b", "/c"]
    settings(tmp_path).write("sources", "paths", ["/a, b"])
    assert path.read_text() == '[sources]\npaths = ["/a, b"]\nvectors = 9\n'


@pytest.mark.parametrize(
    ("text", "after"),
    [("recall.limit = 5\n", 'recall.mode = "lexical"\nrecall.limit = 5\n'), ("recall = { limit = 5 }\n", None)],
)
def test_a_section_in_another_spelling_stays_valid(tmp_path: Path, text: str, after: str | None) -> None:
    path = tmp_path / "home/config/config.toml"
    write(path, text)
    with pytest.raises(UnwritableError, match="this program won't change") if after is None else nullcontext():
        settings(tmp_path).write("recall", "mode", "lexical")
    assert path.read_text() == (after or text)


@pytest.mark.parametrize("word", ["none", "off", "No", "FALSE", "0"])
def test_a_word_for_nothing_is_no_model_and_nothing_else_wherever_it_is_set(tmp_path: Path, word: str) -> None:
    names = ("EMBEDDING_MODEL", "INDEX_BACKGROUND", "HOOK_LINES", "TERMINAL_PAGER", "LLM_MODEL", "LLM_EXTRACT_MODEL")
    found = settings(tmp_path, {f"TARS_MEMORY_{name}": word for name in names})
    assert (found.embedding.model, found.index.background, found.hook.lines, found.terminal.pager) == (
        "none", "off", (), "off",
    )  # fmt: skip
    assert found.llm.named("extract") == found.llm.named("review") == found.llm.named("extract", word) == ""
    write(tmp_path / "home/config/config.toml", f"[embedding]\nmodel = '{word}'\n")
    assert settings(tmp_path).embedding.model == "none"
    write(tmp_path / "home/config/config.toml", "[embedding]\nmodel = false\n[terminal]\npager = false\n")
    assert (settings(tmp_path).embedding.model, settings(tmp_path).terminal.pager) == ("none", "off")


def test_no_model_for_one_job_is_no_model_of_all(tmp_path: Path) -> None:
    found = settings(tmp_path, {"TARS_MEMORY_LLM_MODEL": "some/model", "TARS_MEMORY_LLM_EXTRACT_MODEL": "off"}).llm
    assert (found.named("extract"), found.named("review")) == ("", "some/model")


@pytest.mark.parametrize("name", ["embeded", "BAAI", " "])
def test_an_embedding_model_that_nobody_knows_is_refused_with_those_that_are_known(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="is unknown") as caught:
        assert settings(tmp_path, {"TARS_MEMORY_EMBEDDING_MODEL": name}).embedding
    assert "embedded, multilingual, none, or a name with a slash" in str(caught.value.hint)


def test_without_a_model_search_is_by_words_and_nothing_is_said(tmp_path: Path) -> None:
    write(tmp_path / "vault/Tea.md", "- green tea\n")
    with memory(tmp_path, {"TARS_MEMORY_EMBEDDING_MODEL": "off"}) as mine:
        found = mine.search("tea")
        assert (found.mode, found.notices, len(found.hits)) == ("lexical", [], 1)
        assert not [one for one in mine.doctor()["findings"] if one["kind"] == "model"]
        assert mine.reindex().notices == []
        assert not any(model["current"] for model in mine.models(fetchable=False))
        with pytest.raises(ModelUnavailableError, match="no embedding model is set"):
            mine.search("tea", mode="semantic")


def test_an_empty_variable_sets_nothing(tmp_path: Path) -> None:
    empty = settings(tmp_path, {"TARS_MEMORY_EMBEDDING_MODEL": "", "TARS_MEMORY_RECALL_LIMIT": ""})
    plain = settings(tmp_path)
    assert empty.embedding.model == plain.embedding.model
    assert empty.recall.limit == plain.recall.limit
    assert empty.origins == plain.origins
