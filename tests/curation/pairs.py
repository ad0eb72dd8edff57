"""Pairs of statements, and how a person says they stand to each other. Made up; a line each: ``old | new``."""

from __future__ import annotations

SAME = """
sa fille s'appelle Zoé | sa fille s'appelle Zoé.
meeting at 3 pm | meeting at 15:00
doesn't eat meat | does not eat meat
can't swim | cannot swim
has 1,000 books | has 1000 books
Use miles, not km | use miles not km
prefers tea | Prefers tea.
Anna's birthday is 3 May | Anna’s birthday is 3 May
likes  hiking | likes hiking!
**Berlin** trip in May | Berlin trip in May
uses [[Obsidian]] daily | uses Obsidian daily
wohnt in München | Wohnt in München.
préfère le thé vert | Préfère le thé vert
trabaja en Madrid | Trabaja en Madrid.
mag keinen Kaffee | Mag keinen Kaffee
e-mail is anna@x.org | E-mail is anna@x.org
prefers `vim` | prefers vim
lebt in Köln #home | lebt in Köln #home
東京に住んでいます | 東京に住んでいます。
писал книгу | Писал книгу
"""

NEAR = """
favourite colour is blue | favorite color is blue
my dog is called Rex | dog is called Rex
allergic to peanuts | is allergic to peanuts
daughter is called Mia | the daughter is called Mia
steht um 6 Uhr auf | steht jetzt um 6 Uhr auf
answers should be short | the answers should be short
Anna's birthday is 3 May | 3 May is Anna's birthday
the office is in Cork | office in Cork
prefers tea | I prefer tea
I prefer tea | prefers tea
The user prefers tea | prefers tea
dentist on 15 Oct | dentist on 15 October
dentist on 15 October | dentist on October 15
dentist on 2026-10-15 | dentist on 15 October 2026
meeting at 3pm on Monday | meeting on Monday at 15:00
On Mondays the shop is closed | the shop is closed on Mondays
in May the garden opens | the garden opens in May
likes tea #food | likes tea
blue is the favourite colour | favourite colour is blue
really likes jazz | likes jazz
Anna also plays the violin | Anna plays violin
works as an engineer | Works as engineer
I am an engineer | is an engineer
I am vegetarian | is vegetarian
der Termin ist am 3. Mai | am 3. Mai ist der Termin
wohnt jetzt in Berlin | wohnt in Berlin
trinkt gern den Tee | trinkt gern Tee
ich mag Tee | mag Tee
le rendez-vous est à 15:00 | rendez-vous à 15:00
habite maintenant à Lyon | habite à Lyon
n'aime pas le café | n’aime pas café
vive ahora en Sevilla | vive en Sevilla
el cumpleaños es en mayo | cumpleaños es en mayo
abita adesso a Roma | abita a Roma
mora agora em Lisboa | mora em Lisboa
woont nu in Utrecht | woont in Utrecht
the 3rd floor is quiet | 3 floor is quiet
"""

UPDATE = """
allergic to peanuts | allergic to peanuts and shellfish
works from home on Tuesdays | works from home on Wednesdays
project Apollo ships on 1 June | project Apollo ships on 15 June
takes 20 mg of ibuprofen | takes 40 mg of ibuprofen
gym membership costs 30 euros a month | gym membership costs 35 euros a month
daughter Mia is 4 years old | daughter Mia is 5 years old
studies law in Bonn | studies law in Köln
drives a Volvo | drives a Tesla
Tochter ist 4 Jahre alt | Tochter ist 5 Jahre alt
Urlaub vom 3. bis 10. Juli | Urlaub vom 4. bis 11. Juli
steht um 6 Uhr auf | steht um 7 Uhr auf
se lève à 6 heures | se lève à 7 heures
su hijo tiene 4 años | su hijo tiene 5 años
the meeting moved to room 12 | the meeting moved to room 14
we decided to use Postgres | decided to use Postgres
we decided to use Postgres | we decided to use SQLite
the API key expires in March | the API key expires in April
my boss is Tom | my boss is Eve
my favourite food is ramen | my favourite food is sushi
always answer in German | always answer in English
keep answers under 100 words | keep answers under 200 words
der Termin ist am 3. Mai | der Termin ist am 3. Juni
le rendez-vous est le 3 mai | le rendez-vous est le 3 juin
15 Oct | 16 Oct
engineer | senior engineer
Berlin | Berlin Mitte
Dentist on 15 Oct | Dentist on 16 Oct
Dentist on 15 Oct at 10:00 | Dentist on 16 Oct at 11:00
Dentist on 15 Oct | Dentist on 15 Nov
meeting on Monday | meeting on Tuesday
meeting at 15:00 | meeting at 16:00
meeting at 3 pm | meeting at 3 am
works as an engineer | works as a senior engineer
works as an engineer | Works as a senior engineer
Works as an engineer | works as a senior engineer
Anna works as an engineer | Anna works as a teacher
lives in Berlin | lives in Berlin Mitte
lives in Berlin | lives in Cork
Anna lives in Berlin | Anna lives in Cork
Anna lives in Berlin | Anna lives in Cork since May
I live in Berlin | I live in Cork
prefers tea | prefers coffee
prefers tea | prefers green tea
prefers tea | prefers tea in the morning
likes tea | likes green tea
has 2 cats | has 3 cats
has two cats | has three cats
owns a boat | owns a red boat
weighs 70 kg | weighs 72 kg
the budget is 500 euros | the budget is 700 euros
the rent is 1,200 euros | the rent is 1,250 euros
the wifi password is tulip | the wifi password is rose
the deadline is 3 May | the deadline is 10 May
Anna's birthday is 3 May | Anna's birthday is 4 May
Anna's phone number is 555-1234 | Anna's phone number is 555-9876
version 1.2 is installed | version 1.3 is installed
the flight leaves at 10:40 | the flight leaves at 11:15
backup runs at 03:15 | backup runs at 04:15
the car is in garage 4 | the car is in garage 7
works at Acme | works at Globex
is named Rex | is named Max
favorite color is blue | favorite color is green
wohnt in Berlin | wohnt in Hamburg
wohnt in Berlin | wohnt in Berlin Mitte
arbeitet bei Siemens | arbeitet bei Bosch
der Termin ist am 3. Mai | der Termin ist am 4. Mai
Anna wohnt in Berlin | Anna wohnt in Köln
bevorzugt Tee | bevorzugt Kaffee
Ingenieurin | leitende Ingenieurin
habite à Lyon | habite à Paris
travaille chez Airbus | travaille chez Thales
préfère le thé | préfère le café
rendez-vous le 3 mai | rendez-vous le 5 mai
vive en Madrid | vive en Sevilla
prefiere el té | prefiere el café
trabaja en Telefónica | trabaja en Repsol
abita a Roma | abita a Milano
mora em Lisboa | mora em Porto
woont in Utrecht | woont in Leiden
tax return due 31 July | tax return due 31 August
tax return due 31 July 2026 | tax return due 31 July 2027
chapter 3 of the thesis is done | chapter 4 of the thesis is done
the team has 5 people | the team has 6 people
runs 5 km | runs 10 km
weekly meeting on Fridays | weekly meeting on Thursdays
plays in the first team | plays in the second team
lived in Berlin | lives in Berlin
"""

CONFLICT = """
wants dark mode | does not want dark mode
trusts the new vendor | does not trust the new vendor
trinkt Alkohol | trinkt keinen Alkohol
fume | ne fume plus
bebe alcohol | no bebe alcohol
bebe alcohol | nunca bebe alcohol
deploys on Fridays | never deploys on Fridays
always answer in German | never answer in German
use emojis | do not use emojis
use emojis | no emojis
prefers tea | prefers no tea
prefers tea | does not prefer tea
likes tea | doesn't like tea
likes tea | dislikes tea
likes tea | hates tea
likes green tea | hates tea
eats meat | never eats meat
eats meat | eats no meat
always locks the door | never locks the door
can swim | cannot swim
can swim | can't swim
is married | is divorced
is married | is not married
coffee with sugar | coffee without sugar
notifications are on | notifications are off
the shop is open on Sundays | the shop is closed on Sundays
uses tabs | uses no tabs
wants to be called | does not want to be called
Anna is allergic to nuts | Anna is not allergic to nuts
Anna likes dogs | Anna dislikes dogs
smokes | doesn't smoke
works on Fridays | does not work on Fridays
use miles | do not use miles
mag Tee | mag keinen Tee
isst Fleisch | isst kein Fleisch
raucht | raucht nicht
mag Hunde | hasst Hunde
fährt immer mit dem Auto | fährt nie mit dem Auto
Kaffee mit Milch | Kaffee ohne Milch
aime le thé | n'aime pas le thé
mange de la viande | ne mange jamais de viande
café avec sucre | café sans sucre
le gusta el té | no le gusta el té
come carne | no come carne
café con leche | café sin leche
mangia carne | non mangia carne
beve vino | non beve mai vino
gosta de chá | não gosta de chá
eet vlees | eet geen vlees
drinkt koffie | drinkt nooit koffie
курит | не курит
喜欢茶 | 不喜欢茶
lubi herbatę | nie lubi herbatę
prefers dark mode | prefers light mode
agrees with the plan | disagrees with the plan
"""

DIFFERENT = """
wants dark mode | wants a window seat
is allergic to nuts | is allergic to cats
met Tom for lunch | met Tom for dinner at the Ritz
daughter is called Mia | son is called Mia
drives a Volvo | repairs a Volvo
Urlaub in Italien | Arbeit in Italien
toca la guitarra | juega al tenis
we decided to use Postgres | we decided to hire Eve
Tom is my boss | Eve is my boss
keep answers short | keep receipts
likes the sun | likes Sunday walks
may move to Cork | moves in May
prefers tea | prefers no coffee
plays the violin | doesn't play tennis
likes tea | likes hiking
likes tea | owns a boat
Anna likes Ben | Ben likes Anna
Anna lives in Berlin | Ben lives in Berlin
Anna's birthday is 3 May | Ben's birthday is 3 May
Anna's birthday is 3 May | Anna's wedding is in June
met Anna at the harbour | met Ben at the harbour
speaks French | speaks German
visited Rome | visited Oslo
plays the violin | plays tennis
has a dog | has a cat
uses C | uses C++
uses C# | uses C++
Anna is tall | Anna is blonde
bought milk | bought a boat
knows Python | knows Rust
wants a new bike | wants a new job
read Dune | read Emma
flight from Cork to Berlin | train to Hamburg
the cat is called Minka | the dog is called Rex
prefers tea | the wifi password is tulip
Anna works at Acme | Anna likes sushi
the project ends in May | the holiday starts in June
dentist on 15 Oct | wedding on 15 Oct
mag Tee | mag Wandern
spricht Deutsch | spricht Spanisch
Anna wohnt in Berlin | Ben wohnt in Berlin
kennt Berlin | kennt Hamburg
aime le thé | aime la randonnée
parle français | parle anglais
habite à Lyon | aime Lyon
habla español | habla inglés
le gusta el té | le gusta el fútbol
trabaja en Madrid | cumpleaños en mayo
parla italiano | parla inglese
gosta de chá | gosta de futebol
spreekt Nederlands | spreekt Duits
backup runs at 03:15 | dinner is at 19:00
moved to the US | told us
the roof leaks | the roof is red
Anna sent Ben the report | Ben sent Anna the report
cats chase dogs | dogs chase cats
tea is better than coffee | coffee is better than tea
flight from Cork to Berlin | flight from Berlin to Cork
"""
"""The last ones turn something round: what is told apart must not be called the same, whatever else it is called."""


def pairs(text: str) -> list[tuple[str, str]]:
    return [(old.strip(), new.strip()) for old, new in (line.split(" | ") for line in text.strip().split("\n"))]


LABELLED = [
    (relation, old, new)
    for relation, text in (
        ("same", SAME),
        ("near", NEAR),
        ("update", UPDATE),
        ("conflict", CONFLICT),
        ("different", DIFFERENT),
    )
    for old, new in pairs(text)
]
