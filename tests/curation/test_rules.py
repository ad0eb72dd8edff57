"""The extractor without a model: what it keeps of plain statements, and all that it must leave alone."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest
from random_documents import within

from curation.statements import LEFT_ALONE, WORTH
from tars_memory.capture.turns import Turn
from tars_memory.curation.extraction import rules
from tars_memory.curation.models import grounding
from tars_memory.curation.proposals import RULE, Drawn
from tars_memory.language.dates import names_day, with_absolute_dates
from tars_memory.language.statements import sentences
from tars_memory.language.words import LANGUAGES, language, language_of

DAY = date(2026, 11, 21)
LONG = "a line that goes on for as long as lines may go in a letter or a mail,"


def read(*texts: str, day: date = DAY) -> Drawn:
    """A conversation: the person, the model, the person …"""
    turns = [
        Turn(n, "user" if n % 2 else "assistant", "user" if n % 2 else "assistant", t) for n, t in enumerate(texts, 1)
    ]
    return rules.read(turns, {turn.number for turn in turns}, {turn.number: day for turn in turns})


def kept(*texts: str) -> list[str]:
    return [fact.text for fact in read(*texts).facts]


@pytest.mark.parametrize(("code", "sentence", "wanted"), WORTH, ids=[f"{c}: {s[:40]}" for c, s, _ in WORTH])
def test_what_is_worth_keeping_is_kept_in_its_own_words(code: str, sentence: str, wanted: str) -> None:
    assert kept(sentence) == [wanted], code


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("I live in Dublin and I work as a nurse.", ["I live in Dublin", "I work as a nurse"]),
        ("I live in Dublin and I have two cats.", ["I live in Dublin", "I have two cats"]),
        ("I have two cats, and I work at Airbus.", ["I have two cats", "I work at Airbus"]),
        ("Vivo a Bologna e ho due gatti.", ["Vivo a Bologna", "Ho due gatti"]),
        (
            "I live in Cork, my manager is Fiona, and Anna's birthday is on March 3.",
            ["I live in Cork", "My manager is Fiona", "Anna's birthday is on March 3"],
        ),
        ("J'habite à Lyon et je travaille comme infirmière.", ["J'habite à Lyon", "Je travaille comme infirmière"]),
        ("Abito a Torino e lavoro come insegnante.", ["Abito a Torino", "Lavoro come insegnante"]),
        ("Moro em Recife e trabalho como professora.", ["Moro em Recife", "Trabalho como professora"]),
        ("I live in Cork and have two cats.", ["I live in Cork", "I have two cats"]),
        ("Ik woon in Utrecht en werk als leraar.", ["Ik woon in Utrecht", "Ik werk als leraar"]),
        ("Ich wohne in Köln und habe zwei Katzen.", ["Ich wohne in Köln", "Ich habe zwei Katzen"]),
        ("I'm a nurse and live in Cork.", ["I'm a nurse", "I live in Cork"]),
        ("I have sons who swim and live in Cork.", ["I have sons who swim and live in Cork"]),
        ("I don't live in Cork and work at Asda.", ["I don't live in Cork and work at Asda"]),
        (
            "Ich habe drei Brüder, die alt sind und wohne in Ulm.",
            ["Ich habe drei Brüder, die alt sind und wohne in Ulm"],
        ),
        ("I live in Cork, and because I work at Asda I swim.", ["I live in Cork", "I work at Asda I swim"]),
        ("I live in Cork, but since May I work at Asda.", ["I live in Cork, but since May I work at Asda"]),
        ("Tom lives in Bristol and works as a plumber.", ["Tom lives in Bristol", "Tom works as a plumber"]),
        ("My sister Żaneta lives in Cork.", ["My sister Żaneta lives in Cork"]),
        ("Meine Schwester Šárka wohnt in Ulm.", ["Meine Schwester Šárka wohnt in Ulm"]),
        (
            "My daughter Mia lives in Bath and works at Asda.",
            ["My daughter Mia lives in Bath", "My daughter Mia works at Asda"],
        ),
        (
            "Lukas wohnt in Ulm und ist allergisch gegen Nüsse.",
            ["Lukas wohnt in Ulm", "Lukas ist allergisch gegen Nüsse"],
        ),
        ("Luca abita a Torino e lavora per Fiat.", ["Luca abita a Torino", "Luca lavora per Fiat"]),
        ("I live in Cork and have a problem: I can't focus.", ["I live in Cork"]),
        ("J'habite à Nancy et j'ai un souci avec mon chat.", ["J'habite à Nancy"]),
        ("Moro em Recife e tenho uma dúvida.", ["Moro em Recife"]),
        ("I live in Cork and want to visit Ann.", ["I live in Cork and want to visit Ann"]),
        ("I live in Cork and Dublin.", ["I live in Cork and Dublin"]),
        ("I live in Cork but not all year.", ["I live in Cork but not all year"]),
        ("I live in Cork, retired.", ["I live in Cork, retired"]),
        ("I have two cats and I like tea.", ["I have two cats and I like tea"]),
        ("I work at Asda or I study at UCC.", ["I work at Asda or I study at UCC"]),
        ("I live in Cork or I live in Kerry.", ["I live in Cork or I live in Kerry"]),
    ],
)
def test_a_sentence_with_a_fact_over_time_gives_each_of_its_statements(said: str, wanted: list[str]) -> None:
    assert kept(said) == wanted


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("I live in Dublin and I work at a bank there.", "I live in Dublin and I work at a bank there"),
        ("Ich wohne in Wien und arbeite dort als Lehrerin.", "Ich wohne in Wien und arbeite dort als Lehrerin"),
        ("Vivo en Lima y mi hermana trabaja allí.", "Vivo en Lima y mi hermana trabaja allí"),
        ("Ich arbeite bei Airbus, also muss ich dort Urlaub beantragen.", "Ich arbeite bei Airbus"),
        ("I live there and I love Rome.", "I love Rome"),
    ],
)
def test_a_place_that_was_just_named_can_be_referred_to(said: str, wanted: str) -> None:
    assert kept(said) == [wanted]


@pytest.mark.parametrize(
    "said",
    [
        "Carmen's birthday is on 8 April and she lives in Malaga",
        "Priya is allergic to shellfish",
        "Annas Geburtstag ist am 3. Mai",
        "Der Geburtstag von Peter ist der 12. Juli",
        "El cumpleaños de Carmen es el 8 de abril y vive en Málaga",
        "Pedro vive en Lima y es alérgico al marisco",
        "L'anniversaire de Paul est le 3 mars",
        "Claire habite à Metz et elle est végétarienne",
        "Il compleanno di Giulia è il 5 maggio",
        "O aniversário da Carmen é 8 de abril e ela mora em Recife",
        "O Rui mora em Faro",
        "Carmens verjaardag is 8 april en ze woont in Breda",
        "Ben works as a plumber",
        "Mia turns 40 on 3 May",
        "Anna wird 30 Jahre alt",
    ],
)
def test_what_is_said_of_somebody_by_name_is_kept(said: str) -> None:
    assert kept(f"{said}.") == [said]


@pytest.mark.parametrize(
    "said",
    [
        "She lives in Rome.",
        "Docker lives in Kubernetes.",
        "Java's birthday is on 23 May 1995.",
        "User lives in Cork.",
        "Git works for Windows.",
        "Our server Zeus lives in Frankfurt.",
        "Mein Server Zeus wohnt in Frankfurt.",
        "Mi app Nube vive en Valencia.",
        "Login works for Safari.",
        "The build is done. Authentication works for Google.",
        "Anna lives in Rome, my boss says.",
        "Perhaps Anna lives in Rome.",
        "Does Anna live in Rome?",
        "Er wohnt in Köln.",
        "Wohnt Lukas in Ulm?",
        "Ella vive en Roma.",
        "¿Carmen vive en Málaga?",
        "Write a story. Carmen lives in Malaga.",
        "Everyone lives in Rome.",
        "Nadie vive en Madrid.",
        "Personne habite à Lyon.",
        "Ninguém mora em Recife.",
        "Hoy trabaja en Madrid.",
        "Morgen wird 20 Grad.",
        "Wasser wird 90 Grad heiß.",
        "Water turns 90 degrees hot.",
        "Die Katze ist 3 Jahre alt.",
        "In the novel, Tom lives in Rome.",
        "En la novela, Pedro vive en Lima.",
        "Nel romanzo, Luca abita a Torino.",
    ],
)
def test_who_is_not_named_or_only_asked_about_is_left_alone(said: str) -> None:
    assert kept(said) == []


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("Keep it under 100 words.", "Keep it under 100 words"),
        ("Please keep it short, I read this on my phone. What is a monad?", "Please keep it short"),
        ("be brief", "Be brief"),
        ("Halte dich bitte kurz. Wie geht das?", "Halte dich bitte kurz"),
        ("Sé breve, por favor. ¿Qué es eso?", "Sé breve"),
        ("Sois bref s'il te plaît. Je suis où ?", "Sois bref"),
        ("Sii breve. Che cosa è questo?", "Sii breve"),
        ("Seja breve. O que é isso?", "Seja breve"),
        ("Antwoord in maximaal 80 woorden. Wat is dat?", "Antwoord in maximaal 80 woorden"),
    ],
)
def test_how_to_answer_is_a_rule_where_it_opens_a_turn(said: str, rule: str) -> None:
    assert [(fact.text, fact.seen) for fact in read(said).facts] == [(rule, RULE)]
    assert kept(said, "Fine.", "I have two cats and I like tea.")[0] == rule


@pytest.mark.parametrize(
    "said",
    [
        ("Write a poem about cats.", "…", "Keep it under 20 words."),
        ("Explain pods. Keep it short.",),
        ("Make a caption for my photo, keep it under 10 words.",),
        ("Be brief in the email to Bob.",),
    ],
)
def test_what_a_text_is_to_be_like_is_no_rule(said: tuple[str, ...]) -> None:
    assert kept(*said) == []


@pytest.mark.parametrize(("code", "said"), LEFT_ALONE, ids=[f"{c}: {str(s)[:40]}" for c, s in LEFT_ALONE])
def test_what_must_be_left_alone_is(code: str, said: str | tuple[str, ...]) -> None:
    turns = [said] if isinstance(said, str) else [part for one in said for part in (one, "Fine.")]
    assert kept(*turns) == [], code


def test_the_labelled_set_is_broad() -> None:
    worth = Counter(code for code, _, _ in WORTH)
    not_worth = Counter(code for code, _ in LEFT_ALONE)
    assert len(WORTH) >= 60
    assert len(LEFT_ALONE) >= 150
    assert set(worth) == set(not_worth) == set(LANGUAGES)


def test_every_quote_is_verbatim_whatever_stands_around_it() -> None:
    for _, sentence, _ in WORTH:
        text = f"Hm.\n\n{sentence}\n\nThat is all."
        for fact in read(text).facts:
            assert fact.quote in text
            assert fact.turn == 1


def test_what_was_just_said_can_be_taken_back() -> None:
    assert kept("I live in Cork. Scratch that. I have a dog called Bramble.") == ["I have a dog called Bramble"]
    assert kept("I work at Dell and I live in Rome. Just kidding.") == []
    for doubt in ("I wish.", "In my dreams!", "lol jk", "Maybe.", "Haha."):
        assert kept(f"I work at Dell. {doubt}") == []
        assert kept(f"I work at Dell. It rains today. {doubt}") == ["I work at Dell"]
    for said in ("Ich arbeite bei Bosch. Schön wär's.", "Trabajo en Ikea. Ojalá.", "Lavoro in Ikea. Magari."):
        assert kept(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "I speak without a mouth and hear without ears. What am I?",
        "Ich habe einen Bart und zwei Hörner. Was bin ich?",
        "Tengo dos gatos y soy vegana. ¿Quién soy?",
        "J'ai deux chats. Qui suis-je ?",
        "Ho due gatti. Chi sono?",
        "Ik heb twee katten. Wat ben ik?",
        "Tenho dois gatos. Quem sou eu?",
    ],
)
def test_a_riddle_is_no_life(said: str) -> None:
    assert kept(said) == []


@pytest.mark.parametrize(
    "said",
    ["I moved to src/utils and ran it.", "I work in utils.py.", "J'ai déménagé dans src/lib.", "Me mudé a src/lib."],
)
def test_a_folder_or_file_is_no_home(said: str) -> None:
    assert kept(said) == []
    assert kept("I moved to St. Louis.") == ["I moved to St. Louis"]
    assert kept("I moved to Cork/Ireland in May.") == ["I moved to Cork/Ireland in May"]


@pytest.mark.parametrize(
    "said",
    [
        "I have a parent class and a child class.",
        "I have 3 children elements in the div.",
        "Tengo un componente hijo.",
        "J'ai un composant enfant.",
        "J'ai deux classes filles.",
        "Ho una classe padre.",
        "Tenho um componente filho.",
        "My birthday is 1990-01-01 in the form.",
    ],
)
def test_relatives_in_a_program_are_none(said: str) -> None:
    assert kept(said) == []
    for real in ("I have two children and a dog", "I have a son in class 3B", "Tengo una hija en clase de piano"):
        assert kept(f"{real}.") == [real]


@pytest.mark.parametrize(
    "said",
    [
        "She was like, I live in Cork.",
        "He goes, I live in Cork.",
        "Und dann sie so, ich wohne in Ulm.",
        "Nehmen wir an, ich habe zwei Kinder.",
        "Gesetzt den Fall, ich wohne in Ulm.",
        "I love meetings /s",
        "For the sake of argument, I'm single and I have no kids.",
    ],
)
def test_what_is_told_of_others_or_supposed_is_left_alone(said: str) -> None:
    assert kept(said) == []


@pytest.mark.parametrize(
    ("said", "correction", "left"),
    [
        ("My sister's name is Ann.", "Actually my sister's name is Ana.", ["My sister's name is Ana"]),
        ("I live in Dublin with my two dogs.", "no, I meant Cork, not Dublin", []),
        ("I live in Dublin.", "No, I live in Cork, not Dublin.", ["I live in Cork, not Dublin"]),
        ("Our budget is 9000 euros.", "Actually, I meant 9500, not 9000.", []),
        ("I live in Cork.", "No, I don't live in Cork.", ["I don't live in Cork"]),
        ("Ich wohne in Köln.", "Nein, ich wohne in Bonn.", ["Ich wohne in Bonn"]),
        ("J'habite à Lyon avec Claire.", "Non, je voulais dire Lille, pas Lyon.", []),
        ("Vivo en Lima con mis padres.", "En realidad vivo en Cusco con mis padres.", ["Vivo en Cusco con mis padres"]),
        ("Mia moglie si chiama Lucia.", "In realtà mia moglie si chiama Luisa.", ["Mia moglie si chiama Luisa"]),
        ("O meu cão chama-se Bento.", "Não, o meu cão chama-se Bingo.", ["O meu cão chama-se Bingo"]),
        ("Ik woon in Utrecht.", "Nee, ik woon in Delft.", ["Ik woon in Delft"]),
        ("I live in New York.", "No, I live in York.", ["I live in York"]),
        ("i live in dublin.", "no, i live in cork", ["I live in cork"]),
        ("I work as a nurse.", "Actually I work as a teacher.", ["I work as a teacher"]),
        ("My brother is called Tom.", "Sorry, my brother is called Ben.", ["My brother is called Ben"]),
        ("I live in Cork.", "That's wrong, I live in Kerry.", ["I live in Kerry"]),
        ("I'm vegetarian and I have a dog.", "Actually I'm vegan.", ["I'm vegan"]),
        ("Soy vegetariana.", "En realidad soy vegana.", ["Soy vegana"]),
        ("I live in Cork.", "Oh, and actually I live in Kerry.", ["I live in Kerry"]),
        ("J'habite à Lyon.", "Et en fait j'habite à Lille.", ["J'habite à Lille"]),
        ("I live in Dublin.", "I live in Cork, not Dublin.", ["I live in Cork, not Dublin"]),
        (
            "Ich wohne in Köln.",
            "Ich wohne nicht in Köln, sondern in Bonn.",
            ["Ich wohne nicht in Köln, sondern in Bonn"],
        ),
        ("Ich wohne in Ulm.", "Ich habe mich geirrt: ich wohne in Bonn.", ["Ich wohne in Bonn"]),
        ("Ik woon in Gent.", "Ik heb me vergist: ik woon in Breda.", ["Ik woon in Breda"]),
        ("Vivo en Lugo.", "Me he equivocado: vivo en Vigo.", ["Vivo en Vigo"]),
        ("Moro em Recife.", "Me enganei: moro em Faro.", ["Moro em Faro"]),
    ],
)
def test_a_correction_leaves_only_what_it_says(said: str, correction: str, left: list[str]) -> None:
    assert kept(said, "Fine.", correction) == left
    assert kept(f"{said} {correction}") == left


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("I have a brother called Tom.", "And I have a brother called Ben."),
        ("I work as a nurse.", "Actually I live in Cork."),
        ("My sister is called Ana.", "No, my brother is called Ana."),
        ("I'm allergic to nuts.", "Oh, and actually I'm allergic to cats."),
        ("I'm allergic to nuts.", "Actually, I'm allergic to cats too."),
        ("Sou alérgico a nozes.", "Ah, e na verdade sou alérgico a gatos."),
    ],
)
def test_what_corrects_nothing_leaves_all_that_was_said_before(said: str, then: str) -> None:
    assert len(kept(said, "Fine.", then)) == 2


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (
            ("I live in Dublin.", "My sister lives in Dublin.", "No, I live in Cork, not Dublin."),
            ["My sister lives in Dublin", "I live in Cork, not Dublin"],
        ),
        (
            ("Meine Schwester wohnt in Köln.", "Nein, ich wohne in Bonn, nicht in Köln."),
            ["Meine Schwester wohnt in Köln", "Ich wohne in Bonn, nicht in Köln"],
        ),
        (
            ("My wife owns a flat in Spain.", "No, my wife is from Portugal, not Spain."),
            ["My wife owns a flat in Spain", "My wife is from Portugal, not Spain"],
        ),
        (
            ("My son is 8. My daughter is 8.", "No, my daughter is 9, not 8."),
            ["My son is 8", "My daughter is 9, not 8"],
        ),
        (
            ("My meeting with Lisa is on 12 December 2026.", "No, my meeting with Paul is on 16 December 2026."),
            ["My meeting with Lisa is on 12 December 2026", "My meeting with Paul is on 16 December 2026"],
        ),
        (
            ("I live in Dublin. My sister works in Dublin.", "No, I meant Cork, not Dublin."),
            ["I live in Dublin", "My sister works in Dublin"],
        ),
    ],
)
def test_a_denial_takes_back_nothing_about_others(said: tuple[str, ...], left: list[str]) -> None:
    assert kept(*(part for one in said for part in (one, "Fine."))) == left


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("My brother is allergic to nuts.", "I meant my cousin."),
        ("I live in Leeds. I love tea.", "Sorry, I meant Leicester."),
        ("I live in Leeds. I love tea.", "I meant Leicester."),
        ("I live in Leeds. I love tea.", "Correction: Leicester."),
        ("Mi hermano vive en Bilbao.", "Perdón, mi primo."),
        ("I have two cats.", "I meant two dogs."),
        ("I have two cats.", "Dogs, not cats."),
        ("My daughter is called Mia.", "Her name is Maja, sorry, not Mia."),
        ("My meeting with Al is on 3 May.", "The meeting is on 4 May, not 3 May."),
        ("J'ai deux filles.", "Pardon, trois, la petite est née en juin."),
        ("My flight is on 14 December.", "Sorry, 15 December, I misread it."),
        ("Mi vuelo es el 14 de diciembre.", "Perdón, el 15 de diciembre, me equivoqué."),
    ],
)
def test_a_turn_that_opens_with_an_amendment_takes_back_what_the_turn_before_ended_with(said: str, then: str) -> None:
    assert kept(said, "Fine.", then) == kept(said)[1:]
    assert kept(said, "Fine.", "Here is another one.", "Fine.", then) == kept(said)
    assert kept("I live in Leeds.", "Do you work there?", "No, in York.") == ["I live in Leeds"]
    assert kept("I live in Leeds.", "I chose port 3000.", "No, 8080.") == ["I live in Leeds"]
    assert kept("My manager is Fiona.", "Done.", "Edit my code.") == ["My manager is Fiona"]
    assert kept("I live in Leeds.", "It is done.", "Wait, Monday?") == ["I live in Leeds"]
    assert kept("I have two cats.", "Done.", "Sorry, my 3 dogs are barking.") == ["I have two cats"]
    for more in (
        "Sorry, my cats are loud.", "I mean, cats are fun.", "I need food for two dogs, not cats.", "Wait two minutes.",
        "Sorry, two questions, please.",
    ):  # fmt: skip
        assert kept("I have two cats.", "Done.", more) == ["I have two cats"]
    for other in ("I'd like to live in Rome, not Leeds.", "Where can I live, not Leeds?", "Try York, not Leeds."):
        assert kept("I live in Leeds.", "Done.", other) == ["I live in Leeds"]
    for other in ("Sorry, my mistake.", "Sorry, line 42.", "No, use port 8080."):
        assert kept("I live in Leeds.", "Done.", other) == kept(f"I live in Leeds. {other}") == ["I live in Leeds"]
    assert kept("I live in Leeds.", "Leeds is nice.", "No, Leicester.") == []


@pytest.mark.parametrize(
    ("said", "back"),
    [
        ("I love rock.", "No, wait."),
        ("I love rock …", "no."),
        ("Ich mag Jazz.", "Nein!"),
        ("Ich mag Jazz.", "Das war gelogen."),
        ("Me gusta el jazz.", "Fue una broma."),
        ("J'aime le tofu.", "Je plaisantais."),
        ("Amo il latino.", "Ho mentito."),
        ("Ik heb twee katten.", "Geintje!"),
        ("Gosto de samba.", "Estava a brincar."),
        ("I live in Gent.", "Oh wait no."),
        ("Soy vegano.", "Mentira."),
        ("Adoro filas.", "Mentira, odeio."),
        ("I love rock climbing.", "No wait, that's for the kids."),
        ("I have a twin brother.", "No, scratch that, half brother."),
        ("Ich mag Jazz.", "Nein, Moment."),
        ("J'aime le tofu.", "Enfin non, je le supporte."),
        ("Me gusta el jazz.", "No, espera."),
        ("Amo il latino.", "Anzi no."),
        ("Gosto de samba.", "Não, espera, de choro."),
        ("Gosto de samba.", "Aliás, esquece."),
        ("Me gusta el jazz.", "Bueno, olvida."),
        ("J'aime le tofu.", "Oublie."),
        ("I live in Cork.", "I mean, I lived there."),
        ("Abito a Torino e cerco un dentista.", "Cioè, abitavo."),
        ("Ich wohne in Ulm.", "Ich meine, ich wohnte da."),
    ],
)
def test_what_somebody_interrupts_with_a_denial_is_taken_back(said: str, back: str) -> None:
    assert len(kept(said)) == 1
    assert kept(f"{said} {back}") == []
    assert kept(said, "Fine.", "No, wait, let me look it up.") == kept(said)
    assert kept("I'm working at Asda. I mean, I work there part-time.") == ["I'm working at Asda"]


def test_what_dismisses_an_answer_or_goes_on_takes_nothing_back_and_scratch_that_the_turn_before() -> None:
    for dismissed in ("Ok, never mind.", "Thanks, forget that."):
        assert kept("I live in York.", "I found no pool there.", dismissed) == ["I live in York"]
    for back in ("No, scratch that.", "Wait, scratch that.", "Sorry, scratch that."):
        assert kept("I live in York.", "Fine.", back) == []
    for going_on in (
        "Actually wait, do it in Python.",
        "Wait, actually, do it in Python.",
        "Actually … go on.",
        "Oh no.",
    ):
        assert kept(f"I live in York. {going_on}") == ["I live in York"]
    assert kept("I have two kids. And no, gluten is fine. Not so good.") == ["I have two kids"]


@pytest.mark.parametrize(
    ("said", "other", "cry"),
    [
        ("I live in Gent", "uh no, in Bruges", "Oh no, my bus is late!"),
        ("I'm vegetarian", "uh no, vegan", "Oh no, my train is late."),
        ("I have two cats", "eh, no, three", "Sorry, no dogs."),
        ("Ich wohne in Köln", "äh nein, in Bonn", "Oh nein, der Zug ist weg."),
        ("J'habite à Lyon", "euh non, à Lille", "Oh non, j'ai oublié mes clés."),
        ("Vivo en Lima", "uy no, en Quito", "Ay no, qué horror."),
        ("Vivo a Roma", "eh no, a Siena", "Oh no, che peccato."),
        ("Moro em Lisboa", "opa, não, no Porto", "Ah não, esqueci a chave."),
        ("O aniversário da Rita é a 4 de abril", "perdão, a 5 de abril", "Oh não, que pena."),
        ("Ik woon in Gent", "eh nee, in Brugge", "Oh nee, ik ben mijn sleutels kwijt."),
    ],
)
def test_a_cry_before_a_denial_amends_what_was_said_only_if_another_value_follows(
    said: str, other: str, cry: str
) -> None:
    assert kept(f"{said}. {other[0].upper()}{other[1:]}.") == [f"{said}, {other}"]
    assert kept(f"{said}. {cry}") == [said]


def test_a_portuguese_no_is_no_spanish_denial() -> None:
    assert kept("Moro em Lisboa. Não, no Porto.") == ["Moro em Lisboa, não, no Porto"]
    assert kept("Mijn tentamen is op 12 mei. O nee, 13 mei.") == ["Mijn tentamen is op 12 mei, O nee, 13 mei"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("I live in Cork.", "I meant Kerry, not Cork."),
        ("Ich wohne in Köln.", "Ich meinte Bonn, nicht Köln."),
        ("J'habite à Lyon.", "Je voulais dire Lille, pas Lyon."),
        ("Vivo en Lima.", "Quise decir Quito, no Lima."),
        ("Abbiamo deciso di andare a Vienna.", "Volevo dire Berna, non Vienna."),
        ("Moro em Ouro Branco.", "Eu quis dizer Ouro Preto, não Ouro Branco."),
        ("Ik woon in Gent.", "Ik bedoelde Brugge, niet Gent."),
    ],
)
def test_a_repair_takes_back_the_value_that_it_denies(said: str, meant: str) -> None:
    assert len(kept(said)) == 1
    assert kept(said, "Fine.", meant) == []


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("This is from a forum: I am allergic to statins. I live in Ohio and I have three dogs.", []),
        ("Von meiner Schwester: Ich bin Vegetarierin. Ich habe zwei Kinder.", []),
        ("I'm vegan: I don't eat cheese. I live in Cork.", ["I'm vegan: I don't eat cheese", "I live in Cork"]),
        ("Quick question: I live in Cork, can I park here? I have a dog.", ["I have a dog"]),
        ("Mia sorella mi scrive così: Peso 60 chili. Ho due figli e abito a Lecce.", []),
        ("One thing: the build is broken. I live in Cork.", ["I live in Cork"]),
        ("The recipe that I use says: add butter. I'm vegan.", ["I'm vegan"]),
        ("Message from the landlord: Good morning. I have two cats.", []),
        ("Ich habe drei Hobbys: Tennis, Schach, Golf. Ich bin Veganer.", ["Ich bin Veganer"]),
        ("My mum: Hi love. I have two cats.", []),
        ("Tom: Hi! I have two cats.", []),
        ("Sarah: Can you feed them? I have two cats.", []),
        ("Hobbies: Chess. I live in Cork.", ["I live in Cork"]),
        ("My name: Laura. I live in Cork.", ["I live in Cork"]),
        ("My job: Night Nurse. I live in Cork.", ["I live in Cork"]),
        ("My teacher: Laura. I live in Cork.", []),
        ("My slogan: Think about it. I live in Cork.", []),
        ("Mon métier : Boulanger. J'habite à Lyon.", ["J'habite à Lyon"]),
        ("Mein Beruf: Koch. Ich habe zwei Kinder.", ["Ich habe zwei Kinder"]),
        ("My problem: I can't sleep. I live in Cork.", ["I live in Cork"]),
        ("Mi problema: no duermo bien. Tengo dos gatos.", ["Tengo dos gatos"]),
        ("Meine Frage: Ich suche ein Rad. Ich wohne in Ulm.", ["Ich wohne in Ulm"]),
        ("Mum: Hi love. I have two cats.", []),
        ("Headline: I have two wives. I live in Utah.", []),
        ("Ann writes: Hi. I have two cats.", []),
        ("For example: I live in Rome. I have two cats.", []),
        ("Mensaje de mi madre: Hola hija. Tengo dos gatos. ¿Qué le respondo?", []),
        ("Messaggio della maestra: Cari genitori. Ho due gatti.", []),
        ("Mensagem do meu senhorio: Bom dia. Moro no Porto.", []),
        ("Nachricht vom Chef: Kannst du kommen? Ich habe zwei Kinder.", []),
        ("Help me with my CV: I am a senior accountant. I speak Mandarin.", []),
        ("To answer your question: nobody knows. I live in Cork.", ["I live in Cork"]),
        ("Tell me what you think of this: I live in Cork. I have a dog.", []),
        ("Hilf mir beim Lebenslauf: Ich bin Köchin. Ich wohne in Köln.", []),
        ("Ayúdame con el problema: tengo dos hijos. Vivo en Lima.", []),
        ("Ingredientes que tengo en casa: arroz y pollo. Soy vegano.", ["Soy vegano"]),
        ("El error que me sale: falta un archivo. Vivo en Lima.", ["Vivo en Lima"]),
        ("Sag ihm bitte: Ich wohne in Köln. Ich habe zwei Kinder.", []),
        ("Quick update: I moved to Leeds in May. I work at Asda.", ["I moved to Leeds in May", "I work at Asda"]),
    ],
)
def test_a_text_behind_a_label_goes_on_in_the_next_sentences(said: str, left: list[str]) -> None:
    assert kept("Hi.", "Hi.", said) == left


@pytest.mark.parametrize(
    ("case", "real"),
    [
        ("Suppose I live in Rome. I have two kids. What tax do I pay?", "I suppose so. I have two kids."),
        (
            "Angenommen, ich bin 40. Ich wohne in Bonn. Was zahle ich?",
            "Stell dir vor, was mir passiert ist! Ich wohne in Bonn.",
        ),
        ("Supongamos que soy médico. Vivo en Lima. ¿Qué pago?", "Supongo que sí. Vivo en Lima."),
        ("Supposons que je sois riche. J'habite à Lyon. Que faire ?", "Je suppose. J'habite à Lyon."),
        ("Supponiamo che io sia medico. Vivo a Roma. Quanto pago?", "Lo suppongo. Vivo a Roma."),
        ("Suponha que eu seja rico. Moro em Lisboa. Quanto pago?", "Suponho que sim. Moro em Lisboa."),
        ("Say I live in Rome. I have two kids. What tax do I pay?", "They say I can. I have two kids."),
        ("Stel dat ik arts ben. Ik woon in Gent. Wat betaal ik?", "Ik stel iets voor. Ik woon in Gent."),
    ],
)
def test_what_follows_a_supposed_case_in_the_turn_is_supposed_as_well(case: str, real: str) -> None:
    assert kept(case) == []
    assert len(kept(real)) == 1
    assert kept(case, "Nothing.", real) == kept(real)
    for day in ("Let's say Monday.", "Suppose so.", "Sagen wir um fünf."):
        assert len(kept(f"{day} {real}")) == 1


@pytest.mark.parametrize(
    ("asked", "letter"),
    [
        ("What should I answer?", "Hi Anna,\nI'm moving to Lisbon in May and I have two cats.\nBest, Tom"),
        ("Was soll ich antworten?", "Liebe Eva,\nich wohne jetzt in Rom. Mein Chef heißt Paul."),
        ("Que répondre ?", "Chère Anna,\n\nJ'habite à Lyon et j'ai deux chats.\n\nPaul"),
        ("Cosa rispondo?", "Ciao Anna,\nvivo a Roma. Ho due gatti."),
    ],
)
def test_a_letter_behind_its_salutation_is_not_what_the_person_says(asked: str, letter: str) -> None:
    assert kept(f"{asked}\n\n{letter}") == kept(f"{asked}\n{letter}") == []
    greets = letter.startswith(("Hi", "Ciao"))
    assert (kept(letter) != []) == greets, "who greets at the beginning speaks; a draft begins with a salutation"
    assert kept("I live in Cork. What should I say?\n\nHi Ann,\nI have two cats.") == ["I live in Cork"]


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("I use Vim.", "I don't use Vim anymore."),
        ("Ich wohne in Köln.", "Ich wohne nicht mehr in Köln."),
        ("J'habite à Lyon.", "Je n'habite plus à Lyon."),
        ("Vivo en Lima.", "Ya no vivo en Lima."),
        ("Abito a Roma.", "Non abito più a Roma."),
        ("Moro em Recife.", "Já não moro em Recife."),
        ("Ik woon in Gent.", "Ik woon niet meer in Gent."),
        ("I have a dog.", "I don't have a dog any more."),
        ("I live in Cork.", "Uh no, I live in Kerry."),
        ("I live in Cork.", "Well, actually I live in Kerry."),
        ("Ich wohne in Köln.", "Ach nein, ich wohne in Bonn."),
        ("Vivo en Lima.", "Bueno, en realidad vivo en Callao."),
        ("I'm vegetarian.", "Scratch that, I'm vegan."),
    ],
)
def test_what_is_so_no_more_or_denied_behind_a_lead_is_taken_back(said: str, then: str) -> None:
    assert len(kept(said)) == 1
    (left,) = kept(said, "Fine.", then)
    assert left not in kept(said)


def test_what_is_denied_before_the_right_value_is_taken_back() -> None:
    for said in ("I don't live in Cork, I live in Kerry.", "Sorry, I don't live in Cork any more, I live in Kerry."):
        assert not any(text == "I live in Cork" for text in kept("I live in Cork.", "Fine.", said))


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("I live in New York … no, York", "I live in New York, no, York"),
        ("My budget is 8000. No wait, 9500.", "My budget is 8000, no wait, 9500"),
        ("Ik heb twee katten. Nee, wacht, vier.", "Ik heb twee katten, nee, wacht, vier"),
        ("J'ai deux filles. Pardon, trois, la petite a un an.", "J'ai deux filles, pardon, trois, la petite a un an"),
        ("Sou alérgica a 2 coisas. Não, desculpa, a 3.", "Sou alérgica a 2 coisas, não, desculpa, a 3"),
        ("Ich wohne in Köln. Nein, Bonn!", "Ich wohne in Köln, nein, Bonn"),
        ("J'habite à Lille... non, à Lens.", "J'habite à Lille, non, à Lens"),
        ("I live in York. No, thanks.", "I live in York"),
        ("I live in Oslo. Wait, Bergen.", "I live in Oslo, wait, Bergen"),
        (
            "Mon frère travaille chez Airbus. Pardon, chez Thales.",
            "Mon frère travaille chez Airbus, pardon, chez Thales",
        ),
        (
            "Mi hermano trabaja en Ikea. Perdona, en Leroy Merlin.",
            "Mi hermano trabaja en Ikea, perdona, en Leroy Merlin",
        ),
        ("I live in York. Sorry, thanks.", "I live in York"),
        ("I work at Stripe. Well, I did until Friday.", "I work at Stripe, well, I did until Friday"),
        ("I live in Galway. Well, I used to.", "I live in Galway, well, I used to"),
        ("J'habite à Lyon. Enfin, jusqu'à vendredi.", "J'habite à Lyon, enfin, jusqu'à vendredi 2026-11-27"),
        ("Ik werk bij Ikea. Nou ja, tot vrijdag dan.", "Ik werk bij Ikea, nou ja, tot vrijdag 2026-11-27 dan"),
        ("My brother is allergic to nuts. I meant my cousin.", "My brother is allergic to nuts, I meant my cousin"),
        ("Mein Bruder wohnt in Köln. Ich meine meinen Onkel.", "Mein Bruder wohnt in Köln, ich meine meinen Onkel"),
        ("I moved to Cork in May. Honestly, it was a nightmare.", "I moved to Cork in May"),
        ("I live in Cork. Well, it failed.", "I live in Cork"),
        ("Mein Chef heißt Peter. Ich meine Paul.", "Mein Chef heißt Peter, ich meine Paul"),
        ("I live in Leeds. Sorry Claude.", "I live in Leeds"),
        ("I am vegetarian. No, vegan.", "I am vegetarian, no, vegan"),
        ("Meine Schwester ist Vegetarierin. Nein, danke.", "Meine Schwester ist Vegetarierin"),
    ],
)
def test_a_value_that_corrects_itself_does_not_stand_alone(said: str, left: str) -> None:
    assert kept(said) == [left]


@pytest.mark.parametrize(
    "asked",
    [
        "Taylor lives in Nashville now, doesn't she?",
        "Omar habite à Los Angeles, non ?",
        "Rosalía vive en Miami, ¿no?",
        "Heidi wohnt in Los Angeles, oder?",
    ],
)
def test_what_a_tag_asks_is_no_statement(asked: str) -> None:
    assert kept(asked) == []
    assert kept("My son is 8 and loves dinosaurs, birthday party ideas?") == ["My son is 8 and loves dinosaurs"]


@pytest.mark.parametrize(
    "told",
    [
        "Continua il racconto: Sono un vampiro. Mia moglie si chiama Lucrezia.",
        "Setze die Geschichte fort: Ich bin ein König. Meine Tochter heißt Mia.",
        "Continúa el cuento: Soy un rey. Mi hija se llama Ana.",
        "Continue l'histoire : Je suis un roi. Ma fille s'appelle Zoé.",
    ],
)
def test_a_story_that_is_to_go_on_is_no_life(told: str) -> None:
    assert kept(told) == []


def test_the_answer_to_a_question_takes_back_only_what_was_asked_about() -> None:
    assert kept("I speak French.", "Do you speak Spanish?", "No, I speak German.") == [
        "I speak French",
        "I speak German",
    ]
    assert kept("I live in Dublin.", "In Dublin's centre?", "No, I live in Cork.") == ["I live in Cork"]


def test_a_denied_value_takes_back_nothing_that_was_said_long_before() -> None:
    talk = ["I was born in Dublin.", "Fine.", "I have two cats.", "Fine.", "No, I live in Cork, not Dublin."]
    assert kept(*talk) == ["I was born in Dublin", "I have two cats", "I live in Cork, not Dublin"]


@pytest.mark.parametrize(
    ("supposed", "said"),
    [
        ("Imagine I won the lottery, what would you do?", "I live in Cork."),
        ("Imagine I live in Rome. I have three kids. What would a school cost?", "I live in Cork."),
        ("Stell dir vor, ich wohne in Rom. Was kostet das?", "Ich wohne in Bonn."),
        ("Imagina que gano la lotería. ¿Qué haría?", "Vivo en Madrid."),
        ("Imagine que j'habite à Rome, je paie combien ?", "J'habite à Lyon."),
        ("Immagina che io viva a Parigi: quanto costa?", "Vivo a Roma."),
        ("Imagina que eu moro na praia, quanto custa?", "Moro em Lisboa."),
        ("Stel je voor dat ik in Rome woon. Wat kost dat?", "Ik woon in Delft."),
    ],
)
def test_a_case_that_is_only_supposed_silences_its_turn_and_no_more(supposed: str, said: str) -> None:
    assert kept(supposed, "Fine.", said) == [said.rstrip(".")]


@pytest.mark.parametrize(
    "played",
    [
        "Imagine you are my doctor. What do you ask?",
        "Imagine we are pirates.",
        "Imagine I'm Napoleon. Who are you?",
        "Stell dir vor, ich bin ein Ritter. Bist du bereit?",
        "Imagina que soy un caballero. ¿Listo?",
        "Imagine que je suis un chevalier. On y va ?",
        "Immagina che io sia un cavaliere. Pronto?",
        "Imagina que eu sou um rei. Pronto?",
        "Stel je voor, ik ben een ridder. Klaar?",
    ],
)
def test_who_is_to_imagine_to_be_somebody_plays(played: str) -> None:
    assert kept(played, "Fine.", "I live in Cork.") == []


def test_who_cries_out_what_happened_plays_nothing() -> None:
    for cried, said in (
        ("Stell dir vor, was mir heute passiert ist!", "Ich wohne in Köln."),
        ("Imagine what I saw today!", "I live in Cork."),
        ("Stel je voor wat er gebeurd is!", "Ik woon in Gent."),
    ):
        assert kept(cried, "Fine.", said) == [said.rstrip(".")]
    assert kept("Imagine who you are! A pirate.", "Arr.", "I live in Tortuga.") == []


def test_a_denial_takes_back_the_last_value_and_joins_no_other_thing() -> None:
    assert kept("I like tea. I like coffee.", "Fine.", "No, I like juice.") == ["I like tea", "I like juice"]
    for other in ("No Netflix.", "No Milk."):
        assert kept(f"I live in Rome. {other}") == ["I live in Rome"]
    assert kept("Ich wohne in Rom. Nein Danke.") == ["Ich wohne in Rom"]


def test_what_is_not_to_be_kept_is_not_even_if_it_comes_in_the_next_sentence() -> None:
    assert kept("Please don't save this. My locker is number 12. I live in Cork.") == ["I live in Cork"]


@pytest.mark.parametrize(
    "then",
    [
        "Forget that.",
        "That was a joke.",
        "Ignore my last message.",
        "Just kidding.",
        "jk lol",
        "Scratch that, how do I do it?",
        "Please don’t remember that.",
    ],
)
def test_a_turn_takes_back_what_the_one_before_ended_with(then: str) -> None:
    assert kept("I love tea. I live in Cork.", "Fine.", then) == ["I love tea"]
    assert kept("I live in Cork. What time is it?", "Noon.", then) == ["I live in Cork"]
    assert kept("I live in Cork.", "Fine.", "Is it far?", "No.", then) == ["I live in Cork"]


@pytest.mark.parametrize(
    ("rule", "then", "left"),
    [
        ("Don't show me the solution right away.", "Actually, just show me the solution.", []),
        ("Never use emojis.", "You can use emojis again.", []),
        ("Réponds toujours en français simple.", "Non, fais comme tu veux.", []),
        ("Bitte immer auf Englisch antworten.", "Bitte nicht mehr auf Englisch antworten.", []),
        ("Always give weights in grams.", "No, from now on give weights in ounces.", ["Give weights in ounces"]),
        ("Always give weights in grams.", "Hmm, no, ounces are better.", []),
        ("Always give weights in grams.", "No, grams, please!", ["Always give weights in grams"]),
        ("Never use emojis.", "Why don't you use emojis?", ["Never use emojis"]),
        ("Never use emojis.", "I use Vim.", ["Never use emojis", "I use Vim"]),
        ("Always answer in English.", "No, never answer in English.", ["Never answer in English"]),
        ("Never use emojis. I live in Cork.", "No, it is far.", ["Never use emojis", "I live in Cork"]),
        ("Always use full names.", "Never use short names.", ["Always use full names", "Never use short names"]),
        ("Never use emojis.", "No idea what to cook.", ["Never use emojis"]),
        ("Never use emojis.", "You used emojis!", ["Never use emojis"]),
        ("Never use emojis.", "My kids use emojis all day.", ["Never use emojis"]),
        ("Always cite sources.", "I can't cite sources without a link.", ["Always cite sources"]),
        ("Always use metric units.", "You don't need to use metric units.", []),
        ("Never use emojis.", "No, thanks!", ["Never use emojis"]),
        ("Never use emojis.", "Actually, tell me about Rome.", ["Never use emojis"]),
    ],
)  # fmt: skip
def test_a_rule_is_taken_back_by_its_opposite_and_by_a_denial_in_the_next_turn(
    rule: str, then: str, left: list[str]
) -> None:
    said = f"From now on, {rule[0].lower()}{rule[1:]}" if rule.startswith("Don't") else rule
    assert len(kept(said)) == 1 + ("Cork" in said)
    assert kept(said, "OK.", then) == left
    assert kept(f"{said} {then}") == left
    assert kept("Never use emojis.", "Noted. Anything else?", "No.") == ["Never use emojis"]


@pytest.mark.parametrize(
    ("said", "forget"),
    [
        ("I don't eat meat.", "Forget what I told you about the meat."),
        ("I work at Asda.", "Forget what I said about Asda and the cats."),
        ("I work at Asda.", "Actually, forget the Asda part, it's over."),
        ("Ich trinke keinen Kaffee.", "Vergiss das mit dem Kaffee."),
        ("Ich trinke keinen Kaffee.", "Vergiss, was ich über Kaffee gesagt habe."),
        ("Vivo en Lima.", "Olvida lo que dije sobre Lima."),
        ("Je ne mange pas de viande.", "Oublie ce que j'ai dit sur la viande."),
        ("Non mangio carne.", "Dimentica quello che ho detto sulla carne."),
        ("Ik eet geen vlees.", "Vergeet wat ik over vlees zei."),
        ("Não como carne.", "Esquece o que eu disse sobre a carne."),
    ],
)
def test_what_is_to_be_forgotten_is_found_by_what_it_is_about(said: str, forget: str) -> None:
    assert len(kept(said)) == 1
    assert kept(said, "Fine.", "Ok.", "Fine.", forget) == []
    assert kept("I live in Cork. I have two cats.", "Fine.", "Forget what I told you about Cork.") == [
        "I have two cats"
    ]
    for reminder in (
        "Don't forget the cat thing.",
        "Never forget what I said about cats!",
        "Did I forget the cat part?",
    ):
        assert kept("I have two cats.", "Fine.", reminder) == ["I have two cats"]
    assert kept("Ich habe zwei Katzen.", "Gut.", "Vergiss das mit den Katzen nicht!") == ["Ich habe zwei Katzen"]


@pytest.mark.parametrize(
    ("label", "said", "then"),
    [
        ("PS", "I'm vegan", "I have two cats"), ("Small update", "I moved to Cork", "I have two kids"),
        ("To be clear", "I don't eat meat", "I live in Cork"),
        ("Kurze Frage zum Auto", "ich habe zwei Kinder", "Ich wohne in Kiel"),
        ("PS", "ich bin Veganer", "Ich habe zwei Kinder"),
        ("Nur ein Hinweis", "ich wohne in Köln", "Ich habe zwei Kinder"),
        ("P.S.", "j'habite à Lyon", "J'ai deux chats"), ("Petite précision ", "je suis végane", "J'habite à Lyon"),
        ("PD", "soy vegana", "Vivo en Lima"), ("Aggiornamento", "ho due figli", "Vivo a Roma"),
        ("Let op", "ik eet geen vlees", "Ik woon in Breda"), ("Só para esclarecer", "não como carne", "Moro em Faro"),
    ],
)  # fmt: skip
def test_what_follows_a_label_of_the_persons_own_words_is_read(label: str, said: str, then: str) -> None:
    assert kept(f"{label}: {said}. {then}.") == [said[0].upper() + said[1:], then]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("I live in Cork and my brother says I'm lazy.", ["I live in Cork"]),
        ("I have two cats and if I move I need a garden.", ["I have two cats"]),
        ("Ich wohne in Kiel und wenn alles klappt, ziehe ich um.", ["Ich wohne in Kiel"]),
        ("Soy enfermera y mi madre dice que trabajo demasiado.", ["Soy enfermera"]),
        ("Sou de Faro e a minha mãe diz que devo voltar.", ["Sou de Faro"]),
        ("I don't eat meat, but if it's chicken I do.", []),
        ("I'm allergic to nuts, or so my doctor says.", []),
        ("I have two cats, she says, and if I move I need a garden.", []),
        ("I live in Cork, but just kidding, I live in Rome.", []),
        ("I live in Cork and have two cats, if that helps.", ["I live in Cork", "I have two cats"]),
        ("Sou enfermeira e espero mudar de emprego.", ["Sou enfermeira"]),
        ("I live in Cork and have two kids if you believe my aunt.", []),
        ("My brother says I live in Cork and I have two cats.", []),
    ],
)
def test_a_doubt_that_a_word_links_leaves_what_stands_before_it(said: str, left: list[str]) -> None:
    assert kept(said) == left


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("I live in Cork.", "Forget that old idea about the website."),
        ("I live in Cork.", "Ignore that error message."),
        ("I live in Cork.", "Never mind, I found the bug."),
        ("Ik woon in Gent.", "Laat maar zien."),
        ("Ich wohne in Ulm.", "Vergiss das Passwort nicht."),
        ("J'habite à Lyon.", "Je retire 50 euros demain."),
    ],
)
def test_who_speaks_of_another_thing_takes_nothing_back(said: str, then: str) -> None:
    assert kept(f"{said} {then}") == kept(said, "Fine.", then) == kept(said) != []
    assert kept("I live in Cork.", "You live in Ireland, then.", "Yeah, right!") == ["I live in Cork"]


def test_what_was_just_said_is_not_kept_if_nothing_else_follows_the_request() -> None:
    assert kept("I love tea. I live in Cork. Don't remember that.") == ["I love tea"]
    assert kept("I love tea. Don't remember this. I live in Cork.") == ["I love tea"]


def test_the_models_own_words_are_no_facts_about_the_person() -> None:
    assert kept("Hello there, friend", "I live in a data centre. I prefer tea. My name is Al.", "Nice.") == []


def test_speakers_are_named_where_several_people_speak() -> None:
    turns = [Turn(1, "user", "Anna", "I live in Cork."), Turn(2, "user", "Bela", "I love rowing.")]
    found = rules.read(turns, {1, 2}, {1: DAY, 2: DAY}, named=True)
    assert [fact.text for fact in found.facts] == ["Anna: I live in Cork", "Bela: I love rowing"]


def test_people_correct_themselves_and_nobody_else() -> None:
    said = [("Anna", "I live in Cork."), ("Bela", "No, I live in Oslo."), ("Bela", "Sorry, I meant Bergen.")]
    turns = [Turn(number, "user", *each) for number, each in enumerate([*said, ("Anna", "I meant Kerry.")], 1)]
    days = dict.fromkeys(range(1, 5), DAY)
    for until, left in ((2, ["Anna: I live in Cork", "Bela: I live in Oslo"]), (3, ["Anna: I live in Cork"]), (4, [])):
        assert [fact.text for fact in rules.read(turns[:until], {*days}, days, named=True).facts] == left


def test_among_several_people_who_takes_back_speaks_of_what_was_said_last() -> None:
    said = [("Anna", "I live in Cork."), ("Bela", "Shall we meet at five?"), ("Anna", "Never mind that.")]
    turns = [Turn(number, "user", *each) for number, each in enumerate(said, 1)]
    found = rules.read(turns, {1, 2, 3}, dict.fromkeys((1, 2, 3), DAY), named=True)
    assert [fact.text for fact in found.facts] == ["Anna: I live in Cork"] and not rules.withdrawn(turns)
    assert rules.withdrawn([turns[0], turns[2]]) == {1: ["I live in Cork."]}


def test_only_examined_turns_give_facts() -> None:
    turns = [Turn(1, "user", "user", "I live in Cork."), Turn(2, "user", "user", "I love rowing.")]
    assert [fact.text for fact in rules.read(turns, {2}, {1: DAY, 2: DAY}).facts] == ["I love rowing"]


def test_dates_count_from_the_day_of_each_turn() -> None:
    turns = [Turn(1, "user", "user", "I moved to Cork yesterday."), Turn(2, "user", "user", "I adopted a cat today.")]
    found = rules.read(turns, {1, 2}, {1: date(2025, 12, 31), 2: date(2026, 1, 1)})
    assert [fact.text for fact in found.facts] == [
        "I moved to Cork on 2025-12-30",
        "I adopted a cat on 2026-01-01",
    ]


@pytest.mark.parametrize(
    ("code", "text", "wanted"),
    [
        ("en", "the day after tomorrow", "on 2026-11-23"),
        ("en", "by tomorrow", "by 2026-11-22"),
        ("en", "we met on Monday", "we met on Monday 2026-11-16"),
        ("en", "we meet on Monday", "we meet on Monday 2026-11-23"),
        ("en", "last Friday", "on Friday 2026-11-20"),
        ("en", "a year ago", "in 2025"),
        ("de", "ich bin vor zwei Jahren umgezogen", "ich bin 2024 umgezogen"),
        ("en", "last month", "in 2026-10"),
        ("en", "in the previous week", "in the week of 2026-11-09"),
        ("en", "in two weeks", "on 2026-12-05"),
        ("en", "on 14 March", "on 14 March"),
        ("de", "jeden Morgen", "jeden Morgen"),
        ("de", "ich habe am Montag eine Prüfung", "ich habe am Montag 2026-11-23 eine Prüfung"),
        ("de", "ich habe am Montag Anna getroffen", "ich habe am Montag 2026-11-16 Anna getroffen"),
        ("nl", "ik heb op maandag een examen", "ik heb op maandag 2026-11-23 een examen"),
        ("en", "we agreed to meet on Monday", "we agreed to meet on Monday 2026-11-23"),
        ("en", "we met on Monday and decided to use it", "we met on Monday 2026-11-16 and decided to use it"),
        ("en", "we never deploy on Friday", "we never deploy on Friday"),
        ("en", "on Friday I don't work", "on Friday I don't work"),
        ("de", "am Montag esse ich nie Fleisch", "am Montag esse ich nie Fleisch"),
        ("nl", "we bellen altijd op maandag", "we bellen altijd op maandag"),
        ("fr", "je ne travaille jamais le mardi", "je ne travaille jamais le mardi"),
        ("en", "we always met last Friday", "we always met on Friday 2026-11-20"),
        ("de", "vor drei Tagen", "am 2026-11-18"),
        ("de", "nächste Woche", "in der Woche ab 2026-11-23"),
        ("fr", "la semaine prochaine", "la semaine du 2026-11-23"),
        ("fr", "il y a deux jours", "le 2026-11-19"),
        ("es", "mañana por la mañana", "el 2026-11-22 por la mañana"),
        ("es", "el mes que viene", "en 2026-12"),
        ("it", "dopodomani", "il 2026-11-23"),
        ("nl", "over twee weken", "op 2026-12-05"),
        ("pt", "ontem", "em 2026-11-20"),
        ("en", "I fly on Monday 23 November", "I fly on Monday 23 November"),
        ("de", "Ich habe am Montag unterschrieben", "Ich habe am Montag 2026-11-16 unterschrieben"),
        ("fr", "je signe le bail mardi", "je signe le bail mardi 2026-11-24"),
        ("fr", "Mardi, j'ai rendez-vous", "Mardi 2026-11-24, j'ai rendez-vous"),
        ("fr", "j'ai trois réunions mardi", "j'ai trois réunions mardi 2026-11-24"),
        ("fr", "j'ai signé le bail mardi", "j'ai signé le bail mardi 2026-11-17"),
        ("fr", "je suis allée à Lyon mardi", "je suis allée à Lyon mardi 2026-11-17"),
        ("fr", "je pars mardi 24 novembre", "je pars mardi 24 novembre"),
        ("fr", "le mardi je nage, et du lundi au vendredi je lis", "le mardi je nage, et du lundi au vendredi je lis"),
        ("es", "firmo el contrato el martes", "firmo el contrato el martes 2026-11-24"),
        ("es", "firmaré el martes", "firmaré el martes 2026-11-24"),
        ("es", "firmé el martes", "firmé el martes 2026-11-17"),
        ("es", "los martes nado, y del lunes al jueves leo", "los martes nado, y del lunes al jueves leo"),
        ("it", "firmo il contratto martedì", "firmo il contratto martedì 2026-11-24"),
        ("it", "sono andata a Roma martedì", "sono andata a Roma martedì 2026-11-17"),
        ("it", "il martedì nuoto", "il martedì nuoto"),
        ("pt", "assino na terça-feira", "assino na terça-feira 2026-11-24"),
        ("pt", "comprei a casa no sábado", "comprei a casa no sábado 2026-11-14"),
        ("pt", "na segunda vez que fui", "na segunda vez que fui"),
        ("pt", "mudei-me há dois anos", "mudei-me em 2024"),
        ("pt", "trabalho aqui há dez anos", "trabalho aqui há dez anos"),
        ("es", "me mudé hace dos años", "me mudé en 2024"),
        ("es", "vivo aquí desde hace dos años", "vivo aquí desde hace dos años"),
        ("es", "hace dos años que trabajé allí", "hace dos años que trabajé allí"),
        ("fr", "il y a dix ans que j'y habite", "il y a dix ans que j'y habite"),
        ("nl", "ik teken dinsdag het contract", "ik teken dinsdag 2026-11-24 het contract"),
        ("nl", "elke dinsdag zwem ik", "elke dinsdag zwem ik"),
        ("en", "I drove to Cork on Monday", "I drove to Cork on Monday 2026-11-16"),
        ("en", "it'll be delivered on Monday", "it'll be delivered on Monday 2026-11-23"),
        ("de", "Ich habe am Montag deployt", "Ich habe am Montag 2026-11-16 deployt"),
        ("de", "Ich habe am Montag Unterricht", "Ich habe am Montag 2026-11-23 Unterricht"),
        ("xx", "tomorrow", "tomorrow"),
        ("en", "Ann is away until Tuesday", "Ann is away until Tuesday 2026-11-24"),
        ("en", "we still met him on Tuesday as well", "we still met him on Tuesday 2026-11-17 as well"),
        ("en", "I got a job and must decide by Tuesday", "I got a job and must decide by Tuesday"),
        ("en", "it wasn't open on Tuesday", "it wasn't open on Tuesday 2026-11-17"),
        ("en", "we fly on Monday of next week", "we fly on Monday 2026-11-23 of the week of 2026-11-23"),
        (
            "en",
            "we fly on Monday and return next week",
            "we fly on Monday 2026-11-23 and return in the week of 2026-11-23",
        ),
        ("en", "I'm off until Friday next week", "I'm off until Friday 2026-11-27 in the week of 2026-11-23"),
        ("en", "Ann is away until Tuesday week", "Ann is away until Tuesday week"),
        ("en", "we fly on Friday December 4th", "we fly on Friday December 4th"),
        ("en", "Ann is ill since Tuesday", "Ann is ill since Tuesday 2026-11-17"),
        ("en", "it is dried by sun and wind", "it is dried by sun and wind"),
        ("en", "I read it before Wednesday Addams came", "I read it before Wednesday Addams came"),
        ("en", "we fly on Tuesday, December 1", "we fly on Tuesday, December 1"),
        ("en", "it is shut till next Monday", "it is shut till Monday 2026-11-23"),
        ("en", "it is open Tuesday until Friday", "it is open Tuesday until Friday"),
        ("en", "at the end of next month", "at the end of 2026-12"),
        ("en", "at the end of next week", "at the end of the week of 2026-11-23"),
        ("de", "Ann ist bis Dienstag weg", "Ann ist bis Dienstag 2026-11-24 weg"),
        ("de", "seit Dienstag ist Ann krank", "seit Dienstag 2026-11-17 ist Ann krank"),
        ("de", "am nächsten Dienstag", "am Dienstag 2026-11-24"),
        ("de", "nächste Woche am Montag", "in der Woche ab 2026-11-23 am Montag 2026-11-23"),
        ("de", "Dienstag bis Freitag bin ich hier", "Dienstag bis Freitag bin ich hier"),
        ("es", "desde el martes estoy aquí", "desde el martes 2026-11-17 estoy aquí"),
        ("es", "antes del martes", "antes del martes 2026-11-24"),
        ("es", "abre desde el martes hasta el viernes", "abre desde el martes hasta el viernes"),
        ("fr", "depuis mardi je suis malade", "depuis mardi 2026-11-17 je suis malade"),
        ("fr", "jusqu'à mardi", "jusqu'à mardi 2026-11-24"),
        ("fr", "Tom a dit qu'il paie avant mardi", "Tom a dit qu'il paie avant mardi"),
        ("fr", "mardi tous les voisins paient", "mardi 2026-11-24 tous les voisins paient"),
        ("it", "tutti i venerdì pago", "tutti i venerdì pago"),
        ("it", "fino a martedì prossimo", "fino a martedì 2026-11-24"),
        ("nl", "sinds dinsdag ben ik ziek", "sinds dinsdag 2026-11-17 ben ik ziek"),
        ("nl", "eind volgende maand", "eind 2026-12"),
        ("nl", "dicht van maandag tot en met vrijdag", "dicht van maandag tot en met vrijdag"),
        ("pt", "até terça-feira", "até terça-feira 2026-11-24"),
        ("pt", "até segunda ordem", "até segunda ordem"),
        ("pt", "em maio do ano que vem", "em maio de 2027"),
        ("pt", "ficou pro ano que vem", "ficou para 2027"),
        ("pt", "desde o ano passado", "desde 2025"),
        ("pt", "no fim do mês passado", "no fim de 2026-10"),
        ("pt", "a aula da semana que vem", "a aula da semana de 2026-11-23"),
        ("pt", "até semana que vem", "até semana de 2026-11-23"),
        ("pt", "fica pra amanhã", "fica pra 2026-11-22"),
        ("pt", "volto daqui duas semanas", "volto em 2026-12-05"),
        ("pt", "na terça que vem", "na terça 2026-11-24"),
        ("pt", "começo na próxima terça-feira", "começo na próxima terça-feira 2026-11-24"),
        ("pt", "na próxima terça, 24 de novembro", "na próxima terça, 24 de novembro"),
        ("es", "hasta el próximo martes", "hasta el próximo martes 2026-11-24"),
        ("fr", "en mai de l'année prochaine", "en mai de 2027"),
        ("nl", "aan het eind van volgende maand", "aan het eind van 2026-12"),
        ("pt", "trabalho até sexta-feira todas as semanas", "trabalho até sexta-feira todas as semanas"),
    ],
)
def test_relative_dates(code: str, text: str, wanted: str) -> None:
    assert with_absolute_dates(text, DAY, code) == wanted
    assert with_absolute_dates(wanted, DAY, code) == wanted


def test_a_date_beyond_the_calendar_stays_as_it_was_said() -> None:
    assert with_absolute_dates("999 years ago", date(1, 1, 1)) == "999 years ago"
    assert with_absolute_dates("in 999 years", date(9999, 12, 31)) == "in 999 years"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Dr. Kern is in. She waits!", ["Dr. Kern is in.", "She waits!"]),
        ("Am 16. Oktober geht es los. Gut.", ["Am 16. Oktober geht es los.", "Gut."]),
        (f"{LONG}\nthat was wrapped", [f"{LONG}\nthat was wrapped"]),
        ("I prefer tea\nand I like milk", ["I prefer tea", "and I like milk"]),
        ("- one thing\n- Another thing", ["one thing", "Another thing"]),
        ("Talk.\n```\ncode\n```\nMore talk.", ["Talk.", "More talk."]),
        ("Talk.\n~~~\nan open fence", ["Talk."]),
        ("> quoted\n\nsaid", ["said"]),
        ("<note>\nhidden\n</note>\nsaid", ["said"]),
        ("2026-11-21 10:00:01 INFO started\nsaid", ["said"]),
        ("", []),
    ],
)
def test_sentences_are_the_persons_own_talk(text: str, wanted: list[str]) -> None:
    assert [sentence.text for sentence in sentences(text)] == wanted


def test_of_a_pasted_page_only_what_is_asked_to_be_remembered_beside_it_is_kept() -> None:
    page = "I live in a house by the sea. " * 400
    assert kept(f"I prefer short answers.\n\n{page}\n\nRemember that my dog is called Bramble.") == [
        "My dog is called Bramble"
    ]


def test_a_sentence_gives_its_longest_part_that_can_stand_alone() -> None:
    assert kept("I live in Cork, and that is far from it.") == ["I live in Cork"]
    assert kept("I like it, but I have a dog and I have two cats, would you?") == ["I have a dog and I have two cats"]
    assert kept("My name is Emre and I teach maths in Izmir.") == ["My name is Emre", "I teach maths in Izmir"]


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("I have two cats.", "How do I say that in French?"),
        ("Ich habe zwei Katzen.", "Wie sagt man das auf Englisch?"),
        ("Ich habe zwei Katzen.", "Ist dieser Satz richtig?"),
        ("Tengo dos gatos.", "¿Cómo se dice esto en inglés?"),
        ("Tengo dos gatos.", "¿Está bien esta frase?"),
        ("J'ai deux chats.", "Comment dit-on ça en anglais ?"),
        ("J'ai deux chats.", "Cette phrase est correcte ?"),
        ("Ho due gatti.", "Come si dice in inglese?"),
        ("Ik heb twee katten.", "Hoe zeg je dat in het Engels?"),
        ("Eu tenho dois gatos.", "Como se diz isto em inglês?"),
    ],
)
def test_a_sentence_that_is_asked_about_is_not_said(said: str, asked: str) -> None:
    assert kept("How should I say no to my boss? I live in Cork.") == ["I live in Cork"]
    assert kept(f"{said} {asked}") == kept(f"{asked} {said}") == []
    assert len(kept(said)) == 1


def test_what_is_denied_is_kept_as_it_was_said() -> None:
    assert kept("good news: I'm not allergic to penicillin after all") == ["I'm not allergic to penicillin after all"]
    assert kept("I don't have a dog.") == ["I don't have a dog"]
    assert kept("I no longer eat meat.") == ["I no longer eat meat"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("good news from the allergist: I'm not allergic to penicillin", "I'm not allergic to penicillin"),
        ("Some news about the move – I live in Cork now.", "I live in Cork now"),
        ("Gute Nachricht vom Arzt: ich habe keine Allergie gegen Nüsse.", "Ich habe keine Allergie gegen Nüsse"),
        ("Bonne nouvelle du médecin : je suis allergique aux noix.", "Je suis allergique aux noix"),
        ("Buenas noticias del médico: soy alérgica a las nueces.", "Soy alérgica a las nueces"),
        ("Buone notizie dal medico: non sono più allergica alle noci.", "Non sono più allergica alle noci"),
        ("Goed nieuws van de dokter: ik ben allergisch voor noten.", "Ik ben allergisch voor noten"),
        ("Boas notícias do médico: sou alérgica a nozes.", "Sou alérgica a nozes"),
    ],
)
def test_news_from_somebody_introduces_a_statement(text: str, wanted: str) -> None:
    assert kept(text) == [wanted]


def test_new_shoes_are_no_news() -> None:
    assert kept("Nouvelles chaussures de sport pour moi") == []
    assert kept("Put this news from the paper on the card: I live in Rome.") == []


def test_before_a_request_to_write_something_people_speak_of_themselves_and_after_it_of_the_text() -> None:
    told = "I live in Cork. Can you write a mail to my landlord? My boss is Petra Kuhn."
    assert kept(told) == ["I live in Cork"]


@pytest.mark.parametrize(
    "said",
    [
        "I go to choir every Tuesday", "Every Tuesday I go to choir", "My daughter has piano lessons on Wednesdays",
        "I drink three coffees a day", "Je fais du vélo tous les dimanches", "Nous allons au marché chaque samedi",
        "Le mardi, je vais à la chorale", "Ma sœur va à la piscine deux fois par semaine",
        "Hago yoga todos los domingos", "Los martes juego al pádel con Ana", "Mi hermana canta cada domingo en un coro",
        "Faccio yoga ogni domenica con mia sorella", "Ogni lunedì vado in piscina con un amico",
        "Faço ioga todos os domingos", "Todo sábado jogo futebol", "Ich gehe jeden Montag schwimmen",
        "Jeden Dienstag gehe ich zum Chor", "Ich gehe montags zum Yoga", "Meine Tochter hat mittwochs Klavier",
        "Ik ga elke maandag zwemmen", "Elke dinsdag ga ik naar het koor",
        "Every Tuesday evening I have pottery class", "I play football on Saturday mornings",
        "Todos los martes por la tarde tengo clase de cerámica", "Tous les mardis soir, j'ai cours de danse",
        "Ogni martedì sera ho lezione di ceramica", "Todas as terças à noite tenho aula de cerâmica",
        "Elke dinsdagavond heb ik pottenbakles",
    ],
)  # fmt: skip
def test_what_people_do_again_and_again_is_kept_whatever_it_is(said: str) -> None:
    assert [fact.text for fact in read(said + ".").facts] == [said]


@pytest.mark.parametrize(
    "said",
    [
        "Today I had a sandwich.",
        "I played tennis on Monday.",
        "Yesterday I slept badly.",
        "Heute habe ich zwei Teller gegessen.",
        "Ieri sono andata al cinema.",
        "Hoy fui al mercado.",
        "Vandaag heb ik een broodje kaas gegeten.",
    ],
)
def test_what_somebody_did_on_a_day_is_no_fact_about_them(said: str) -> None:
    assert kept(said) == []


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("I play tennis on Monday", "I play tennis on Monday"),
        ("I don't eat meat on Friday", "I don't eat meat on Friday"),
        ("Ik speel op maandag tennis", "Ik speel op maandag tennis"),
        ("I've been vegan since yesterday", "I've been vegan since 2026-11-20"),
        ("Seit gestern bin ich Vegetarier", "Seit 2026-11-20 bin ich Vegetarier"),
        ("Desde ayer trabajo en Airbus", "Desde 2026-11-20 trabajo en Airbus"),
        ("I play tennis next Monday", "I play tennis on Monday 2026-11-23"),
        ("I'm moving to Cork on Monday", "I'm moving to Cork on Monday 2026-11-23"),
        ("I have an exam on Monday", "I have an exam on Monday 2026-11-23"),
        ("We fly to Rome on Monday", "We fly to Rome on Monday 2026-11-23"),
    ],
)
def test_a_weekday_gets_no_date_where_the_verb_says_what_one_does_as_a_rule(said: str, wanted: str) -> None:
    assert [fact.text for fact in read(said + ".").facts] == [wanted]


@pytest.mark.parametrize(
    "said",
    [
        "I should run every day", "I get an error every time I run it", "I see this error every day",
        "The server restarts every night", "I have a day off", "Every day is a gift",
        "If I ran every day, I would lose weight", "Je devrais courir tous les jours", "Le bus passe tous les jours",
        "Debería correr todos los días", "Como todos los días, hace frío en la calle", "El autobús pasa cada día",
        "Dovrei correre ogni giorno per due ore", "Ich sollte jeden Tag laufen", "Der Bus kommt jeden Tag zu spät",
        "Ik zou elke dag moeten lopen",
    ],
)  # fmt: skip
def test_what_happens_again_and_again_is_no_habit_of_the_person(said: str) -> None:
    assert not read(said + ".").facts


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Can you remember that I am allergic to peanuts?", "I am allergic to peanuts"),
        ("Thanks! Could you please note that my sister lives in Rome?", "My sister lives in Rome"),
        ("can you remember that my dog is called Rex", "My dog is called Rex"),
        ("Kannst du dir bitte merken, dass meine Schwester in Bonn wohnt?", "Meine Schwester in Bonn wohnt"),
        ("Peux-tu retenir que j’habite à Lyon ?", "J’habite à Lyon"),
        ("¿Puedes recordar que soy vegetariano?", "Soy vegetariano"),
        ("Puoi ricordare che vivo a Roma?", "Vivo a Roma"),
        ("Podes lembrar-te de que moro no Porto?", "Moro no Porto"),
        ("Kun je onthouden dat ik in Gent woon?", "Ik in Gent woon"),
        ("Please remember the spare key is under the pot, you will be asked for it.", "The spare key is under the pot"),
        ("Remember the days when we were young", ""),
        ("Remember the story is set in Rome.", ""),
        ("Act as a pirate. Remember the ship is called Mary.", ""),
        ("Remember: no nuts for my son.", "No nuts for my son"),
        ("Please remember that no one in my family eats meat.", "No one in my family eats meat"),
        ("Remember that right turns scare me.", "Right turns scare me"),
        ("Remember that right now I live in Cork.", "I live in Cork"),
        ("Can you remember that?", ""),
        ("Can you remember my birthday?", ""),
        ("Can you remember that you told me about Rome?", ""),
        ("Do you remember that my brother was in Rome?", ""),
        ("Remember, is my sister allergic to nuts?", ""),
    ],
)
def test_a_polite_question_can_ask_to_remember(said: str, kept: str) -> None:
    facts = read(said).facts
    assert [fact.text for fact in facts] == [kept] * bool(kept) and all(fact.asked for fact in facts)


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("From now on, tell me the price in euros first.", RULE),
        ("Ab jetzt sag mir den Preis in Euro.", RULE),
        ("À partir de maintenant, dis-moi le prix en euros.", RULE),
        ("Vanaf nu vertel me de prijs in euro.", RULE),
        ("From now on I use Helix for code.", ""),
        ("From now on call me Bob.", ""),
        ("À partir de maintenant, j’utilise Helix.", ""),
        ("A partir de ahora vivo en Roma.", ""),
    ],
)
def test_from_now_on_begins_a_rule_unless_the_person_tells_of_themselves(said: str, seen: str) -> None:
    assert [fact.seen for fact in read(said).facts] == [seen]


@pytest.mark.parametrize(
    "said",
    [
        "My cover letter: I have ten years of experience in sales, and I speak Polish.",
        "She texted me: I'm moving to Rome with Tim.",
        "Email from Bob:\nHi, I live in Denver now and I work at Intel.\nBob",
        "Bob wrote me today:\n\nHey! I moved to Denver and I work at Intel now.",
        "Ma lettre : J'ai dix ans d'expérience et je parle polonais.",
        "Mi carta: Tengo diez años de experiencia y hablo polaco.",
        "La mia lettera: Ho dieci anni di esperienza e parlo polacco.",
        "Mijn brief: Ik heb tien jaar ervaring en ik spreek Pools.",
    ],
)
def test_after_a_label_with_a_colon_somebody_elses_text_follows_to_its_end(said: str) -> None:
    assert not read("Hello!", "Hi.", said).facts


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("A few facts about me:\n- I live in Cork\n- I love tea", ["I live in Cork", "I love tea"]),
        ("Please remember:\n- my dog is called Rex\n- I love tea", ["My dog is called Rex", "I love tea"]),
        ("Quelques mots sur moi : j'habite à Lyon.", ["J'habite à Lyon"]),
        ("Algo sobre mí: vivo en Lima.", ["Vivo en Lima"]),
        ("Hi Claude:\nI live in Cork.", ["I live in Cork"]),
        ("I moved to Cork in 2024: I love it there.", ["I moved to Cork in 2024"]),
    ],
)
def test_after_a_label_about_the_person_they_speak_themselves(said: str, kept: list[str]) -> None:
    assert [fact.text for fact in read(said).facts] == kept


@pytest.mark.parametrize(
    "said",
    [
        "The ad says we offer free lunch and we work remotely.", "My doctor thinks I am allergic to nuts.",
        "Mon frère a dit hier que nous déménageons à Rome.", "Mein Arzt meint, ich bin allergisch gegen Nüsse.",
        "Mi hermano dijo ayer que nos mudamos a Roma.", "Mia sorella dice che sono allergico alle noci.",
        "O meu irmão disse que moro em Roma.", "Mijn broer zei gisteren dat wij naar Rome verhuizen.",
        "I like tea... not.",
    ],
)  # fmt: skip
def test_what_somebody_else_says_of_the_person_is_left_alone(said: str) -> None:
    assert not read(said).facts


@pytest.mark.parametrize(
    "said",
    [
        "In the example, my name is Bob and I live in Ohio.", "In the game I play a wizard and I own a castle.",
        "Im Spiel bin ich Arzt und ich wohne in Köln.", "Dans le jeu, je suis médecin et j'habite à Lyon.",
        "En el juego soy médica y vivo en Lima.", "Nel gioco sono un medico e vivo a Roma.",
        "In het spel ben ik arts en ik woon in Gent.", "No jogo sou médico e moro em Faro.",
        "Ich spreche von Version 2.", "Je parle de la version 2.", "Hablo de la versión 2.", "Parlo della versione 2.",
        "Ik spreek over versie 2.", "Je viens de finir.", "Vengo de comer ahora.", "Ich komme aus dem Meeting.",
        "I own up to my mistakes.", "I used to smoke but I quit in 2021.", "I run out of ideas every day.",
        "We are from different teams.", "I moved to the next chapter.", "Je tiens à dire merci à tous.",
        "I ordered the list by date.", "I see the error every day.",
        "Ich sehe den Fehler jeden Tag.", "Je vois l'erreur tous les jours.", "Ik zie de fout elke dag.",
    ],
)  # fmt: skip
def test_a_frame_or_an_idiom_makes_no_fact(said: str) -> None:
    assert not read("Hello!", "Hi.", said).facts


@pytest.mark.parametrize(
    "said",
    [
        "Mon médecin est le docteur Sauvage", "Mi jefa es la señora Ruiz", "Il mio capo è il signor Rossi",
        "O meu médico é o doutor Silva", "Minha irmã é a Ana",
    ],
)  # fmt: skip
def test_who_somebody_is_may_be_said_with_a_title(said: str) -> None:
    assert [fact.text for fact in read("Hello!", "Hi.", said + ".").facts] == [said]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Sorry, I was wrong: I moved to Cork in March.", "I moved to Cork in March"),
        ("Ich habe mich geirrt: Ich bin im März nach Linz gezogen.", "Ich bin im März nach Linz gezogen"),
        ("Scusa, mi sono sbagliato: vivo a Modena.", "Vivo a Modena"),
        ("Je me suis trompée : j'habite à Lyon.", "J'habite à Lyon"),
        ("Perdona, me equivoqué: vivo en Cádiz.", "Vivo en Cádiz"),
        ("Ik vergiste me: ik woon in Gent.", "Ik woon in Gent"),
        ("Desculpa, enganei-me: moro em Faro.", "Moro em Faro"),
    ],
)
def test_what_is_said_after_owning_up_to_a_mistake_is_kept(said: str, left: str) -> None:
    assert [fact.text for fact in read("Hello!", "Hi.", said).facts] == [left]


@pytest.mark.parametrize("said", ["Mon frère est le meilleur", "Mi jefa es la mejor", "Minha irmã é a mais nova"])
def test_praise_is_not_who_somebody_is(said: str) -> None:
    assert not read("Hello!", "Hi.", said + ".").facts


@pytest.mark.parametrize(
    "said",
    [
        "Ich spreche Polnisch", "Je parle polonais", "Hablo polaco y catalán", "Parlo polacco e tedesco",
        "Je viens de Bretagne", "Vengo de Sevilla", "Ich komme aus der Schweiz", "Ik kom uit Zwolle",
        "I own a boat and I speak Polish", "I take the bus every day",
    ],
)  # fmt: skip
def test_languages_and_origins_are_facts(said: str) -> None:
    greetings = {"I": "Hello, how are you?", "J": "Bonjour, ça va avec vous ?", "V": "Hola, ¿qué tal estás?"}
    assert said in [fact.text for fact in read(greetings.get(said[0], "Hallo!"), "Hi.", said + ".").facts]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Onthoud: Bram slaapt tot tien uur.", "Bram slaapt tot tien uur"),
        ("Houd er rekening mee dat Sjoerd doof is.", "Sjoerd doof is"),
        ("Retiens que le bureau de Lille ferme en août.", "Le bureau de Lille ferme en août"),
        ("Garde à l'esprit que Paul est sourd.", "Paul est sourd"),
        ("Guarda na memória que a Vera é canhota.", "A Vera é canhota"),
        ("Guarda en tu memoria que Nuria es zurda.", "Nuria es zurda"),
        ("Segnati: il gatto si chiama Briciola.", "Il gatto si chiama Briciola"),
        ("Behalte im Kopf, dass Edda keine Milch trinkt.", "Edda keine Milch trinkt"),
        ("Commit this to memory: the alarm tests run on Mondays.", "The alarm tests run on Mondays"),
        ("Note: I'm allergic to nuts.", "I'm allergic to nuts"),  # not French, whose word for it is the same
    ],
)
def test_a_request_to_remember_is_read_in_its_language_whatever_the_others_are(said: str, wanted: str) -> None:
    for turns in ((said,), ("How do I sort a list in Python?", "By sorted().", said, "Noted.", "Thanks, that helps.")):
        assert kept(*turns) == [wanted]


@pytest.mark.parametrize(
    "said",
    [
        "Customers often tell me 'I'm vegan and I hate raisins'.",
        "My grandpa used to shout ‘I love this house, and I hate snakes’ at us.",
        "Meine Kundin meint immer: 'ich bin Veganerin und ich hasse Rosinen'.",
    ],
)
def test_what_stands_in_single_quotes_is_not_said_by_the_person(said: str) -> None:
    assert not read(said).facts


@pytest.mark.parametrize(
    "quoted",
    [
        'My aunt wrote: "Hi there. I have two cats. See you." What should I say?',
        "My aunt wrote: 'Hi there. I have two cats. See you.' What should I say?",
        '"I\'m a nurse. I have two kids.\n\nI live in Leeds. Bye." So my sister begins.',
        "Meine Tante sagte: „Hallo. Ich habe zwei Katzen. Bis bald.“",
        "Ma tante a dit : « Bonjour. J'ai deux chats. À bientôt. »",
        'Mi tía escribió "Hola. Recuerda que tengo dos gatos. Vivo en Roma. Chao."',
    ],
)
def test_sentences_within_quotes_are_not_said_by_the_person(quoted: str) -> None:
    assert kept(quoted) == []
    assert kept("They said 'Hi. I love tea. Bye.' to me. I live in Cork.") == ["I live in Cork"]
    assert kept("I'm 6'2\" tall. I live in Rome. My screen is 24\".") == ["I live in Rome"]
    assert kept("I miss the '90s. I live in Rome. I love rock 'n' roll.") == ["I live in Rome", "I love rock 'n' roll"]


def test_apostrophes_are_no_quotes() -> None:
    for said in ("I love my parents' house in Rome", "Ik zwem 's morgens vroeg in het meer"):
        assert [fact.text for fact in read(said + ".").facts] == [said]


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("Please proofread my bio.", []),
        ("Please proofread the following:\n\nThanks a lot!", []),
        (
            "Please proofread my bio:\n\nI am a marine biologist and I live in Dublin with three dogs.",
            ["I live in Cork"],
        ),
        ("Proofread my bio: I am a marine biologist and I live in Dublin with three dogs.", ["I live in Cork"]),
    ],
)
def test_a_text_to_work_on_comes_in_the_next_turn_unless_it_is_there(asked: str, kept: list[str]) -> None:
    assert [fact.text for fact in read(asked, "Sure.", "I live in Cork.").facts] == kept


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("Under 100 words, please.", "I work as a nurse in Cork"), ("No bullet points, please.", "I'm a vegetarian"),
        ("Make it shorter.", "I'm left-handed"), ("Bitte nur 100 Wörter.", "Ich wohne in Köln"),
        ("100 mots au plus, pas plus.", "J'habite à Lyon"),
        ("Solo 100 palabras, por favor.", "Vivo en Lima con mis padres"),
        ("Non più di 100 parole.", "Abito a Roma con mia madre"),
        ("Não mais de 100 palavras.", "Moro em Recife com o meu pai"),
        ("Niet meer dan 100 woorden.", "Ik woon in Utrecht"),
    ],
)  # fmt: skip
def test_a_wish_for_another_shape_announces_no_text(said: str, then: str) -> None:
    assert kept(said, "Fine.", then + ".") == [then]
    assert kept("Proofread my essay, 100 words.", "Where is it?", "I love biology. My mother is a doctor.") == []


def test_a_german_ordinal_ends_no_sentence() -> None:
    said = "Ich bin Studentin im 5. Semester Medizin in Graz"
    facts = read(f"{said}. Der Kurs beginnt am 5. Wir lernen Latein.").facts
    assert [fact.text for fact in facts] == [said, "Wir lernen Latein"]


@pytest.mark.parametrize(
    "thanks",
    [
        "Du bist super, danke!", "Tu es génial, merci !", "Eres muy amable, gracias.", "Sei fantastico, grazie!",
        "Je bent geweldig, dank je!", "Você é ótimo, obrigado!", "Du bist ein Schatz!", "Danke! Du bist der Beste!",
        "Tu es un amour !", "Eres un sol!", "¡Eres una joya!", "Sei un tesoro!", "Sei la migliore!",
        "Je bent een schat!", "Você é um anjo!",
    ],
)  # fmt: skip
def test_praise_begins_no_role_play(thanks: str) -> None:
    assert [fact.text for fact in read("Hello, how are you?", "Fine.", thanks, "Gern.", "I live in Cork.").facts]


@pytest.mark.parametrize(
    ("asked", "lasts"),
    [
        ("Write a poem about the sea.", 2), ("Create a story in the first person.", 2), ("Tell me a joke.", 1),
        ("Our novel is set in Rome.", 2), ("Schreib ein Märchen.", 2), ("Escribe un poema.", 2),
        ("Schrijf een gedicht.", 2), ("Vertel een mop.", 1),
        ("Let's write a story.", 9), ("Lass uns ein Märchen schreiben.", 9), ("Laten we een lied verzinnen.", 9),
        ("Vamos a escribir un cuento.", 9), ("Act as a customs officer.", 9), ("I'll be the customer.", 9),
        ("Let's do a role play again.", 9), ("Role play: you are the king.", 9), ("Can we role-play?", 9),
        ("Let's play a fantasy game.", 9), ("Ich möchte ein Rollenspiel machen.", 9), ("Schreiben wir ein Märchen.", 9),
        ("Podemos jugar a un juego de rol.", 9), ("Je veux faire un jeu de rôle.", 9),
        ("Vorrei fare un gioco di ruolo.", 9), ("We gaan een rollenspel doen.", 9), ("Quero fazer um roleplay.", 9),
    ],
)  # fmt: skip
def test_a_text_that_is_asked_for_takes_the_next_turn_and_a_role_play_all(asked: str, lasts: int) -> None:
    said = ["I live in Cork.", "I have two cats.", "I work at Asda.", "I'm vegan."]
    drawn = read("Hello, how are you?", "Fine.", asked, *(part for text in said for part in ("Fine.", text)))
    assert [fact.text for fact in drawn.facts] == [text.rstrip(".") for text in said[lasts - 1 :]]
    assert [fact.text for fact in drawn.left_out] == [text.rstrip(".") for text in said[: lasts - 1]]
    assert all("turn 3 " in fact.warnings[0] and fact.seen == rules.FICTION for fact in drawn.left_out)


def test_a_text_goes_on_as_long_as_it_is_changed() -> None:
    for change in ("Make it shorter.", "Longer!", "Now in the first person."):
        talk = ("Write a story.", "Once.", change, "So.", "I live in a swamp and I have two frogs.", "Hm.")
        assert kept(*talk, "I live in Cork.") == ["I live in Cork"]
    assert kept("Write a story.", "Once.", "Thanks!", "Sure.", "I live in Cork.") == ["I live in Cork"]
    talk = ("Write a story.", "Once.", "I live in a castle.", "So.")
    assert kept(*talk, "Go on.", "Then.", "I live in Cork.", "So.", "Continue", "So.", "I have two cats.") == []
    assert kept(*talk, "What is tin?", "A metal.", "I live in Cork.") == ["I live in Cork"]


@pytest.mark.parametrize(
    "said",
    [
        "I'll be 40 in May.", "I'm going to be a father.", "I'll share a flat with Ben.", "I'll play tennis on Monday.",
        "I have a job interview on Monday.", "Do you know a good story?", "Tell me about biology.", "Ich bin jetzt 40.",
        "Ich spiele jetzt Geige.", "Je serai à Paris demain.", "Ben je een robot?", "Sei un robot?", "Tu es un robot ?",
        "Du bist eine KI, oder?", "Você é uma máquina?", "Juega al tenis.", "As a nurse, I work nights.",
        "Als Lehrerin habe ich wenig Zeit.", "Imagine!", "I like role-playing games.", "What is a role play?",
        "I took part in a role play.", "I love to role play with my kids.",
        "I want to role play again with my old group.", "I want to try role-play games.",
        "Ich möchte ein Rollenspiel kaufen.",
        "Quiero comprar un juego de rol.", "Vorrei comprare un gioco di ruolo.", "Ik wil een rollenspel kopen.",
        "Mein Sohn mag Rollenspiele.", "Me gustan los juegos de rol.",
    ],
)  # fmt: skip
def test_what_only_sounds_like_a_part_silences_nothing(said: str) -> None:
    assert "I live in Cork" in kept(said, "Fine.", "Thanks.", "Fine.", "I live in Cork.")
    assert "I live in Cork" in kept("Hello, how are you?", "Fine.", said, "Fine.", "Ok.", "Fine.", "I live in Cork.")


@pytest.mark.parametrize("said", ["Moment, eine Frage.", "Sorry, kurze Frage.", "Moment, eine Tasse."])
def test_who_asks_for_a_moment_takes_nothing_back(said: str) -> None:
    assert kept(f"Ich wohne in Köln. {said}") == kept("Ich wohne in Köln.", "Gut.", said) == ["Ich wohne in Köln"]
    assert kept("Ich habe eine Katze.", "Gut.", "Moment, einen Hund.") == []


@pytest.mark.parametrize(
    ("rule", "complaint", "lifted"),
    [
        ("Responde siempre en español.", "No me respondes en español.", "No responder en español."),
        ("Responde sempre em português.", "Não me respondes em português!", "Não responder em português."),
        ("Rispondi sempre in italiano.", "Non mi rispondi in italiano!", ""),
    ],
)
def test_who_says_what_the_answerer_does_lifts_no_rule(rule: str, complaint: str, lifted: str) -> None:
    assert kept(rule, "Ok.", complaint) == [rule.rstrip(".")]
    assert not lifted or kept(rule, "Ok.", lifted) == []


@pytest.mark.parametrize(
    "draft",
    [
        "Dear Anna, I live in Rome. I have two cats.", "dear anna, i live in Rome.",
        "Dear Lord Byron, I live in Rome.",
        "Liebe Oma, ich wohne in Rom. Ich habe zwei Katzen.",
        "Querida Ana, vivo en Roma. Tengo dos gatos.", "Chère Anne, j'habite à Rome. J'ai deux chats.",
        "Cara Anna, vivo a Roma. Ho due gatti.", "Lieve Anna, ik woon in Rome. Ik heb twee katten.",
    ],
)  # fmt: skip
def test_a_draft_behind_its_salutation_is_not_what_the_person_says(draft: str) -> None:
    assert kept("Hello, how are you?", "Fine.", draft) == []
    assert kept("Hello, how are you?", "Fine.", draft.replace(draft.split()[1], "ChatGPT,")) != []


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("Lieber nicht, ich habe Zeit.", "Ich wohne in Ulm"), ("Liebe ist schön, ich weiß.", "Ich wohne in Ulm"),
        ("Cher mais bon, merci.", "J'habite à Lyon"), ("Dear me, it rains.", "I live in Cork"),
        ("Dear Assistant, hello.", "I live in Cork"), ("Querido asistente, hola.", "Vivo en Lugo"),
        ("Lieber Gott, ist das schön.", "Ich wohne in Ulm"), ("Lieber Chatbot, hallo.", "Ich wohne in Ulm"),
    ],
)  # fmt: skip
def test_no_letter_begins_with_another_meaning_of_its_first_word(said: str, then: str) -> None:
    assert kept(f"{said} {then}.") == [then]


@pytest.mark.parametrize(
    "cast",
    [
        "Du bist jetzt ein Pirat!", "Du bist ein Pirat und ich bin dein Kapitän.", "Ahora eres un pirata!",
        "Vanaf nu je bent een piraat!", "Sei ora un pirata!", "Tu es maintenant un pirate et tu parles comme lui !",
        "Você é agora um pirata!",
    ],
)  # fmt: skip
def test_who_is_somebody_from_now_on_plays_a_part(cast: str) -> None:
    assert not read("Hello, how are you?", "Fine.", cast, "Ahoi.", "I live in Cork.").facts


def test_who_plays_an_instrument_plays_no_role() -> None:
    facts = read("Ich spiele seit zehn Jahren Geige im Orchester.", "Schön.", "Ich wohne in Köln.").facts
    assert [fact.text for fact in facts] == ["Ich spiele seit zehn Jahren Geige im Orchester", "Ich wohne in Köln"]


def test_a_question_with_a_number_announces_no_text() -> None:
    assert [fact.text for fact in read("How far is Rome from here?", "Far.", "I live in Cork.").facts]


@pytest.mark.parametrize(
    "said",
    [
        "Never suggest recipes with pork.", "Bitte antworte immer auf Deutsch.", "Nenne Preise nur in Franken.",
        "Erkläre mir Dinge immer mit einem Beispiel.", "Nunca uses emojis.",
        "Escribe siempre los comentarios en inglés.", "Écris toujours les tests d'abord.",
        "Nunca uses listas na resposta.", "Schrijf commentaar altijd in het Engels.",
        "Always copy templates first.",
        'Don\'t call me "buddy".', "Run the linter before every push.", "Schick mir keine Tabellen.",
        "Commits immer auf Englisch schreiben.", "No uses nunca sudo en este repositorio.",
        "No me pongas emojis en los correos, por favor.", "Por favor, no uses jerga conmigo.",
        "Por favor, não use gírias comigo.",
        "Ne me réponds plus en anglais.", "Non scrivermi in inglese.",
        "Ne m'envoie plus de listes.", "Ne me tutoie pas.", "Non usare il lei con me.", "Stuur me geen tabellen.",
    ],
)  # fmt: skip
def test_an_order_for_always_or_never_is_a_rule(said: str) -> None:
    assert [fact.seen for fact in read(said).facts] == [RULE]


@pytest.mark.parametrize(
    "said",
    [
        "I prefer when you give short answers", "Ich mag es lieber, wenn du kurz antwortest",
        "Je préfère que tu me donnes des réponses courtes", "Prefiero que me respondas con listas cortas",
        "Preferisco che mi rispondi con elenchi brevi", "Prefiro que respondas com listas curtas",
        "I'd like you to ask before you change anything", "Ask me before deleting files",
        "Frag nach, bevor du Dateien löschst", "Demande-moi avant de supprimer un fichier",
        "Pregúntame antes de borrar un archivo", "Chiedimi prima di cancellare un file",
        "Vraag het me voordat je een bestand verwijdert",
    ],
)  # fmt: skip
def test_what_the_person_prefers_to_be_done_and_what_is_to_be_asked_before_are_rules(said: str) -> None:
    assert [(fact.text, fact.seen) for fact in read(said + ".").facts] == [(said, RULE)]


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("J'habite à Lyon avec ma mère.", "Tutoie-moi"), ("Ich wohne in Köln.", "Duze mich bitte immer"),
        ("Abito a Roma con mia madre.", "Dammi del tu"), ("Vivo en Sevilla con mi madre.", "Tutéame"),
        ("Eu moro em Lisboa com o meu pai.", "Trata-me por tu"), ("Ik woon in Utrecht.", "Tutoyeer me"),
    ],
)  # fmt: skip
def test_a_form_of_address_is_a_rule_however_short(before: str, said: str) -> None:
    assert (said, RULE) in [(fact.text, fact.seen) for fact in read(before, "Fine.", said + ".").facts]


@pytest.mark.parametrize(
    "said",
    [
        "Ask me before you delete the file.", "Frag mich, bevor du die Datei löschst.",
        "Don't tell me the answer.", "Don't make me laugh now.", "Never been to Rome.", "Mach mir keine Sorgen.",
        "Gefällt mir keine Spur.", "Rom nie gesehen.", "No me digas que llueve.", "No me hagas reír.",
        "Não me diga isso.",
        "Ne me dis pas que c'est fini.", "Ne me fais pas rire.", "Non dirmi bugie.", "Lijkt me geen probleem.",
        "Maak me geen zorgen.", "Non posso dormire con me stesso.",
        "Don't give me code yet.", "Don't give me a full solution, just a hint.", "Add a log line before each call.",
        "Bitte nur die Funktion umbenennen.", "Möchte nur kurz fragen.", "Habe immer Kopfschmerzen.",
        "Gib mir jetzt keinen Code.", "Gib mir keinen Code, nur eine Idee.", "Anna nie gesehen haben.",
        "Don't give me hints for question 3.", "Gib mir keine Lösung.", "No me des recetas con marisco.",
        "Non darmi consigli medici.", "Não me dês exemplos.", "Geef me geen links.", "Ne me donne pas d'indices.",
        "Schick mir keine Tabellen. Was ist ein Monoid?", "Don't send me tables for task 4.",
        "Ne m'attends pas.", "Ne me donne pas de réponse tout de suite.", "Non mandarmi codice adesso.",
        "Zeig mir diesmal nur drei Ideen.", "Rispondi stavolta sempre in inglese.",
        "Responde sempre em inglês desta vez.",
        "Never use nuts in today's recipe.", "Please never use Python here, only C.",
        "Always remember to breathe, my yoga teacher says.",
        "Non chiedermi dove abito.", "No me des código ahora.", "Não me dê código agora.", "Não fale comigo agora.",
        "Geef me geen antwoord nu.", "Spaar me geen moeite.",
        "Frag den Arzt, bevor du schläfst.",
        "Demande-moi avant de supprimer le fichier.", "Chiedimi prima di cancellare il file.",
        "Vraag het me voordat je het bestand verwijdert.", "Prefiero que los correos lleguen pronto.",
        "Preferisco che non venga mio fratello.", "Nunca comes con nosotros en casa.", "Always 👍", "Bitte immer 👍",
        "Por favor, siempre 👍", "S'il te plaît, toujours 👍", "Bitte immer so.", "Por favor, siempre así.",
        "I prefer when you fix the failing test first.", "Ich mag es lieber, wenn du das rote nimmst.",
        "Je préfère que tu fasses le deuxième.", "Prefiero que hagas el segundo.", "Prefiro que faças o segundo.",
        "Preferisco che mi mandi un file domani.", "Prefiero que vengas a mi casa el lunes.",
    ],
)  # fmt: skip
def test_what_is_about_one_thing_or_says_nothing_in_words_is_no_rule(said: str) -> None:
    assert read(said).facts == ()


@pytest.mark.parametrize(
    ("play", "played", "over", "said"),
    [
        ("Act as a customs officer.", "I live in Chicago.", "OK, enough role-play", "I live in Derby"),
        ("Let's play a game: you are a cop.", "I own a dog.", "Ha ha, ok, the game is over", "I live in Bath"),
        ("Tu so, als wärst du mein Chef.", "Ich habe drei Kinder.", "Das Rollenspiel ist zu Ende", "Ich wohne in Ulm"),
        ("Lass uns ein Vorstellungsgespräch üben, du fragst.", "Ich heiße Al.", "Übung vorbei", "Ich wohne in Kiel"),
        ("Joue le recruteur.", "J'habite à Nice.", "On arrête le jeu de rôle", "J'habite à Lyon"),
        ("Actúa como un profesor.", "Vivo en Texas.", "Vale, paramos ya el juego", "Vivo en Lima"),
        ("Facciamo un gioco di ruolo.", "Vivo a Camelot.", "Basta così con il gioco", "Vivo a Bari"),
        ("Speel een douanier.", "Ik woon in Rio.", "Klaar met spelen", "Ik woon in Breda"),
        ("Faz de conta que és um pirata.", "Moro numa ilha.", "Pronto, acabou a brincadeira", "Moro em Faro"),
    ],
)  # fmt: skip
def test_a_role_play_ends_where_the_person_says_so(play: str, played: str, over: str, said: str) -> None:
    assert kept(play, "Fine.", played, "Fine.", f"{over}. {said}.") == [said]
    assert kept(play, "Fine.", f"{played} {over}. {said}.", "Fine.", played) == [said, played.rstrip(".")]
    for going_on in ("Stop playing games with me!", "Don't stop the game.", "Is the game over?"):
        assert kept("Act as a cop.", "Fine.", f"{going_on} I live in Cork.") == []


def test_what_is_asked_to_be_remembered_is_kept_in_the_middle_of_a_play() -> None:
    assert kept("Act as a pirate.", "Arr!", "Remember that my boat is at pier 4. I love rum.") == [
        "My boat is at pier 4"
    ]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Souviens-toi que Nadia dort ici, et que Karim part tôt.", "Nadia dort ici, et que Karim part tôt"),
        ("Retiens que j’habite à Lyon, où je travaille chez Ubi.", "J’habite à Lyon, où je travaille chez Ubi"),
        ("Ricorda che Anna è allergica, e che Luca è vegano.", "Anna è allergica, e che Luca è vegano"),
        ("Recuerda que Ana sabe tejer, y cómo se hila.", "Ana sabe tejer, y cómo se hila"),
        ("Lembra-te que moro no Porto, onde trabalho na Sonae.", "Moro no Porto, onde trabalho na Sonae"),
        ("Merk dir, dass Anna in Köln wohnt, wo Karl arbeitet.", "Anna in Köln wohnt, wo Karl arbeitet"),
        ("Onthoud dat ik in Gent woon, waar ik bij Volvo werk.", "Ik in Gent woon, waar ik bij Volvo werk"),
        ("Remember that my sister is Anna, who lives in Lyon.", "My sister is Anna, who lives in Lyon"),
        ("From now on use pytest, and if a test fails, ask Ben.", "Use pytest, and if a test fails, ask Ben"),
        ("Retiens que je suis végane, que dois-je cuisiner ?", "Je suis végane"),
        ("Retiens que je suis végane, propose un dîner.", "Je suis végane"),
        ("Remember that my birthday is May 4, can you plan a party", "My birthday is May 4"),
    ],
)
def test_a_request_is_kept_to_its_end_unless_it_goes_on_with_another_or_a_question(said: str, wanted: str) -> None:
    assert kept(said) == [wanted]


def test_among_people_nobody_asks_the_memory_for_anything_and_nobody_plays_a_part() -> None:
    turns = [
        Turn(1, "user", "Anna", "You are a good friend. Remember that my boat is at pier 4."),
        Turn(2, "user", "Bela", "I love rowing."),
    ]
    found = rules.read(turns, {1, 2}, {1: DAY, 2: DAY}, named=True)
    assert [fact.text for fact in found.facts] == ["Bela: I love rowing"]


def test_topics_and_decisions() -> None:
    found = read(
        "Let us plan the trip to Lisbon. We decided to fly with the morning plane.",
        "Fine.",
        "Lisbon in spring is lovely, is it not?",
    )
    assert found.decisions == ("We decided to fly with the morning plane",)
    assert "Lisbon" in found.topics


@pytest.mark.parametrize(
    ("one", "two", "topics"),
    [
        ("Ik train voortaan met Sanne op dinsdag.", "Voortaan zwem ik ook met Sanne.", ("Sanne",)),
        ("Wie heißt der Fluss in Ulm?", "Und wie heißt der See bei Ulm jeden Tag?", ("Ulm",)),
        ("I run a server at home.", "Is the fan of that server loud?", ("server",)),
        ("On en prend trois par jour.", "Il habite à Metz en décembre, trois nuits.", ()),
        ("Il habite où en décembre ?", "Il habite avec Paul.", ()),
        ("Where is the public library?", "Is the public library far?", ()),
    ],
)
def test_topics_are_names_and_nouns(one: str, two: str, topics: tuple[str, ...]) -> None:
    assert read(one, "Good.", two).topics == topics


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("can you suggest three quick dinners for this week?", "en"),
        ("Wir haben einen Hund, ist das ein Problem?", "de"),
        ("¿qué puedo visitar en Lima con mis padres?", "es"),
        ("j'habite à Lyon depuis deux ans", "fr"),
        ("cosa posso cucinare per mia moglie?", "it"),
        ("wat kan ik doen in Utrecht als het regent", "nl"),
        ("o que posso comer hoje à noite?", "pt"),
        ("我对花生过敏，怎么跟餐厅服务员说？", ""),
        ("Я живу в Москве и работаю врачом", ""),
        ("नमस्ते, मैं दिल्ली में रहता हूँ", ""),
        ("저는 서울에 살고 있어요", ""),
        ("Jag bor i Malmö och arbetar som lärare sedan tre år", ""),
        ("Mieszkam w Krakowie i pracuję jako nauczyciel w szkole", ""),
        ("Ankara'da yaşıyorum ve öğretmen olarak çalışıyorum", ""),
        ("Locuiesc în Cluj și lucrez ca profesor la o școală", ""),
        ("Asun Helsingissä ja työskentelen opettajana koulussa", ""),
        ("saya tinggal di Jakarta dan bekerja sebagai guru di sekolah", ""),
        ("Tôi sống ở Hà Nội và làm giáo viên", ""),
        ("Bydlím v Brně a pracuji jako učitel na škole", ""),
        ("Et yemiyorum ama, vejetaryenim. Eşim de İzmir'de çalışıyor, ne pişirsem?", ""),
        ("J'habite à Kırıkkale et je mange du şiş avec ma femme le soir", "fr"),
        ("I love smørrebrød", "en"),
        ("Mein Lieblingsessen ist żurek", "de"),
        ("Souviens-toi que Paul arrive mardi", "fr"),
        ("Lembra-te que o Paulo chega cedo", "pt"),
        ("12 + 14 = ?", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_turn_is_told_by_its_function_words(text: str, code: str) -> None:
    assert language_of(text) == code


def test_turns_that_the_rules_cannot_read_are_counted() -> None:
    chinese, mixed = ("我对花生过敏", "好", "我住在杭州"), ("I live in Cork.", "Fine.", "我住在杭州", "好", "ok thanks")
    assert [(found.turns, found.unread) for found in (read(*chinese), read(*mixed))] == [(2, (1, 3)), (3, (3,))]
    supper = ("Bugün ne pişirsem?", "…", "Et yemiyorum ama, vejetaryenim. Eşim de İzmir'de çalışıyor")
    assert read(*supper).unread == (1, 3)
    key, tin = (
        "Remember: the spare engine key hangs behind the chart table.",
        "Ik gebruik oxaalzuur in december, 35 gram per liter.",
    )
    for turns in (("I live in Cork.", "Fine.", key), ("Ik woon in Deventer en ik heb bijen.", "Mooi.", tin)):
        assert not read(*turns).unread, "one word of the conversation's language will do, if it is said often enough"
    turkish = ("Merhaba", "Bir sorum var", "Ben öğretmenim", "Çayı kahveye tercih ederim", "Ankara'ya gideceğim")
    swedish = ("Hej, jag har en fråga", "Fint", "Jag bor i Lund", "Tack", "Jag är allergisk mot nötter")
    for turns in (turkish, swedish):
        assert read(*turns).unread == (1, 3, 5), '"ben" and "en" are words of ours, too'


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_every_key_and_all_expressions_are_sound(code: str) -> None:
    lang, english = language(code), language("en")
    assert lang.table.keys() == english.table.keys()
    assert lang.table["dates"].keys() - {"leads"} | {"two"} == english.table["dates"].keys()
    for part in ("kinds", "feedback", "ends"):
        assert lang.table[part].keys() == english.table[part].keys()
        assert all(
            lang.expression(value) for key, value in lang.table[part].items() if key not in ("orders", "starters")
        )
    for key, value in lang.table.items():
        if isinstance(value, str) and key not in ("words", "me"):
            assert lang.pattern(key)
    for key in ("asked", "rules", "about"):
        assert all(form.groups >= 0 and (key != "about" or table["kind"]) for form, table in lang.forms(key))
    assert all("text" in form.groupindex for form, _ in lang.forms("asked"))


def test_a_day_is_named_by_number_or_month() -> None:
    assert names_day("on 12 November at 9:30", "en")
    assert names_day("am 12. November", "de")
    assert names_day("le 3 mai", "fr")
    assert names_day("on 2026-11-21", "en")
    assert names_day("in May we go", "en")
    assert not names_day("we may go, or march", "en")


@pytest.mark.timed
@pytest.mark.parametrize("code", LANGUAGES)
def test_no_pattern_takes_longer_than_the_text_grows(code: str) -> None:
    """The worst that a hostile transcript can do: words that nearly fit, again and again."""
    lang = language(code)
    starts = [
        "my ",
        "i really ",
        "we have ",
        "our new ",
        "mein ",
        "mi ",
        "ma ",
        "il mio ",
        "mijn ",
        "o meu ",
        "i ",
        "ich ",
    ]
    for start in starts:
        text = (start + "really always also " * 40)[:600]
        with within(0.5):
            for key in ("asked", "rules", "about"):
                for form, _ in lang.forms(key):
                    form.fullmatch(text)
            for key in ("leads", "doubt", "hedge", "points", "asks", "material", "plays", "makes", "task", "leaves"):
                lang.pattern(key).search(text)


def test_a_quote_of_the_rules_is_one_that_a_model_could_give() -> None:
    for _, sentence, _ in WORTH:
        for fact in read(sentence).facts:
            assert fact.quote in grounding.folded(sentence)


@pytest.mark.parametrize("says", ["👍", "?!", "( )"])
def test_a_rule_that_says_nothing_in_words_is_none(says: str) -> None:
    said = "Ich wohne in Rom und mein Hund heißt Max"
    assert kept(f"{said}. In Zukunft bitte {says}.") == kept(f"{said}.") != []
