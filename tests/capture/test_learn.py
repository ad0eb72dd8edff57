"""Playbooks: a person writes one at once, everybody else proposes it; none is overwritten, none lands elsewhere."""

from __future__ import annotations

import pytest

from tars_memory.capture.notes import learn, pin
from tars_memory.curation import review_note as review_note
from tars_memory.curation.commit import commit, refused
from tars_memory.curation.gather import gather
from tars_memory.curation.proposals import Decision
from tars_memory.errors import ConflictError, NotFoundError, UnwritableError, UsageError
from tars_memory.jobs.forgetting import forget
from tars_memory.settings import LayoutOptions, PermissionOptions
from tars_memory.vault import playbooks
from tars_memory.vault.layout import Layout
from tars_memory.vault.writing.history import typed_lines

STEPS = "run the tests\nraise the version\ntag it\n"
MADE = (
    "---\ncreated: 2026-11-21\n---\n# how I release\n\nWhen to use: it is ready\n\n"
    "1. run the tests\n2. raise the version\n3. tag it\n"
)


def waiting(bench):
    return gather(bench.ctx()).proposals


def test_a_person_writes_it_at_once_and_an_undo_takes_it_back(bench):
    made = learn(bench.ctx(), "how I release", STEPS, when="it is  ready")
    assert (made.path, made.line, made.written) == ("playbooks/how I release.md", 1, True)
    assert bench.get(made.path) == MADE
    again = learn(bench.ctx(), "how I release", STEPS, when="it is ready")
    assert (again.path, again.written) == (made.path, False)
    bench.ctx().store.undo()
    assert made.path not in bench.files()


def test_a_step_is_forgotten_by_its_words_and_by_its_place(bench):
    learn(bench.ctx(), "how I release", STEPS, when="it is ready")
    path = "playbooks/how I release.md"
    assert forget(bench.ctx(), "raise the version").removed == b"2. raise the version\n"
    assert bench.get(path) == MADE.replace("2. raise the version\n", "")
    forget(bench.ctx(), f"{path}:9")
    assert bench.get(path) == MADE.replace("2. raise the version\n3. tag it\n", "")


def test_what_nobody_types_waits_and_is_written_when_a_person_approves(bench):
    made = learn(bench.ctx("agent", interactive=False), "how I release", STEPS, when="it is ready")
    assert (made.path[:12], made.written) == (".tars/inbox/", False)
    assert "a playbook needs a person" in made.notices[0]
    (proposal,) = waiting(bench)
    assert (proposal.op, proposal.target) == ("create", "playbooks/how I release.md")
    with pytest.raises(UsageError, match="is a playbook: accepting it needs a person"):
        commit(bench.ctx("agent", interactive=False), [Decision(proposal, accept=True)])
    only_review = PermissionOptions(unattended_review=True)
    with pytest.raises(UsageError, match="is a playbook"):
        commit(bench.ctx("script", interactive=False, allowed=only_review), [Decision(proposal, accept=True)])
    commit(bench.ctx(), [Decision(proposal, accept=True)])
    assert bench.get(proposal.target) == MADE
    assert not waiting(bench)


@pytest.mark.parametrize(
    ("words", "first"),
    [("Release it ^r-0a1b2c3d", "# Release it"), ("# Other\n\n1. only this", "# Other"), (None, "# how I release")],
)
def test_other_words_are_another_title_or_the_whole_note(bench, words, first):
    learn(bench.ctx("agent", interactive=False), "how I release", STEPS)
    (proposal,) = waiting(bench)
    commit(bench.ctx(), [Decision(proposal, accept=True, text=words)])
    assert bench.get(proposal.target).split("\n")[3].startswith(first)


def test_a_proposal_in_review_md_shows_each_step_and_is_understood(bench):
    learn(bench.ctx("agent", interactive=False), "how I release", f"{STEPS}- [x] looks done ^r-0a1b2c3d\n")
    (proposal,) = waiting(bench)
    text = review_note.with_new(None, [proposal]).decode()
    assert [line.strip() for line in text.split("\n") if "step::" in line] == [
        "- step:: run the tests",
        "- step:: raise the version",
        "- step:: tag it",
        r"- step:: \[x] looks done \^r-0a1b2c3d",
    ]
    (item,) = review_note.read(text.encode())
    assert (item.words, item.doubt, item.decided) == ("how I release", "", False)
    ticked = text.replace("- [ ] how", "- [x] how").encode()
    assert review_note.decisions([review_note.read(ticked)])[0][proposal.id].accept
    assert review_note.is_bare(review_note.without_proposals(ticked, {proposal.id}))


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ("../../etc/passwd", "playbooks/etc passwd.md"),
        ("a/b\\c: d?", "playbooks/a b c d.md"),
        ("...hidden...", "playbooks/hidden.md"),
        ("x" * 300, f"playbooks/{'x' * 200}.md"),
        ("如何发布新版本", "playbooks/如何发布新版本.md"),
        ("كيف أنشر الإصدار", "playbooks/كيف أنشر الإصدار.md"),
        ("発" * 300, f"playbooks/{'発' * 66}.md"),
        ("release.md", "playbooks/release.md"),
        ("# C# & me #tag", "playbooks/C & me tag.md"),
        ("two\nlines", "playbooks/two lines.md"),
    ],
)
def test_a_title_names_a_file_in_the_folder_whatever_it_holds(bench, title, path):
    made = learn(bench.ctx(), title, "one\ntwo")
    assert made.path == path
    assert bench.get(path).startswith("---\ncreated: 2026-11-21\n---\n# ")
    assert [each.path for each in playbooks.read_all(bench.ctx().vault, {}, [""])] == [path]


@pytest.mark.parametrize("title", ["", "  ", "///", "...", "##", "\u200b", "x (conflicted copy)"])
def test_a_title_that_names_no_file_is_refused(bench, title):
    with pytest.raises(UsageError):
        learn(bench.ctx(), title, "one")
    assert not [path for path in bench.files() if path.endswith(".md")]


def test_a_playbook_is_never_overwritten_however_it_is_spelled(bench):
    bench.put("playbooks/Release.md", "# Release\r\n\r\n1. by hand\r\n")
    for title in ("Release", "RELEASE"):
        with pytest.raises(UsageError, match=r"the playbook playbooks/Release\.md"):
            learn(bench.ctx(), title, STEPS)
    assert not learn(bench.ctx("script", interactive=False), "Release", "1. by hand").written
    assert bench.get("playbooks/Release.md") == "# Release\r\n\r\n1. by hand\r\n"


def test_typing_one_that_nobody_approved_approves_it(bench):
    bench.put("playbooks/Release.md", "# Release\r\n\r\n1. by hand\r\n")
    assert not typed_lines(bench.ctx().store.journal, "playbooks/Release.md")
    told = learn(bench.ctx(), "Release", "1. by hand")
    assert told.notices == ["playbooks/Release.md already existed but was not approved here; now it is"]
    assert typed_lines(bench.ctx().store.journal, "playbooks/Release.md") == {b"# Release", b"1. by hand"}


def test_a_link_in_its_place_is_never_followed(bench):
    (bench.root / "playbooks").symlink_to(bench.state.parent, target_is_directory=True)
    with pytest.raises(UnwritableError):
        learn(bench.ctx(), "Release", STEPS)
    assert playbooks.paths(bench.ctx().vault, [""]) == []
    assert not (bench.state.parent / "Release.md").exists()


def test_two_that_are_made_at_once_are_one_and_a_word_about_the_other(bench):
    learn(bench.ctx("agent", interactive=False), "Release", "this\nway")
    (proposal,) = waiting(bench)
    learn(bench.ctx(), "Release", "that\nway")
    with pytest.raises(ConflictError, match="says something else"):
        commit(bench.ctx(), [Decision(proposal, accept=True)])
    assert "that" in bench.get("playbooks/Release.md")
    assert waiting(bench)


@pytest.mark.parametrize(
    "target",
    [
        "playbooks/../Memory.md",
        "Memory.md",
        "playbooks/.x.md",
        "playbooks/a/b.md",
        "playbooks/x.txt",
        "other/x.md",
        "playbooks/x?.md",
    ],
)
def test_a_proposal_from_elsewhere_makes_no_other_note(bench, target):
    learn(bench.ctx("agent", interactive=False), "Release", STEPS)
    (proposal,) = waiting(bench)
    layout = bench.ctx().layout
    assert not refused(layout, proposal)
    assert "not a place for a playbook" in refused(layout, proposal._replace(target=target))


def test_pinning_sets_one_property_and_no_other_byte(bench):
    for before, after in (
        ("# A\n", "---\npinned: true\n---\n# A\n"),
        ("\ufeff---\r\ntags: [x]\r\n---\r\n# A\r\n", "\ufeff---\r\ntags: [x]\r\npinned: true\r\n---\r\n# A\r\n"),
        ("---\npinned: false\nx: 1\n---\n", "---\npinned: true\nx: 1\n---\n"),
    ):
        bench.put("playbooks/A.md", before)
        assert pin(bench.ctx(), "playbooks/A.md", pinned=True).written
        assert bench.get("playbooks/A.md") == after
        assert not pin(bench.ctx(), "playbooks/A.md", pinned=True).written
        bench.ctx().store.undo()
        assert bench.get("playbooks/A.md") == before
    with pytest.raises(UsageError, match="only a person at a terminal"):
        pin(bench.ctx("agent", interactive=False), "playbooks/A.md", pinned=True)
    with pytest.raises(NotFoundError):
        pin(bench.ctx(), "playbooks/B.md", pinned=True)
    bench.put("playbooks/A.md", "---\npinned:\n  - no\nx: 1\n---\n")
    pin(bench.ctx(), "playbooks/A.md", pinned=True)
    assert bench.get("playbooks/A.md") == "---\npinned: true\nx: 1\n---\n"
    bench.put("playbooks/A.md", "---\n}: {\n---\n")
    with pytest.raises(ConflictError, match="can't be read"):
        pin(bench.ctx(), "playbooks/A.md", pinned=True)


def test_the_folder_is_a_setting_that_no_other_notes_share(bench):
    bench.options = LayoutOptions(playbooks_folder="How/to")
    assert learn(bench.ctx(), "Release", STEPS).path == "How/to/Release.md"
    for folder in ("", "agents/x", "projects", ".hidden", "../up"):
        with pytest.raises(UsageError, match="playbooks_folder"):
            Layout(LayoutOptions(playbooks_folder=folder))


def test_the_last_use_is_kept_beside_the_index_and_survives_damage(bench, tmp_path):
    day = bench.now.date()
    playbooks.use(tmp_path, ["playbooks/A.md", "playbooks/\udcff.md"], day)
    playbooks.use(tmp_path, ["playbooks/A.md"], day)
    file = tmp_path / playbooks.USES
    assert file.read_bytes().count(b"\n") == 2
    file.write_bytes(file.read_bytes() + b'{"path": "playbooks/B.md", "day": "2026-99-99"}\nhalf {"pa')
    assert playbooks.last_uses(tmp_path) == {"playbooks/A.md": day, "playbooks/\udcff.md": day}
    playbooks.use(tmp_path / "no" / "folder", ["x"], day)
    (tmp_path / "file").write_text("")
    playbooks.use(tmp_path / "file", ["x"], day)


def test_an_unused_one_fades_and_a_pinned_one_stays(bench):
    bench.put("playbooks/A.md", "---\ncreated: 2026-01-01\n---\n# A\n")
    bench.put("playbooks/B.md", "---\ncreated: 2026-01-01\npinned: true\n---\n# B\n\nWhen it rains\n")
    bench.put("playbooks/C.md", "---\ncreated: 2026-01-01\nLast_Used: 2026-11-01\n---\n# C\n")
    bench.put("playbooks/D.md", "---\nlast used: 2026-01-01\n---\n# D\n")
    today = bench.now.date()
    shelf = playbooks.read_all(bench.ctx().vault, {}, [""])
    assert [book.is_shown(today, 90) for book in shelf] == [False, True, True, False]
    assert [str(book.expires_on(90)) for book in shelf] == ["2026-04-02", "None", "2027-01-31", "2026-04-02"]
    assert shelf[1].named == "B: When it rains"
    assert playbooks.read_all(bench.ctx().vault, {"playbooks/A.md": today}, [""])[0].is_shown(today, 90)
    assert all(book.is_shown(today, 0) for book in shelf)
