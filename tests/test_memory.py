"""What becomes of a call when the world around it is not as it should be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tars_memory.doors.cli.commands.health import _summary
from tars_memory.errors import ModelUnavailableError, NotFoundError, UnwritableError, UsageError, VaultError
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.workspace import Workspace


@pytest.mark.parametrize(
    "write",
    [
        lambda memory: memory.remember("spoken words"),
        lambda memory: memory.log("spoken words"),
        lambda memory: memory.feedback(True, "spoken words"),
        lambda memory: memory.edit("old", "spoken words"),
    ],
)
def test_without_a_state_folder_the_message_repeats_the_text(tmp_path: Path, write: Callable[[Memory], object]) -> None:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)
    (tmp_path / "home").write_text("no folder", "utf-8")
    memory = Memory(tmp_path / "vault", env={"TARS_MEMORY_HOME": str(tmp_path / "home")})
    with pytest.raises(UnwritableError, match="spoken words"):
        write(memory)


@pytest.mark.parametrize("other", ["nothing", "a note", "a vault"])
def test_a_memory_that_stays_open_writes_nothing_into_what_took_the_place_of_its_vault(
    tmp_path: Path, other: str
) -> None:
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    root, unmounted = tmp_path / "vault", tmp_path / "unmounted"
    Memory.init(root, env=env)
    memory = Memory(root, env=env)
    memory.log("tea")
    root.rename(unmounted)
    with pytest.raises(UnwritableError):  # nothing is there: the text waits in the spool
        memory.log("cake")
    root.mkdir()
    if other == "a note":
        (root / "Tea.md").write_text("- tea\n", "utf-8")
    elif other == "a vault":
        (root / ".tars").mkdir()
        (root / ".tars/vault-id").write_text("0f" * 16 + "\n", "utf-8")
    before = sorted(root.rglob("*"))
    with pytest.raises(VaultError, match=r"unmounted or emptied|another folder"):
        memory.log("lost")
    assert sorted(root.rglob("*")) == before
    root.rename(tmp_path / "other")
    unmounted.rename(root)
    memory.log("coffee")
    day = next(path for path in root.glob("*.md") if path.name[:2] == "20").read_text("utf-8")
    assert "tea" in day and "cake" in day and "coffee" in day and "lost" not in day


def test_a_memory_that_stays_open_goes_on_after_its_vault_lost_its_id_or_got_another_by_sync(tmp_path: Path) -> None:
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    Memory.init(tmp_path / "vault", env=env)
    memory = Memory(tmp_path / "vault", env=env)
    name = tmp_path / "vault/.tars/vault-id"
    name.write_text("0f" * 16 + "\n", "utf-8")
    assert memory.log("tea").written
    name.unlink()
    assert memory.log("cake").written


def test_an_unset_variable_is_no_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    Memory.init(tmp_path, env=env)
    assert Memory(env=env).workspace.root == tmp_path
    with pytest.raises(UsageError, match="--vault is empty"):
        Memory("", env=env)


def test_a_missing_vault_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(VaultError) as caught:
        Memory(tmp_path / "nowhere", env={"TARS_MEMORY_HOME": str(tmp_path / "home")})
    assert "Errno" not in caught.value.message
    assert "No such file" in caught.value.message


def test_a_tier_note_that_is_a_link_is_told(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("- a fact\n", "utf-8")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/Memory.md").symlink_to(tmp_path / "real.md")
    memory = Memory(tmp_path / "vault", env={"TARS_MEMORY_HOME": str(tmp_path / "home")})
    assert memory.list() == []
    assert any("Memory.md is a link" in notice for notice in memory.workspace.notices)


def test_trying_an_init_makes_not_even_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    tried = Memory.init(tmp_path / "new/deep", dry_run=True, env=env)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(VaultError, match="not a folder"):
        Memory.init(tmp_path / "file/deep", dry_run=True, env=env)
    made = Memory.init(tmp_path / "new/deep", env=env)
    assert (made.root, {*made.created, ".tars/vault-id"}) == (tried.root, set(tried.created))
    inner = [Memory.init(made.root / "inner", dry_run=dry_run, env=env).notices for dry_run in (True, False)]
    assert inner[0] == inner[1] and "it is inside the vault" in inner[0][0]
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(UnwritableError):
        Memory.init(tmp_path / "locked/deep", dry_run=True, env=env)


def test_the_search_that_makes_the_vectors_answers_as_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    for number, text in enumerate(("fountain pens and ink", "the cellar holds a server")):
        with Memory(tmp_path / "vault", env=env, embedder=HashEmbedder()) as memory:
            memory.log(text)
            first, second = (memory.search("pens ink", explain=True).hits for _ in range(2))
        assert first, number
        assert [(hit.path, hit.score, hit.explain) for hit in first] == [
            (hit.path, hit.score, hit.explain) for hit in second
        ]


def test_by_meaning_alone_needs_a_vector_and_says_so_instead_of_finding_nothing(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(vault, env=env, embedder=HashEmbedder()) as memory:
        assert memory.search("fountain pens", mode="semantic").hits == []
    for number in range(40):
        (vault / f"Note {number}.md").write_text(f"fountain pens, number {number}\n")
    with Memory(vault, env=env, embedder=HashEmbedder()) as memory:
        memory.reindex(embed=False)
        with pytest.raises(ModelUnavailableError, match="no passage has a vector") as raised:
            memory.search("fountain pens", mode="semantic")
        assert "reindex" in raised.value.hint
        assert raised.value.exit_code == 7
        assert memory.search("fountain pens").mode == "lexical"
        memory.reindex()
        assert memory.search("fountain pens", mode="semantic").hits


def test_without_a_model_hints_lead_to_the_model_not_to_a_reindex_that_makes_nothing(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(40):
        (vault / f"Note {number}.md").write_text(f"fountain pens, number {number}\n")
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_EMBEDDING_MODEL": "sentence/none"}
    missing = "the embedding model sentence/none is not on this machine"
    with Memory(vault, env=env) as memory:
        assert memory.reindex().pending_vectors
        assert [said for said in memory.search("fountain pens").notices if "reindex" in said] == []
        assert f"words only: {missing}: tars-memory status" in memory.search("fountain pens").notices
        with pytest.raises(ModelUnavailableError, match="sentence/none is not on this machine") as raised:
            memory.search("fountain pens", mode="semantic")
        assert "models use sentence/none" in raised.value.hint
        memory.workspace.notices.clear()
        memory.related("Note 1")
        assert memory.workspace.notices == [f"words only: {missing}: tars-memory status"]
        assert "next      get the model: the line semantic says how" in "\n".join(
            f"{name:<10}{value}" for name, value in _summary(memory.status(), bars=False)
        )


def test_status_leads_to_what_is_not_searched(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/a.md").write_text("tea\n")
    (tmp_path / "vault/long.md").write_text("tea " * 3_000_000)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(tmp_path / "vault", env=env, embedder=HashEmbedder()) as memory:
        memory.reindex()
        rows = dict(_summary(memory.status(), bars=False))
    assert rows["notes"] == "1 note; skipped: 1 too big"
    assert rows["next"] == "tars-memory doctor"


def test_a_language_that_the_model_does_not_know_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    with Memory(tmp_path / "vault", env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        said = memory.searcher.unknown_language("German", "embedded")
        assert len(said) == 1
        assert "German" in said[0]
        assert memory.searcher.unknown_language("German", "embedded") == []
        assert memory.searcher.unknown_language("", "embedded") == []
        assert memory.searcher.unknown_language("French", "multilingual") == []
        memory.workspace.embedder = HashEmbedder()
        assert memory.searcher.unknown_language("French", "embedded") == []


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("On és la clau de la cuina i qui la té?", "the language of this question"),
        ("где запасной ключ", "Cyrillic script"),
        ("where is the key", ""),
    ],
)
def test_only_a_script_tells_for_sure_which_language_a_question_is_in(tmp_path: Path, question: str, said: str) -> None:
    make_vault(tmp_path / "vault", {"Tea.md": "oolong\n"})
    with Memory(tmp_path / "vault", env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        notices = [str(notice) for notice in memory.search(question).notices if "English" in str(notice)]
    assert notices == ([f"the model knows English, not {said}: tars-memory models list"] if said else [])


def test_reindex_counts_the_vectors_that_it_made(tmp_path: Path) -> None:
    make_vault(tmp_path / "vault", {"Tea.md": "# Tea\n\noolong\n", "Anna.md": "# Anna\n\nlives in Cork\n"})
    home = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    told: list[int] = []
    with Memory(tmp_path / "vault", embedder=HashEmbedder(), env=home) as memory:
        report = memory.reindex(embed=False)
        assert (report.changed, report.vectors, report.pending_vectors) == (2, 0, 2)
        report = memory.reindex(progress=lambda phase, done, _: told.append(done) if phase == "vectors" else None)
        assert (report.changed, report.vectors, report.pending_vectors) == (0, 2, 0) and told[-1] == 2
        assert memory.reindex().vectors == 0


def test_a_model_is_recommended_by_the_languages_of_the_notes(tmp_path: Path) -> None:
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(6):
        (vault / f"{number}.md").write_text("The key to the shed is behind the door, and it is old.\n")
    with Memory(vault, env=env) as memory:
        assert memory.recommended_model() is None
        (vault / "Garten.md").write_text("Die Tomaten und die Gurken sind reif, und wir haben zu viel davon.\n")
        assert memory.recommended_model() is None  # one letter in German makes no German vault
        (vault / "会议.md").write_text("下周三和设计团队开会，讨论新的标志。\n")
        better = memory.recommended_model()
    assert better is not None
    assert (better["model"], better["megabytes"]) == ("multilingual", 72)
    assert better["languages"] == {"German": 0.12, "Chinese": 0.12}
    assert better["why"] == "25 % of the notes are not in English, most of these in German"
    with Memory(vault, env={**env, "TARS_MEMORY_EMBEDDING_MODEL": "multilingual"}) as memory:
        assert memory.recommended_model() is None


@pytest.mark.parametrize(("patience", "opened"), [(1.0, []), (3.0, ["opened"])])
def test_who_cannot_wait_for_a_model_to_be_prepared_has_words_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float, opened: list[str]
) -> None:
    asked = []

    def never(workspace: Workspace) -> HashEmbedder:
        asked.append("opened")
        raise ModelUnavailableError("no model", "")

    monkeypatch.setattr(Workspace, "open_embedder", never)
    Memory.init(tmp_path, env=(env := {"TARS_MEMORY_HOME": str(tmp_path / "home")}))
    with Memory(tmp_path, env=env) as memory:
        memory.remember("the heron came back")
        memory.workspace.patience = patience
        assert len(memory.search("heron").hits) == 1
    assert asked == opened


def test_a_layout_that_cannot_be_used_is_told_where_notes_are_written(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {".tars/config.toml": '[layout]\nmemory = "../Notes.md"\n'})
    with Memory(root, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        assert memory.remember("tea is ready at five").path == "Memory.md"
        (told,) = [notice for notice in memory.workspace.notices if "layout.memory" in notice]
        assert "to the default place" in told


def test_a_note_that_is_too_big_to_be_searched_can_be_opened(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Huge.md": "tea\n" * 1000, "projects/secret/Plan.md": "tea\n" * 1000})
    (root / ".tars").mkdir(exist_ok=True)
    (root / ".tars" / "config.toml").write_text("[limits]\nmax_note_bytes = 1000\n")
    memory = Memory(root, env={"TARS_MEMORY_HOME": str(tmp_path / "home")})
    assert {memory.place(name).path for name in ("Huge.md", "Huge")} == {"Huge.md"}
    with pytest.raises(NotFoundError):
        memory.place("projects/secret/Plan.md")
    ways = (
        memory.links,
        memory.related,
        memory.headings,
        memory.note_called,
        lambda name: memory.search("", links_to=(name,)),
    )
    for way in ways:
        with pytest.raises(NotFoundError, match=r"^Huge\.md has 4,000 bytes; more than 1,000 are not read$") as raised:
            way("huge")
        assert raised.value.hint == "raise [limits] max_note_bytes, or split the note"
        with pytest.raises(NotFoundError, match="no note has the name 'Plan'"):
            way("Plan")
