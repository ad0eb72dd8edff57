"""Keywords in the languages of the world, and knowing which of them an English model can't read."""

from __future__ import annotations

import pytest
from recalled import Recalled

from tars_memory.index.fulltext import Filter
from tars_memory.index.models import EMBEDDED, is_english
from tars_memory.language.words import foreign_language, is_latin, stem
from tars_memory.recall.weights import Terms, beginning_of_relatives, compounds_of, is_doubtful, relatives_of, worded

pytestmark = pytest.mark.usefixtures("proved_engine")

NOTES = {
    "Deutsch.md": "- Die Straße nach Düsseldorf ist gesperrt.\n- Österreichische Äpfel im Kühlschrank.\n",
    "PDF.md": "- Die Haft\u00adpflicht\u00adversicherung zum Di\ufb03ni-Tari\ufb00.\n",
    "Français.md": "- Le garçon a oublié son œuvre à l'hôtel près de la gare.\n- Élodie préfère le thé glacé.\n",
    "Español.md": "- El pingüino del señor Muñoz cumple años en mañana.\n- La niña estudió en Cádiz.\n",
    "Polski.md": "- Zażółć gęślą jaźń w Łodzi.\n- Książka leży na półce obok świecy.\n",
    "Česky.md": "- Příliš žluťoučký kůň úpěl ďábelské ódy.\n",
    "Русский.md": "- Ёлка стоит в гостиной, ключ у соседки Наташи.\n- СЧЁТ за электричество оплачен.\n",
    "Ελληνικά.md": "- Ο Οδυσσέας έφτασε στους Δελφούς.\n- Το κλειδί είναι στο συρτάρι.\n",
    "中文.md": "- 备用钥匙在邻居家。\n- 猫喜欢喝牛奶，狗不喜欢。\n",
    "日本語.md": "- 会議は月曜日に京都で行われます。\n- ラーメンと餃子を食べた。\n",
    "混.md": "- 講義でTransformerのattention機構を学んだ。\n- 佐々木さんは時々来る。\n- 修理代は15,000円だった。\n",
    "佐.md": "- 佐藤木材の社長。\n- C++を勉強。\n- ＵＳＢの予備は５０２号室。\n",
    "한국어.md": "- 열쇠는 이웃집에 있습니다.\n- 김치찌개를 만들었다.\n- Docker를 배웠다.\n",
    "العربية.md": "- المفتاح عند الجارة فاطمة.\n- اجتماع يوم الاثنين في القاهرة.\n",
    "فارسی.md": "- کلید دست همسایه است، شماره ۱۴۰۳.\n",
    "हिन्दी.md": "- चाबी पड़ोसी के पास है।\n- सोमवार को दिल्ली में बैठक।\n",
    "ไทย.md": "- กุญแจสำรองอยู่ที่เพื่อนบ้าน\n",
    "Türkçe.md": "- İstanbul'da ılık bir çay içtik.\n- DİYARBAKIR karpuzu geldi.\n",
    "Emoji.md": "- the launch 🚀 went well\n- family day 👨‍👩‍👧 at the lake ❤️\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    recalled = Recalled(tmp_path_factory.mktemp("languages"), NOTES, embed=False)
    yield recalled
    recalled.close()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Straße", "Straße nach"),
        ("straße", "Straße nach"),
        ("dusseldorf", "Düsseldorf"),
        ("DÜSSELDORF", "Düsseldorf"),
        ("Apfel*", "Äpfel"),
        ("Österreichische Äpfel", "Äpfel"),
        ("Haftpflichtversicherung", "Di\ufb03ni"),
        ("haft\u00adpflicht\u00adversicherung", "Di\ufb03ni"),
        ("diffini-tariff", "Di\ufb03ni"),
        ("garcon", "garçon"),
        ("GARÇON", "garçon"),
        ("hôtel", "l'hôtel"),
        ("hotel", "l'hôtel"),
        ("elodie", "Élodie"),
        ("pinguino", "pingüino"),
        ("munoz", "Muñoz"),
        ("CÁDIZ", "Cádiz"),
        ("zazołc", "Zażółć"),
        ("ŚWIECY", "świecy"),
        ("książka", "Książka"),
        ("zlutoucky kun", "žluťoučký"),
        ("ďábelské", "ďábelské"),
        ("ключ", "ключ у"),
        ("НАТАШИ", "Наташи"),
        ("счёт", "СЧЁТ"),
        ("ёлка", "Ёлка"),
        ("елка", "Ёлка"),
        ("СЧЕТ", "СЧЁТ"),
        ("strasse", "Straße nach"),
        ("STRASSE", "Straße nach"),
        ("oeuvre", "œuvre"),
        ("lodzi", "Łodzi"),
        ("ksiazka lezy", "Książka"),
        ("δελφους", "Δελφούς"),
        ("ΟΔΥΣΣΕΑΣ", "Οδυσσέας"),
        ("اِجتماع", "اجتماع"),
        ("ilik cay", "ılık"),
        ("Δελφούς", "Δελφούς"),
        ("ΟΔΥΣΣΈΑΣ", "Οδυσσέας"),
        ("οδυσσέασ", "Οδυσσέας"),
        ("钥匙", "备用钥匙"),
        ("猫", "猫喜欢"),
        ("牛奶", "牛奶"),
        ("喜欢喝", "猫喜欢喝"),
        ("京都", "京都"),
        ("月", "月曜日"),
        ("ラーメン", "ラーメン"),
        ("餃子", "餃子"),
        ("attention", "attention機構"),
        ("Transformer機構", "attention機構"),
        ("Transf*", "Transformerの"),
        ("15,000", "15,000円"),
        ("15000", "15,000円"),
        ("佐々木", "佐々木さん"),
        ("C++", "C++を"),
        ('"Transformerのattention"', "attention機構"),
        ('"佐藤木材"', "佐藤木材の"),
        ('"502号室"', "５０２号室"),
        ("usb", "ＵＳＢの"),
        ("502号室", "５０２号室"),
        ("５０２", "５０２号室"),
        ("ａｔｔｅｎｔｉｏｎ", "attention機構"),
        ("１５，０００円", "15,000円"),
        ("docker", "Docker를"),
        ("열쇠", "열쇠는"),
        ("김치", "김치찌개"),
        ("찌개", "김치찌개"),
        ("المفتاح", "المفتاح"),
        ("فاطمة", "فاطمة"),
        ("كليد", "کلید"),
        ("1403", "کلید"),
        ("١٤٠٣", "کلید"),
        ("चाबी", "चाबी"),
        ("दिल्ली", "दिल्ली"),
        ("กุญแจ", "กุญแจ"),
        ("istanbul", "İstanbul"),
        ("çay", "çay"),
        ("cay", "çay"),
        ("diyarbakir", "DİYARBAKIR"),
        ("🚀", "🚀"),
        ("👨‍👩‍👧", "👨‍👩‍👧"),
        ("❤", "❤️"),
        ("❤️", "❤️"),
    ],
)
def test_a_word_is_found_in_its_language(vault, text, line):
    found = vault.found(text)
    assert found, text
    assert line in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "Königsberg",
        "хлеб",
        "σπίτι",
        "飛行機",
        "비행기",
        "طائرة",
        "पानी",
        "🐙",
        "ğ",
        "qué",
        '"attention学習"',
        '"佐藤の社長"',
    ],
)
def test_what_no_note_holds_is_not_found(vault, text):
    assert vault.found(text) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wo ist der Ersatzschlüssel?", "German"),
        ("où est la clé de rechange", "French"),
        ("dónde está la llave", "Spanish"),
        ("dov'è la chiave e quando", "Italian"),
        ("waar is de sleutel", "Dutch"),
        ("¿A qué hora se abre?", "Spanish"),
        ("cuando termina el contrato de la luz", "Spanish"),
        ("Cosa si mangia a Napoli?", "Italian"),
        ("Quem arranjou a máquina de lavar?", "Portuguese"),
        ("A avó já não come pão", "Portuguese"),
        ("Kdo řekl Petrovi o klíči?", "Czech"),
        ("Garajın anahtarı nerede?", "Turkish"),
        ("gdzie jest klucz", "Polish"),
        ("kde je klíč", "Czech"),
        ("где запасной ключ", "Cyrillic script"),
        ("πού είναι το κλειδί", "Greek"),
        ("钥匙在哪里", "Chinese"),
        ("昨日の会議", "Japanese"),
        ("鍵はどこ", "Japanese"),
        ("열쇠는 어디", "Korean"),
        ("أين المفتاح", "Arabic script"),
        ("चाबी कहाँ है", "an Indian script"),
    ],
)
def test_the_language_of_a_question(text, language):
    assert foreign_language(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        "where is the spare key",
        "Müller contract",
        "what did Zoë say about the café in Łódź",
        "is the word Οδυσσέας Greek, and who wrote the Odyssey",
        "die hard",
        "el nino in 2023",
        "de novo assembly of sequence data",
        "who is the man in la la land",
        "a priori",
        "Dvořák, Łódź and São Paulo",
        "jalapeño recipe",
        "🚀",
        "C++",
    ],
)
def test_english_is_not_taken_for_anything_else(text):
    assert foreign_language(text) == ""


@pytest.mark.parametrize("text", ["Como se dilui a heparina?", "que vino a la cena", "Gdje je ključ od garaže?"])
def test_of_words_that_several_languages_have_none_is_said(text):
    assert foreign_language(text) == ""


def test_every_word_of_a_long_text_is_weighed():
    spanish = "Se paga el alquiler a primeros de mes. No se admite a Ana en la piscina, a menos que venga su tutor."
    assert foreign_language(spanish) == "Spanish"
    assert foreign_language(f"He asked what was on the sign in the window, so I read it to him: {spanish[:38]}") == ""


@pytest.mark.parametrize(
    ("model", "english"),
    [
        (EMBEDDED, True),
        ("sentence-transformers/all-MiniLM-L6-v2", True),
        ("BAAI/bge-small-en-v1.5", True),
        ("intfloat/multilingual-e5-large", False),
        ("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", False),
        ("BAAI/bge-m3", False),
    ],
)
def test_which_models_are_for_english(model, english):
    assert is_english(model) is english


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_titles_headings_and_aliases_are_found_without_a_word_in_the_text(tmp_path, mode):
    notes = {
        "東京旅行.md": "浅草に行った\n",
        "n.md": "# 料理\n\n## 寿司\n\nmake the rice\n\n## 餃子\n\nfold them\n",
        "🦊 den.md": "seen at dusk\n",
        "C++.md": "templates are hard\n",
        "dog.md": "---\naliases: [犬小屋]\n---\nroof and walls\n",
    }
    recalled = Recalled(tmp_path, notes)
    for text, path, line in [
        ("東京", "東京旅行.md", 1),
        ("旅行", "東京旅行.md", 1),
        ("寿司", "n.md", 5),
        ("餃子", "n.md", 9),
        ("🦊", "🦊 den.md", 1),
        ("C++", "C++.md", 1),
        ("犬小屋", "dog.md", 4),
    ]:
        hits = recalled.search(text, mode).hits
        assert [(hit.path, hit.start_line <= line <= hit.end_line) for hit in hits][:1] == [(path, True)], text
    recalled.close()


@pytest.mark.parametrize(
    ("text", "latin"),
    [
        ("", True),
        ("42 + 1", True),
        ("Größe", True),
        ("Ｚｅｔｔｅｌ", True),
        ("the word λόγος in an English sentence", True),
        ("猫喜欢喝牛奶", False),
        ("打开 Sync 的设置", False),
        ("Ёлка стоит", False),
    ],
)
def test_a_text_is_latin_by_its_letters(text, latin):
    assert is_latin(text) == latin


def test_what_a_model_can_not_read_is_neither_embedded_nor_compared(tmp_path):
    mixed = {"中文.md": "- 备用钥匙在邻居家。\n", "en.md": "- The spare key is at the neighbour's.\n"}
    vault = Recalled(tmp_path, mixed, later=True)
    vault.embedder.scripts = "Latin"
    assert vault.index.embed_pending() == 0, "nothing waits for a vector"
    assert [text for text in vault.embedder.texts if "钥匙" in text] == []
    assert len(vault.embedder.texts) == 1
    hits = vault.search("备用钥匙", "hybrid", explain=True).hits
    assert [hit.path for hit in hits] == ["中文.md"]
    assert hits[0].explain["note: nearest words"] == hits[0].explain["line: meaning, as far as known"] == 0
    first, vault.embedder.scripts, vault.embedder.fingerprint = vault.embedder.fingerprint, "", "reads all"
    vault.index.embed_pending()
    assert [text for text in vault.embedder.texts if "钥匙" in text] != [], "another model can"
    vault.embedder.scripts, vault.embedder.fingerprint, before = "Latin", first, len(vault.embedder.texts)
    assert vault.index.embed_pending() == 0
    assert len(vault.embedder.texts) == before
    vector = vault.embedder.embed_query("备用钥匙").vector
    near = vault.index.read(lambda reader: [chunk for chunk, _ in reader.nearest(vector, Filter(), 9)])
    rows = vault.index.read(lambda reader: reader.chunks(near))
    assert [row.path for row in rows.values()] == ["en.md"]
    vault.close()


def test_a_question_in_signs_is_answered_by_what_it_asks_not_by_two_chance_signs(tmp_path):
    topics = ["窗口布局", "文件同步", "笔记模板", "图谱颜色", "快捷键位", "主题外观", "插件安全", "标签面板"]
    notes = {f"{i}.md": f"- 这里说明{topic}怎样设置和使用。\n" for i, topic in enumerate(topics * 5)}
    notes["花园.md"] = "- 春天在花园里种下西红柿，每三天浇一次水。\n"
    vault = Recalled(tmp_path, notes, embed=False)
    assert [hit.path for hit in vault.search("花园里的西红柿几天浇一次水", "lexical").hits][:1] == ["花园.md"]
    assert vault.found("浇一次水")[0].startswith("- 春天")
    assert vault.found("春天气好不去那个地方一次") == []
    vault.close()


FORMS = {
    "Türkçe.md": "- Merdivenin yanında duruyor.\n",
    "Suomi.md": "- Vesipumppu vaihdettiin talossa.\n",
    "Русский.md": "- Насосы в колодце заменили в марте.\n",
    "Polski.md": "- Pompę w studni wymieniono w marcu.\n",
    "Deutsch.md": "- Omas Bücher liegen im Schrank.\n",
    "Ελληνικά.md": "- Ο γείτονας έχει τη σκάλα.\n",
    "English.md": "- The boiler databases are backed up on the stone bridge.\n",
}


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    recalled = Recalled(tmp_path_factory.mktemp("forms"), FORMS, embed=False)
    yield recalled
    recalled.close()


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        ("merdiven", "Türkçe.md", "Merdivenin"),
        ("merdivenler", "Türkçe.md", "Merdivenin"),
        ("talo", "Suomi.md", "talossa"),
        ("насоса", "Русский.md", "Насосы"),
        ("studnia", "Polski.md", "studni"),
        ("Buch", "Deutsch.md", "Bücher"),
        ("γείτονα", "Ελληνικά.md", "γείτονας"),
        ("databasing", "English.md", "databases"),
        ("databased", "English.md", "databases"),
    ],
)
def test_a_word_that_no_note_contains_finds_its_other_forms(forms, text, path, word):
    result = forms.search(text)
    assert [hit.path for hit in result.hits] == [path]
    shown = result.hits[0].best_line[1]
    assert word in [shown[start:end] for start, end in Terms(result.parsed).spans(shown)]


def test_a_word_that_a_note_contains_finds_no_other_forms(forms):
    result = forms.search("pompę")
    assert [hit.path for hit in result.hits] == ["Polski.md"]
    assert not result.parsed.relatives


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pompa -pompa", []),
        ("pompa -pompę", []),
        ("pompa -насос", ["Polski.md"]),
        ('pompa -"pompa w studni"', ["Polski.md"]),
        ("pompa wymieniono -pompa", ["Polski.md"]),
        ('"pompa studnia"', []),
        ('pompa "w studni"', ["Polski.md"]),
    ],
)
def test_an_excluded_word_finds_no_other_forms_and_a_phrase_is_exact(forms, text, found):
    assert [hit.path for hit in forms.search(text, "lexical").hits] == found


@pytest.mark.parametrize("text", ["pom", "насыпь", "bridle", "stomp", "zq4819", "boilxqzrtw"])
def test_words_that_only_begin_alike_are_no_forms(forms, text):
    assert not forms.search(text).hits


def test_the_most_similar_forms_come_first_and_can_be_asked_for():
    vocabulary = ["pomp", "pompa", "pompadan", "pompasi", "pompala", "pompei", "databas"]
    assert relatives_of("pompas", vocabulary)[:2] == ("pompasi", "pompa")
    assert relatives_of("databank", ["databas"]) == ("databas",)
    assert stem(worded("databas")) == "databas"


def test_compounds_hold_the_whole_word_and_are_no_doubtful_forms():
    found = compounds_of("kuchen", ["kasekuchen", "lebkuchens", "kuchen", "ekuchen", "kuche"])
    assert found == ("kasekuchen", "lebkuchens")
    assert not is_doubtful("kuchen", found) and is_doubtful("chainsaw", ["chain"])
    assert compounds_of("laake", [stem("verenpainelaake")]) and not compounds_of("sales", [stem("causal")])


@pytest.mark.parametrize(
    ("root", "other", "related"),
    [
        ("mokki", "mokilla", True),  # a double consonant before the last vowel is a single one in other cases
        ("chill", "child", False),
        ("libro", "libri", True),  # another last vowel
        ("libro", "librn", False),
        ("haftpflicht", "haftpflichtversicherung", True),
        ("party", "particular", False),
    ],
)
def test_forms_of_a_word_are_related_both_ways(root, other, related):
    for one, another in ((root, other), (other, root)):
        assert bool(relatives_of(one, [another])) is related
        assert not related or another.startswith(beginning_of_relatives(one))


def test_all_forms_of_a_word_have_the_beginning_with_which_the_vocabulary_is_read():
    word = "abcdefghijklmnopqrstuvwxyz" * 2
    vocabulary = [f"{word[:shared]}{'0' * rest}" for shared in range(len(word)) for rest in range(9)]
    for length in range(4, len(word)):
        root = word[:length]
        found = relatives_of(root, vocabulary)
        assert found, root
        assert all(other.startswith(beginning_of_relatives(root)) for other in found), root


HYPHENS = {
    "English.md": "- The Wi-Fi in the attic is slow.\n- E\u2011mails to the bank.\n- T-shirts.\n- No table here.\n",
    "Joined.md": "- The desk of the checkin was late.\n- Our tshirt is a gift.\n",
    "Deutsch.md": "- Das W-LAN im Keller ist langsam.\n- Die S-Bahn kommt um acht.\n",
    "Русский.md": "- Купили в интернет-магазине.\n",
    "Polski.md": "- Mini-spódnica Ani jest w szafie.\n",
    "projects/b/B.md": "- The x-ray was on Tuesday.\n- The hotspot is on.\n",
    "Other.md": "- The hot spot of the x ray is here.\n",
    "Kira.md": "- Kira 14.500 TL, depozito 29 000 TL.\n- Price: 3,250 or 3’251 $.\n- Lager 17800.\n- Tel 12.3456.\n",
}


@pytest.fixture(scope="module")
def hyphens(tmp_path_factory):
    recalled = Recalled(tmp_path_factory.mktemp("hyphens"), HYPHENS, embed=False)
    yield recalled
    recalled.close()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("wifi", {"Wi-Fi"}),
        ("what is the wifi in the attic", {"Wi-Fi"}),
        ("Email", {"E\u2011mails"}),
        ("check-in", {"checkin"}),
        ("Check\u2011in", {"checkin"}),
        ("check-in desk", {"desk", "checkin"}),
        ("tshirts", {"T-shirts", "tshirt"}),
        ("T-shirt", {"T-shirts", "tshirt"}),
        ("wlan", {"W-LAN"}),
        ("sbahn", {"S-Bahn"}),
        ("интернетмагазине", {"интернет-магазине"}),
        ("minispódnica", {"Mini-spódnica"}),
        ("notable", set()),
        ("wifi -tshirt", {"Wi-Fi"}),
        ("14500", {"14.500"}),
        ("14,500", {"14.500"}),
        ("14’500 TL", {"14.500"}),
        ("29000", {"29 000"}),
        ("3250", {"3,250"}),
        ("3251", {"3’251"}),
        ("17.800", {"17800"}),
        ("123456", set()),
        ("2345", set()),
    ],
)
def test_a_compound_is_found_with_and_without_its_hyphen(hyphens, text, found):
    result = hyphens.search(text, "lexical")
    shown = [hit.best_line[1] for hit in result.hits]
    lit = {line[start:end] for line in shown for start, end in Terms(result.parsed).spans(line)}
    assert lit >= found
    assert bool(lit) == bool(found)
    assert not result.did_you_mean


def test_a_compound_is_none_for_being_written_with_a_hyphen_in_another_project(hyphens):
    assert hyphens.found("xray") == hyphens.found("hot-spots -spot") == []
    assert "- The x-ray was on Tuesday.\n- The hotspot is on." in hyphens.found("xray", scope="b")


def test_a_name_is_named_by_another_form_of_its_word(tmp_path):
    notes = {f"n{i}.md": f"- Başka {i} şey burada.\n" for i in range(20)}
    notes |= {"Pompası.md": "- Kuyuda duran eski şey mart ayında değişti.\n"}
    notes |= {"Diğer.md": "- Kuyunun yanında pompası olan komşu mart ayında geldi.\n"}
    vault = Recalled(tmp_path, notes, embed=False)
    by_word = vault.search("Pompası mart", "lexical", explain=True).hits
    by_form = vault.search("pompa mart", "lexical", explain=True).hits
    assert [hit.path for hit in by_form] == [hit.path for hit in by_word] == ["Pompası.md", "Diğer.md"]
    assert by_form[0].explain["note: name"] == pytest.approx(by_word[0].explain["note: name"])
    vault.close()


PUMPS = ["pompa", "pompay", "pompan", "pompala", "pompali", "pompaya", "pompada", "pompadan", "pompanin"]


@pytest.mark.parametrize("of_others", [[], ["pompa"], PUMPS[1:], PUMPS])
def test_words_of_other_projects_neither_keep_nor_take_the_place_of_other_forms(tmp_path, of_others):
    notes = {f"projects/b/{word}.md": f"- the {word} hums here\n" for word in of_others}
    notes |= {"projects/b/Other.md": "- the winch hums\n", "Marigold.md": "- nothing here\n"}
    vault = Recalled(tmp_path, notes | {"projects/a/Su.md": "- Bakırcının pompası değişti.\n"}, embed=False)
    for options in ({}, {"unfinished": True}):
        result = vault.search("pompa", "lexical", scope="a", options=options)
        assert [hit.path for hit in result.hits] == ["projects/a/Su.md"]
        assert result.hits[0].best_line[1].startswith("- Bakırcının")
    assert vault.search("pompa", "lexical", scope="a").parsed.relatives == {"pompa": ("pompasi",)}
    assert not vault.search("pompa", "lexical").hits, "outside projects no note has a form"
    assert {hit.path for hit in vault.search("pompa", "lexical", scope="b").hits} <= notes.keys()
    vault.close()


def test_words_of_other_projects_keep_no_name_from_being_suggested(tmp_path):
    notes = {"Marigold Kettel.md": "- one thing\n", "Su.md": "- the kettle\n", "projects/b/N.md": "- merigold\n"}
    vault = Recalled(tmp_path, notes, embed=False)
    assert vault.search("merigold kettle", "lexical").did_you_mean == ["Marigold Kettel"]
    assert vault.search("merigold kettle", "lexical", scope="b").did_you_mean == []
    vault.close()


@pytest.mark.parametrize(
    "question",
    [
        "qu'ai-je fait hier",
        "qu’est-ce que j’ai fait hier ?",
        "qu'ai-je fait vendredi dernier",
        "¿qué hice ayer?",
        "che cosa ho fatto ieri",
        "che cosa ho fatto venerdì scorso",
        "was habe ich gestern gemacht",
        "was war letzten Freitag",
        "am 20. November",  # "am" is an English word, too
        "wat heb ik gisteren gedaan",
        "o que fiz na sexta-feira passada",
        "co robiłam wczoraj",  # of these languages no function words are known
        "co było 20 listopada",
        "어제 뭐 했어",
        "11월 20일에 무슨 일이 있었어",
        "mitä tein eilen",
    ],
)
def test_of_a_question_about_a_day_words_that_only_ask_need_not_be_in_its_note(tmp_path, question):
    notes = {"2026-11-20.md": "- 09:12 tram 4\n", "2026-11-16.md": "- 10:00 tram 6\n", "Tram.md": "- tram 9\n"}
    asked = Recalled(tmp_path, notes, embed=False)
    assert asked.found(question)[:1] == ["- 09:12 tram 4"]
    assert asked.found("qu'ai-je mangé à la crêperie de Quimper hier") == []
    assert asked.found("what did the zeppelin cost yesterday") == []
    asked.close()


@pytest.mark.parametrize("question", ["지난주에 뭐 했지", "先週は何をした", "co robiłam w zeszłym tygodniu"])
def test_a_question_about_last_week_finds_its_days(tmp_path, question):
    notes = {f"2026-{day}.md": f"- 09:12 tram {day}\n" for day in ("10-12", "11-12", "11-19")}
    asked = Recalled(tmp_path, notes | {"Tram.md": "- tram 9\n"}, embed=False)
    assert asked.found(question)[:1] == ["- 09:12 tram 11-12"]
    asked.close()
