"""Whether a model's statement is carried by what was said: each word of content is the person's own, or words it alike.

A quote that stands in the conversation proves little if the statement beside it brings words of its own: "my sister
Nora" does not say that she is dead. So every word of content has to occur in the quote or its turn, in some form; or be
one of the few by which a statement is worded anew (named, lives, works), or another word for one that was said (wife,
married). Where the turn points at what was said before ("she", "there", an answer to a question), that counts too.

A legitimate paraphrase in quite other words is lost by this; how many are is measured in the tests.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from tars_memory.curation.extraction import statements
from tars_memory.recall.ranking.stemming import stem

if TYPE_CHECKING:
    from collections.abc import Iterable

LEAST = 4
"""Letters that two forms of a word have in common at their start, in any language."""
MOST_LEFT = 3
"""Letters behind these that may differ: endings."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_PLAIN_WORDS = """
sein seine seinen seiner ihr ihre ihren ihrer mein meine meinen unser unsere sa son ses leur su sus suo sua loro zijn
haar seu seus mon ma mes mi mis mio mia mijn onze meu minha und ist der die das den dem ein eine et le la les une des
y el los las una un e il lo gli i en de het een o os as um uma in im am auf at on of to by for with as used user
person speaker they them their theirs he him his she her hers it its himself herself themselves someone people i me my
mine myself we us our ours you your yours who whom whose which what that this these those there here be been being am
are is was were have has had having do does did done doing will would shall should can could may might must get gets
got getting gotten go goes going gone went come comes came make makes made take takes took taken keep keeps kept let
lets say says said saying tell tells told mention mentions mentioned state states stated explain explained note notes
noted confirm confirms confirmed report reported describe described ask asked name names named call calls called known
know knows currently now today usually often always sometimes regularly generally typically recently previously
formerly former longer anymore still yet already soon later ever never again very really quite also too only just even
both each every all any some more most less least other another such same about around approximately roughly near per
via etc time times day days date week month year years old new first last next one two former during since until from
into onto because due reason purpose thing things something part kind sort way type number amount not no nor none
nobody nothing without neither cannot don doesn didn won isn aren wasn please instead rather whenever wherever however
although though while before after when where why how whether than then nutzer nutzerin person heißt heisst nennt
namens wohnt wohne arbeitet arbeite hat habe haben ist sind bin war wird werden möchte will plant besitzt verwendet
benutzt entschieden beschlossen nicht kein keine nie mehr immer derzeit jetzt dass utilisateur utilisatrice appelle
nomme habite vit travaille possède utilise veut prévoit décidé toujours jamais plus pas usuario usuaria llama vive
trabaja tiene usa quiere planea decidido siempre nunca no ya está es son utente chiama abita vive lavora possiede usa
vuole deciso sempre mai non più è sono gebruiker heet woont werkt heeft gebruikt wil besloten altijd nooit niet meer
geen usuário chama mora vive trabalha tem usa quer decidiu sempre nunca não mais
"""
_PLAIN = frozenset(_PLAIN_WORDS.split())
"""Words that say nothing which would have to be said: a statement needs them to be one."""

_ALIKE_WORDS = """
own owns owned owner have has had got my our mine bought possess belongs i've we've mein meine unser mon ma mi mio |
live lives lived living reside resides resided residence based located location home house flat apartment move moved |
work works worked working employ employed employee employer job occupation profession professional i'm am career is |
want wants wanted wish wishes wished plan plans planned planning intend intends intended hope hopes going gonna will
would i'd i'll we'll let's looking thinking aim aims need needs needed please should must like me keep always never
don't | use uses used using with run runs running on switch switched my | decide decides decided decision agree agreed
agrees choose chose chosen chooses pick picked let's go going with settle settled will we'll i'll | like likes liked
love loves loved enjoy enjoys enjoyed adore adores fond fan keen favorite favourite prefer prefers preferred
preference preferences rather into best better mag gern gerne lieber liebe liebt bevorzugt aime préfère gusta gustan
encanta prefiere piace preferisce adora houdt graag liever gosta prefere please keep always never me | dislike
dislikes disliked hate hates hated detest detests loathe can't stand bear avoid avoids averse aversion hasse hasst
verabscheut déteste odia detesta haat refuse refuses | wife husband spouse partner married marry marries marriage
wedding frau mann ehefrau ehemann verheiratet | girlfriend boyfriend partner dating relationship fiancé fiancée fiance
fiancee engaged | mother mum mom mummy mommy mutter | father dad daddy vater | parent mother father mum mom dad |
child children kid kids son daughter baby toddler | sibling siblings brother sister | grandmother grandma gran |
grandfather grandpa | aunt auntie | pet dog cat puppy kitten | dog puppy pup | cat kitten | buy buys bought purchase
purchases purchased get got | sell sells sold selling sale | begin begins began begun start starts started starting
beginning | end ends ended finish finishes finished done over | stop stops stopped quit quits gave up given anymore
longer former | move moves moved moving relocate relocates relocated relocating relocation live lives lived | travel
travels traveled travelled trip trips visit visits visiting visited holiday vacation journey fly flying flight go
going went | flight flights fly flies flying flew plane | drive drives drove driven driving driver car ride | bike
bikes bicycle cycle cycles cycling cycled biking rides | run runs ran running runner jog jogs jogging | swim swims
swam swimming swimmer | walk walks walking walked hike | eat eats ate eaten eating food diet meal | drink drinks drank
drunk drinking | cook cooks cooked cooking | write writes wrote written writing writer | read reads reading reader |
teach teaches taught teaching teacher | learn learns learned learnt learning study studies studied studying student |
think thinks thought | see sees saw seen seeing meet meets | meet meets met meeting meetings appointment appointments
| speak speaks spoke spoken speaking speaker talk talks talked talking | sleep sleeps slept sleeping bed | wake wakes
woke waking up | pay pays paid paying payment cost costs price | lose loses lost losing | find finds found | win wins
won | break breaks broke broken | grow grows grew grown growing | born birth birthday birthdate anniversary geboren
geburtstag | die dies died dead death deceased passed away | wear wears wore wearing glasses | sing sings sang singing
singer | play plays played playing player | send sends sent | leave leaves left leaving depart departs departure |
arrive arrives arrived arrival land | allergic allergy allergies intolerant intolerance | vegetarian vegetarianism
veggie | vegan veganism | doctor dr physician | lawyer attorney | developer programmer coder engineer dev | boss
manager supervisor lead | colleague coworker colleagues coworkers teammate | company employer firm | office workplace
work | apartment flat | house home | university uni college | school pupil | phone telephone mobile cell number |
email mail e-mail address | television tv | film films movie movies | photo photos photograph picture pictures
photography | computer laptop pc mac | document doc docs | reply replies answer answers response responses respond |
short brief concise shorter | long detailed longer | fast quick quickly | big large | small little | cheap inexpensive
affordable | scared afraid fear fears terrified | ill sick unwell | surgery operation operated | money budget |
deadline due | birthday bday | sister sisters | brother brothers | morning mornings am | evening evenings pm night |
weekend weekends saturday sunday | database db | repository repo | language languages speak speaks | exam exams test
tests | team teams | project projects | rent rents rented renting | mortgage loan | salary pay earn earns earned |
schedule scheduled set booked book books arranged planned | remember reminder remind reminds | tall height | weigh
weighs weight | age aged old turning turned turns | twice two double | once one | daily every day | weekly every week
| monthly every month | yearly annually annual every year | hobby hobbies | birds bird | software program app
application | version release | deploy deploys deployed deployment deployments | metric units kilometers kilometres km
| format formatted formatting | name nickname | avoid avoids avoided avoiding don't doesn't never without not no kein
keine keinen pas nunca mai niet
"""
_ALIKE: dict[str, set[int]] = {}
"""Word to the numbers of its groups: one of a group may stand for another."""
for _number, _group in enumerate(_ALIKE_WORDS.split("|")):
    for _each in _group.split():
        _ALIKE.setdefault(_each, set()).add(_number)

_POINTS = re.compile(
    r"\b(?:it|its|it's|he|him|his|she|her|hers|they|them|their|theirs|this|that|these|those|there|then|one|ones|both|same|"
    r"former|latter|yes|yeah|yep|no|nope|sure|er|sie|es|ihn|ihm|ihr|ihre|dort|da|das|ja|nein|il|elle|lui|leur|ça|cela|là|"
    r"oui|non|él|ella|ellos|eso|esto|allí|sí|lei|lui|loro|questo|quello|lì|hij|zij|ze|hem|haar|daar|dat|dit|nee|ele|ela|"
    r"isso|lá|sim|não)\b",
    re.IGNORECASE,
)
"""Words that stand for something that was said before."""

SHORT = 4
"""Words of a turn that may be the answer to a question, and then borrows the question's words."""


def carried(text: str, quote: str, turn: str, before: str, *, names: Iterable[str] = (), answers: bool = False) -> bool:
    """Whether each word of content of a statement was said.

    Args:
        text: the statement.
        quote: what it stands on.
        turn: all that was said in its turn.
        before: what was said before it, which the turn may point at.
        names: words that may stand for somebody: who spoke.
        answers: whether the turn before asked something.
    """
    said = _forms(f"{quote} {turn}")
    borrowed = bool(_POINTS.search(quote)) or (answers and len(_WORD.findall(turn)) <= SHORT)
    further = _forms(before) if borrowed else frozenset()
    known = {name.casefold() for name in names}
    for raw in _WORD.findall(text):
        word = raw.casefold().replace("’", "'").removesuffix("'s")
        if _free(word) or word in known or _said(word, said) or _said(word, further):
            continue
        if raw[:1].isupper() and _said(word, _forms(before)):
            continue  # a name that was said before stands for "she"
        return False
    return True


def _free(word: str) -> bool:
    """Whether nobody has to have said a word: grammar, wording; numbers and dates, which are looked at elsewhere."""
    if len(word) < 3 or word in _PLAIN or any(sign.isdigit() for sign in word):
        return True
    read = statements.read(word)
    return not read.content or bool(read.numbers)


def _said(word: str, said: frozenset[str]) -> bool:
    """Whether one of the words is a form of this one, or another word for it."""
    if word in said or stem(word) in said:
        return True
    if _ALIKE.get(word) and any(_ALIKE[word] & _ALIKE.get(other, set()) for other in said):
        return True
    return any(_same_root(word, other) for other in said)


def _same_root(word: str, other: str) -> bool:
    """Whether two words begin alike and differ by an ending; or one of them is a part of the other, a compound."""
    most = min(len(word), len(other))
    if most < LEAST:
        return False
    common = next((at for at in range(most) if word[at] != other[at]), most)
    if common >= LEAST and max(len(word), len(other)) - common <= MOST_LEFT:
        return True
    return most > LEAST and (word in other or other in word)


@lru_cache(maxsize=64)
def _forms(text: str) -> frozenset[str]:
    """The words of a text, and their stems; of those joined by an apostrophe both parts."""
    found: set[str] = set()
    for raw in _WORD.findall(text):
        word = raw.casefold().replace("’", "'")
        found |= {word, word.partition("'")[0], word.rpartition("'")[2], stem(word)}
    return frozenset(each for each in found if len(each) > 1)
