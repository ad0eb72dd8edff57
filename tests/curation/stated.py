"""What people say, labelled with the fact over time that it states; nothing behind the bar: none that is beyond doubt.

All of it is said on 2026-11-21. ``TUNED`` was at hand while the phrases were written. ``FRESH`` was written when they
stood: 34 right, 6 wrong and 2 missed then, of 72, half of them made to mislead; what was wrong has been mended since.
"""

TUNED = """
I live in Cork now. | me › lives in:: Cork
My manager is Dana since May. | me › manager:: Dana [since:: 2026-05-01]
We use Postgres. | we › uses:: Postgres
I work at Northwind. | me › works at:: Northwind
I moved to Berlin on 3 November. | me › lives in:: Berlin [since:: 2026-11-03]
Yesterday I moved to Ghent. | me › lives in:: Ghent [since:: 2026-11-20]
By the way, I'm living in Berlin Mitte these days. | me › lives in:: Berlin Mitte
I'm a senior engineer now. | me › works as:: senior engineer
I work as an engineer. | me › works as:: engineer
I've lived in Galway since 2019. | me › lives in:: Galway [since:: 2019-01-01]
My name is Anna Keller. | me › is called:: Anna Keller
I'm married to Tom. | me › married to:: Tom
My wife's name is Ines. | me › married to:: Ines
My boss is called Petra Holm. | me › boss:: Petra Holm
My sister Ruth lives in Ghent. | Ruth › lives in:: Ghent
We use Postgres for the billing service. | we › uses:: Postgres for the billing service
I use Neovim as my editor. | me › uses editor:: Neovim
My birthday is 3 May. | me › birthday:: 3 May
My favourite colour is green. | me › favourite colour:: green
I drive a Volvo V60. | me › drives:: Volvo V60
Please remember that I live in Dublin, not in Cork. | me › lives in:: Dublin
I started working at Contoso on 2 March 2026. | me › works at:: Contoso [since:: 2026-03-02]
My email is anna@example.org. | me › email:: anna@example.org
My home town is Limerick. | me › home town:: Limerick
I work at Airbus in Toulouse. | me › works at:: Airbus
I moved to Obsidian last week. |
We moved to Kubernetes in March. |
My manager is Indian. |
My manager is on holiday. |
I lived in Cork for ten years. |
I used to live in Cork. |
I might move to Berlin. |
I'm moving to Berlin next month. |
Do I live in Cork? |
If I live in Cork, what taxes do I pay? |
My sister says I live in Cork too much. |
I no longer work at Northwind. |
I live in fear of Mondays. |
I live in a flat with two cats. |
I work at night. |
I work for myself. |
I'm a vegetarian. |
I'm a big fan of Postgres. |
I am an engineer at heart but I paint. |
We don't use Postgres. |
We use it every day. |
I use the bus. |
I love Cork. |
My manager is great. |
I work as hard as I can. |
Ich wohne jetzt in Köln. | me › lives in:: Köln
Ich arbeite seit 2024 bei Siemens. | me › works at:: Siemens [since:: 2024-01-01]
Ich arbeite inzwischen bei Südlicht Optik. | me › works at:: Südlicht Optik
Seit Mai wohne ich in Bonn. | me › lives in:: Bonn [since:: 2026-05-01]
Ich bin am 3. November nach Berlin gezogen. | me › lives in:: Berlin [since:: 2026-11-03]
Ich arbeite als Lehrerin. | me › works as:: Lehrerin
Ich heiße Jonas Weber. | me › is called:: Jonas Weber
Mein Chef heißt Martin. | me › boss:: Martin
Wir nutzen MariaDB. | we › uses:: MariaDB
Ich lebe in Scheidung. |
Ich wohne zur Untermiete. |
Ich arbeite bei jedem Wetter. |
Ich wohne in einer WG. |
J'habite à Lyon depuis mars 2024. | me › lives in:: Lyon [since:: 2024-03-01]
Je travaille chez Airbus. | me › works at:: Airbus
Je m'appelle Camille. | me › is called:: Camille
Je travaille comme infirmière. | me › works as:: infirmière
Je travaille beaucoup. |
J'habite à côté de la gare. |
Vivo en Madrid desde mayo. | me › lives in:: Madrid [since:: 2026-05-01]
Me llamo Lucía. | me › is called:: Lucía
Trabajo como enfermera. | me › works as:: enfermera
Trabajo en Madrid. |
Vivo en las afueras. |
Abito a Torino da marzo. | me › lives in:: Torino [since:: 2026-03-01]
Mi chiamo Paolo. | me › is called:: Paolo
Lavoro come infermiere. | me › works as:: infermiere
Abito in centro. |
Ik woon sinds 2020 in Gent. | me › lives in:: Gent [since:: 2020-01-01]
Ik werk bij Philips. | me › works at:: Philips
Ik heet Joris. | me › is called:: Joris
Ik woon nog thuis. |
Moro em Lisboa. | me › lives in:: Lisboa
Me chamo Rita. | me › is called:: Rita
Trabalho como enfermeira. | me › works as:: enfermeira
Moro sozinha. |
Anna's birthday is on March 3. | Anna › birthday:: March 3
Anna works for Dell as a designer. | Anna › works at:: Dell
Our best friend Tom lives in Perth. | Tom › lives in:: Perth
Java's birthday is on 23 May. |
She lives in Cork. |
I got married to Docker. |
My boss is Claude Martin. | me › boss:: Claude Martin
Annas Geburtstag ist am 3. Mai. | Anna › birthday:: 3\\. Mai
Der Geburtstag von Thomas ist am 3. Mai. | Thomas › birthday:: 3\\. Mai
Meine Freundin Jana wohnt schon in Porto. | Jana › lives in:: Porto
Mein Bruder Jonas arbeitet bei Bosch. | Jonas › works at:: Bosch
L'anniversaire de Paul est le 12 juin. | Paul › birthday:: 12 juin
Marc habite à Lille. | Marc › lives in:: Lille
El cumpleaños de Carmen es el 3 de mayo. | Carmen › birthday:: 3 de mayo
Mi hermano Pablo vive en Gijón. | Pablo › lives in:: Gijón
Ella vive en Madrid. |
Il compleanno di Carla è il 9 aprile. | Carla › birthday:: 9 aprile
Mio fratello Luca vive a Genova. | Luca › lives in:: Genova
Sannes verjaardag is op 3 mei. | Sanne › birthday:: 3 mei
Mijn broer Daan werkt bij Philips. | Daan › works at:: Philips
O aniversário da Ana é 3 de maio. | Ana › birthday:: 3 de maio
A Ana mora em Lisboa. | Ana › lives in:: Lisboa
Hi! Just so you know, I live in Halifax. | me › lives in:: Halifax
I now live in New York. | me › lives in:: New York
We live in St. Ives with our kids. | me › lives in:: St. Ives
I'm based in Frankfurt am Main. | me › lives in:: Frankfurt am Main
I've been living in Oslo since January. | me › lives in:: Oslo [since:: 2026-01-01]
In August I moved from Leeds to York. | me › lives in:: York [since:: 2026-08-01]
My husband and I moved to Porto in 2023. | me › lives in:: Porto [since:: 2023-01-01]
I recently moved to Utrecht. | me › lives in:: Utrecht
I work for Médecins Sans Frontières. | me › works at:: Médecins Sans Frontières
I've been working at Bosch since 2018. | me › works at:: Bosch [since:: 2018-01-01]
I work as a freelance translator. | me › works as:: freelance translator
I'm a primary school teacher. | me › works as:: primary school teacher
I've been promoted to staff engineer. | me › works as:: staff engineer
My new manager is Omar. | me › manager:: Omar
My boss is Elena now. | me › boss:: Elena
I married Sofia on 12 June 2021. | me › married to:: Sofia [since:: 2021-06-12]
My boyfriend's name is Luca. | me › partner:: Luca
We use GitLab and Jenkins. | we › uses:: GitLab and Jenkins
I use Zed as my main editor. | me › uses editor:: Zed
My brother Ben lives in Perth. | Ben › lives in:: Perth
I live in Cork and work in Dublin. | me › lives in:: Cork
I live in hope. |
I want to live in Lisbon. |
I'd live in Rome if I could. |
I hate that I live in Slough. |
I think I live in the wrong city. |
My manager is Christian. |
My manager is Friday's problem. |
My boss is OK with it. |
My boss is going to Paris. |
I work at Christmas. |
I work at Easter, too. |
I'm an early bird. |
I'm a former teacher. |
I am a teacher's son. |
I moved to Marketing in June. |
I moved to Linux last year. |
I moved to the sofa. |
I moved to Plan B. |
We use English at work. | we › uses:: English at work
I use Monday for planning. | me › uses:: Monday for planning
They use Postgres. |
You use Postgres, right? |
Nobody at my office uses Postgres. |
My friend lives in Cork. |
I was born in Cork. |
My favourite colour is not blue. |
Ich wohne in Frankfurt am Main. | me › lives in:: Frankfurt am Main
Ich lebe seit 2015 in Wien. | me › lives in:: Wien [since:: 2015-01-01]
Ich arbeite bei der Deutschen Bahn. | me › works at:: Deutschen Bahn
Meine Frau heißt Katrin. | me › married to:: Katrin
Ich bin letzten Monat nach Graz gezogen. | me › lives in:: Graz [since:: 2026-10-01]
Ich arbeite bei Nacht. |
Mein Chef ist Choleriker. |
Ich wohne in Strandnähe. |
Ich lebe in Angst. |
J'habite à Saint-Étienne. | me › lives in:: Saint-Étienne
Mon mari s'appelle Hugo. | me › married to:: Hugo
Nous utilisons Odoo. | we › uses:: Odoo
J'habite en ville. |
J'habite chez mes parents. |
Vivo en Buenos Aires. | me › lives in:: Buenos Aires
Mi jefa se llama Carmen. | me › boss:: Carmen
Estoy casada con Diego. | me › married to:: Diego
Vivo en paz. |
Vivo a Reggio Emilia. | me › lives in:: Reggio Emilia
Il mio capo si chiama Franco. | me › boss:: Franco
Vivo alla giornata. |
Ik woon in Den Haag. | me › lives in:: Den Haag
Ik ben getrouwd met Sanne. | me › married to:: Sanne
Ik werk als tandarts. | me › works as:: tandarts
Ik werk bij daglicht. |
Moro em Belo Horizonte. | me › lives in:: Belo Horizonte
Minha esposa se chama Clara. | me › married to:: Clara
Moro em casa própria. |
I'm now living in Tallinn with my partner. | me › lives in:: Tallinn
Remember that I work at Kingfisher Labs. | me › works at:: Kingfisher Labs
I relocated to Singapore on 1 July 2025. | me › lives in:: Singapore [since:: 2025-07-01]
I've moved to Malmö. | me › lives in:: Malmö
I work for the city. |
I currently work at Ikea as a designer. | me › works at:: Ikea
I'm a data scientist at Maersk. | me › works as:: data scientist
I'm a nurse. | me › works as:: nurse
I've been a nurse since 2010. |
My manager's name is Bea Lindqvist. | me › manager:: Bea Lindqvist
My manager Bea is on leave. |
My manager is now Sam, not Bea. | me › manager:: Sam
My boss is nice. |
My boss is French. |
My husband is called Idris. | me › married to:: Idris
My husband is Irish. |
I'm married to my work. |
I'm married with two kids. |
We use Figma for the mock-ups. | we › uses:: Figma for the mock-ups
We used Jira until June. |
We might use Redis. |
Should we use Redis? |
Let's use Redis for the cache. |
I use Firefox. | me › uses:: Firefox
I use it for work. |
I used Firefox. |
I drive to work. |
I drive a Skoda. | me › drives:: Skoda
I drive an Uber at weekends. |
My birthday is in July. |
My birthday is on 9 August. | me › birthday:: 9 August
My daughter lives in Leuven. |
My daughter Mia lives in Leuven. | Mia › lives in:: Leuven
My aunt Rosa lived in Bari. |
I lived in Bari until 2020. |
I have lived in Bari for years. |
I live in Bari but I'm moving to Lecce. |
I live in Bari, Italy. | me › lives in:: Bari, Italy
I don't live in Bari. |
I don't live in Bari anymore. |
I still live in Bari. |
I wish I lived in Bari. |
I live in Lecce in summer. |
I moved to Product last month. |
I moved to Emacs. |
I moved to Naples yesterday. | me › lives in:: Naples [since:: 2026-11-20]
Last year I moved to Split. | me › lives in:: Split [since:: 2025-01-01]
I moved to Split in my head. |
"I live in Zagreb," she said. |
> I live in Zagreb |
Translate: I live in Zagreb. |
In the novel I live in Zagreb. |
Ich wohne inzwischen in Leipzig. | me › lives in:: Leipzig
Ich wohne in Bayern. | me › lives in:: Bayern
Ich wohne nicht in Leipzig. |
Ich arbeite als Ärztin in Jena. |
Ich arbeite bei Zeiss. | me › works at:: Zeiss
Ich arbeite gern bei Musik. |
Mein Mann heißt Jens. | me › married to:: Jens
Mein Chef heißt seit Mai Olaf. |
Ich bin nach Hause gezogen. |
Wir verwenden Nextcloud. | we › uses:: Nextcloud
J'ai déménagé à Nantes en juin. | me › lives in:: Nantes [since:: 2026-06-01]
Je n'habite plus à Nantes. |
Je travaille comme un fou. |
Ma cheffe s'appelle Odile. | me › boss:: Odile
Me mudé a Granada en 2024. | me › lives in:: Granada [since:: 2024-01-01]
Ya no vivo en Granada. |
Trabajo como un burro. |
Usamos Odoo. | we › uses:: Odoo
Mi sono trasferita a Parma a marzo. | me › lives in:: Parma [since:: 2026-03-01]
Lavoro come un mulo. |
Vivo in pace. |
Ik ben in mei naar Breda verhuisd. | me › lives in:: Breda [since:: 2026-05-01]
Ik werk als een paard. |
Mijn baas heet Wim. | me › boss:: Wim
Eu moro em Recife desde 2022. | me › lives in:: Recife [since:: 2022-01-01]
Trabalho como um cão. |
Mudei para Natal em abril. | me › lives in:: Natal [since:: 2026-04-01]
"""

FRESH = """
I live in Bergen, by the way. | me › lives in:: Bergen
Since we talk about homes: I live in Turku. | me › lives in:: Turku
I'm living with my parents. |
I'm living proof of that. |
I'm living in constant noise. |
I live in San Sebastián now. | me › lives in:: San Sebastián
I moved to Chapter 5. |
I moved to Room 12. |
I moved to Canada in 2011. | me › lives in:: Canada [since:: 2011-01-01]
I moved to Canada to study. |
I work at Hooli since April. | me › works at:: Hooli [since:: 2026-04-01]
I work at the hospital. |
I work at Saint Mary's Hospital. | me › works at:: Saint Mary's Hospital
I worked at Hooli. |
I want to work at Hooli. |
I work as a dentist. | me › works as:: dentist
I work as a team. |
I work as a volunteer at weekends. |
I'm a bad cook. |
I'm a cook. | me › works as:: cook
I'm a product manager at Hooli. | me › works as:: product manager
I'm a driver short. |
My manager is called Nils. | me › manager:: Nils
My manager is Swedish. |
My manager is Nils' sister. |
My manager is leaving in May. |
My boss is Carla. | me › boss:: Carla
My boss is Carla's brother. |
My name is not important. |
My name is Theo. | me › is called:: Theo
My name is on the list. |
I'm married to Noor since 2019. | me › married to:: Noor [since:: 2019-01-01]
I'm married to a Finn. |
My partner is called Sascha. | me › partner:: Sascha
We use Trello. | we › uses:: Trello
We use a lot of coffee. |
We use TypeScript for the frontend. | we › uses:: TypeScript for the frontend
We use our own tool. |
We use tabs. | we › uses:: tabs
I use Helix as my editor. | me › uses editor:: Helix
I use Helix as a joke. |
My favourite colour is dark blue. | me › favourite colour:: dark blue
My favourite colour is whatever. |
My home town is Ennis. | me › home town:: Ennis
My cousin Ida lives in Aarhus now. | Ida › lives in:: Aarhus
My cousin lives in Aarhus. |
My colleague Ida lives in fear. |
Ich wohne in Rostock. | me › lives in:: Rostock
Ich wohne in Bahnhofsnähe. |
Ich lebe in Harmonie mit mir. |
Ich lebe in Luxus. |
Ich arbeite bei Hitze. |
Ich arbeite bei Rewe. | me › works at:: Rewe
Ich arbeite als Koch. | me › works as:: Koch
Ich arbeite als Letzter. |
Mein Chef ist Frau Holt. | me › boss:: Frau Holt
Wir benutzen Matrix. | we › uses:: Matrix
J'habite en France. | me › lives in:: France
Je vis en paix. |
Je travaille chez moi. |
Je travaille comme serveuse. | me › works as:: serveuse
Mon chef est Luc. | me › boss:: Luc
Vivo en Lima. | me › lives in:: Lima
Vivo en Navidad como un niño. |
Trabajo para Zara. | me › works at:: Zara
Abito a Bari. | me › lives in:: Bari
Lavoro come sempre. |
Ik woon in Leuven. | me › lives in:: Leuven
Ik woon in een huis. |
Ik werk als kok. | me › works as:: kok
Moro em Braga agora. | me › lives in:: Braga
Meu chefe é o Rui. | me › boss:: Rui
"""


def labelled(text: str) -> list[tuple[str, str]]:
    """Sentence and claim; the claim is empty for none."""
    rows = (line.partition("|") for line in text.strip().splitlines())
    return [(sentence.strip(), claim.strip()) for sentence, _, claim in rows]
