"""Names of months, weekdays and relative days in the known languages. Pure."""

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_NAMES = {
    "de": (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember "
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"
    ),
    "es": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
        "lunes martes miércoles jueves viernes sábado domingo"
    ),
    "fr": (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre "
        "lundi mardi mercredi jeudi vendredi samedi dimanche"
    ),
    "it": (
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre "
        "lunedì martedì mercoledì giovedì venerdì sabato domenica"
    ),
    "nl": (
        "januari februari maart april mei juni juli augustus september oktober november december "
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"
    ),
    "pt": (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro "
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo"
    ),
}
NAMES = {
    "en": (MONTHS, WEEKDAYS),
    **{language: (tuple(names.split()[:12]), tuple(names.split()[12:])) for language, names in _NAMES.items()},
}
"""Names of months, and of weekdays from Monday on, by language, as in Moment's locales (pt as in Brazil)."""

MONTH_FORMS = {
    language: [tuple(name.replace("_", " ") for name in names.split()) for names in forms.split("|")]
    for language, forms in {
        "ar": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
        "cs": "leden únor březen duben květen červen červenec srpen září říjen listopad prosinec|"
              "ledna února března dubna května června července srpna září října listopadu prosince|"
              "lednu únoru březnu dubnu květnu červnu červenci srpnu září říjnu listopadu prosinci",
        "da": "januar februar marts april maj juni juli august september oktober november december",
        "el": "Ιανουάριος Φεβρουάριος Μάρτιος Απρίλιος Μάιος Ιούνιος "
              "Ιούλιος Αύγουστος Σεπτέμβριος Οκτώβριος Νοέμβριος Δεκέμβριος|"
              "Ιανουαρίου Φεβρουαρίου Μαρτίου Απριλίου Μαΐου Ιουνίου "
              "Ιουλίου Αυγούστου Σεπτεμβρίου Οκτωβρίου Νοεμβρίου Δεκεμβρίου|"
              "Ιανουάριο Φεβρουάριο Μάρτιο Απρίλιο Μάιο Ιούνιο Ιούλιο Αύγουστο Σεπτέμβριο Οκτώβριο Νοέμβριο Δεκέμβριο",
        "fi": "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu "
              "heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu|"
              "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta "
              "heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta|"
              "tammikuussa helmikuussa maaliskuussa huhtikuussa toukokuussa kesäkuussa "
              "heinäkuussa elokuussa syyskuussa lokakuussa marraskuussa joulukuussa",
        "he": "ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר|"
              "בינואר בפברואר במרץ באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר בנובמבר בדצמבר",
        "hi": "जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर|"
              "जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितम्बर अक्तूबर नवम्बर दिसम्बर",
        "hu": "január február március április május június július augusztus szeptember október november december|"
              "januárban februárban márciusban áprilisban májusban júniusban "
              "júliusban augusztusban szeptemberben októberben novemberben decemberben",
        "id": "Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember",
        "nb": "januar februar mars april mai juni juli august september oktober november desember",
        "pl": "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień|"
              "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia|"
              "styczniu lutym marcu kwietniu maju czerwcu lipcu sierpniu wrześniu październiku listopadzie grudniu",
        "ro": "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie",
        "ru": "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь|"
              "января февраля марта апреля мая июня июля августа сентября октября ноября декабря|"
              "январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре",
        "sv": "januari februari mars april maj juni juli augusti september oktober november december",
        "tr": "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık|"
              "Ocakta Şubatta Martta Nisanda Mayısta Haziranda Temmuzda Ağustosta Eylülde Ekimde Kasımda Aralıkta|"
              "Ocak_ayında Şubat_ayında Mart_ayında Nisan_ayında Mayıs_ayında Haziran_ayında "
              "Temmuz_ayında Ağustos_ayında Eylül_ayında Ekim_ayında Kasım_ayında Aralık_ayında",
        "uk": "січень лютий березень квітень травень червень липень серпень вересень жовтень листопад грудень|"
              "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня|"
              "січні лютому березні квітні травні червні липні серпні вересні жовтні листопаді грудні",
        "vi": "tháng_1 tháng_2 tháng_3 tháng_4 tháng_5 tháng_6 tháng_7 tháng_8 tháng_9 tháng_10 tháng_11 tháng_12",
    }.items()
}  # fmt: skip
"""Names of months in further languages, after a day's number and after "in", too (Unicode CLDR; locatives by grammar).
"""

_WEEKDAYS_OF = {
    "ar": "الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد",
    "cs": "pondělí úterý středa čtvrtek pátek sobota neděle",
    "da": "mandag tirsdag onsdag torsdag fredag lørdag søndag",
    "el": "Δευτέρα Τρίτη Τετάρτη Πέμπτη Παρασκευή Σάββατο Κυριακή",
    "fi": "maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai",
    "he": "שני שלישי רביעי חמישי שישי שבת ראשון",
    "hi": "सोमवार मंगलवार बुधवार गुरूवार शुक्रवार शनिवार रविवार",
    "hu": "hétfő kedd szerda csütörtök péntek szombat vasárnap",
    "id": "Senin Selasa Rabu Kamis Jumat Sabtu Minggu",
    "ja": "月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日",
    "ko": "월요일 화요일 수요일 목요일 금요일 토요일 일요일",
    "nb": "mandag tirsdag onsdag torsdag fredag lørdag søndag",
    "pl": "poniedziałek wtorek środa czwartek piątek sobota niedziela",
    "ro": "luni marți miercuri joi vineri sâmbătă duminică",
    "ru": "понедельник вторник среда четверг пятница суббота воскресенье",
    "sv": "måndag tisdag onsdag torsdag fredag lördag söndag",
    "tr": "Pazartesi Salı Çarşamba Perşembe Cuma Cumartesi Pazar",
    "uk": "понеділок вівторок середа четвер п’ятниця субота неділя",
    "vi": "thứ_hai thứ_ba thứ_tư thứ_năm thứ_sáu thứ_bảy chủ_nhật",
    "zh": "星期一 星期二 星期三 星期四 星期五 星期六 星期日",
}  # fmt: skip
_COUNTED_MONTHS = {
    "ja": tuple(f"{number}月" for number in range(1, 13)),
    "ko": tuple(f"{number}월" for number in range(1, 13)),
    "zh": ("一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"),
}
DIARY_NAMES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = NAMES | {
    language: (
        _COUNTED_MONTHS.get(language) or MONTH_FORMS[language][0],
        tuple(name.replace("_", " ") for name in weekdays.split()),
    )
    for language, weekdays in _WEEKDAYS_OF.items()
}
"""Names of months and weekdays in a diary: :data:`NAMES` and those of further languages, as in Moment's locales."""

LOCATIVES = [
    name
    for language, at in {"cs": 2, "el": 2, "fi": 2, "he": 1, "hu": 1, "pl": 2, "ru": 2, "tr": 1, "uk": 2}.items()
    for name in MONTH_FORMS[language][at]
]
"""Names of months that mean "in" that month as they stand, or with a preposition that no other form has."""

BEHIND_IN = frozenset(
    f"{word} {name}"
    for word, languages in (
        ("in", (NAMES["it"], NAMES["nl"])),
        ("i", [MONTH_FORMS[code] for code in ("da", "nb", "sv")]),
    )
    for months, *_ in languages
    for name in months
)
"""Months behind the word for "in" of their language, where English has that word, too: ``in mei``, ``i maj``."""

GENITIVES = {language: MONTH_FORMS[language][1] for language in ("cs", "el", "pl", "ru", "uk")}
"""Names of months where they follow a day's number, in the languages in which Moment then has another form."""

DAYS = {
    language: {name.replace("_", " "): day for day, names in zip((-2, -1, 0, 1, 2), words.split("|"), strict=True)
               for name in names.split()}
    for language, words in {
        "ar": "أول_أمس أول_امبارح|أمس البارحة|||",
        "cs": "předevčírem|včera|dnes|zítra|pozítří",
        "da": "i_forgårs|i_går|i_dag|i_morgen|i_overmorgen",
        "de": "vorgestern|gestern|heute|morgen|übermorgen",
        "el": "προχθές προχτές|χθες χτες|σήμερα|αύριο|μεθαύριο",
        "en": "the_day_before_yesterday|yesterday last_night|today tonight|tomorrow|the_day_after_tomorrow",
        "es": "anteayer|ayer|hoy|mañana|pasado_mañana",
        "fi": "toissapäivänä|eilen|tänään|huomenna|ylihuomenna",
        "fr": "avant-hier|hier|aujourd'hui|demain|après-demain",
        "he": "שלשום|אתמול|היום|מחר|מחרתיים",
        "hi": "||आज||",
        "hu": "tegnapelőtt|tegnap||holnap|holnapután",
        "id": "kemarin_lusa|kemarin|hari_ini|besok|lusa",
        "it": "l'altro_ieri|ieri|oggi|domani|dopodomani",
        "ja": "一昨日|昨日|今日 本日|明日|明後日",
        "ko": "그저께|어제|오늘|내일|모레",
        "nb": "i_forgårs|i_går|i_dag|i_morgen|i_overmorgen",
        "nl": "eergisteren|gisteren|vandaag|morgen|overmorgen",
        "pl": "przedwczoraj|wczoraj|dzisiaj dziś|jutro|pojutrze",
        "pt": "anteontem|ontem|hoje|amanhã|depois_de_amanhã",
        "ro": "alaltăieri|ieri|azi astăzi|mâine|poimâine",
        "ru": "позавчера|вчера|сегодня|завтра|послезавтра",
        "sv": "i_förrgår|i_går igår|i_dag idag|i_morgon imorgon|i_övermorgon",
        "tr": "evvelsi_gün|dün|bugün|yarın|",
        "uk": "позавчора|вчора|сьогодні|завтра|післязавтра",
        "vi": "hôm_kia|hôm_qua|hôm_nay|ngày_mai|ngày_kia",
        "zh": "前天|昨天|今天|明天|后天 後天",
    }.items()
}  # fmt: skip
"""Words for relative days by language: the number of days from the day on which they are said."""

_STRETCHES: dict[str, dict[str, str]] = {
    "de": {
        "week": (
            "letzte woche, letzten woche, letzter woche, vorige woche, vorigen woche, voriger woche, "
            "vergangene woche, vergangenen woche, vergangener woche | "
            "diese woche, diesen woche, dieser woche | "
            "nächste woche, nächsten woche, nächster woche, kommende woche, kommenden woche, "
            "kommender woche"
        ),
        "weekend": (
            "letztes wochenende, letzten wochenende, letztem wochenende, voriges wochenende, "
            "vorigen wochenende, vorigem wochenende, vergangenes wochenende, vergangenen wochenende, "
            "vergangenem wochenende | "
            "dieses wochenende, diesen wochenende, diesem wochenende | "
            "nächstes wochenende, nächsten wochenende, nächstem wochenende, kommendes wochenende, "
            "kommenden wochenende, kommendem wochenende"
        ),
        "month": (
            "letzten monat, letzter monat, letztem monat, vorigen monat, voriger monat, vorigem monat, "
            "vergangenen monat, vergangener monat, vergangenem monat | "
            "diesen monat, dieser monat, diesem monat | "
            "nächsten monat, nächster monat, nächstem monat, kommenden monat, kommender monat, "
            "kommendem monat"
        ),
        "year": (
            "letztes jahr, letzten jahr, letztem jahr, voriges jahr, vorigen jahr, vorigem jahr, "
            "vergangenes jahr, vergangenen jahr, vergangenem jahr | "
            "dieses jahr, diesen jahr, diesem jahr | "
            "nächstes jahr, nächsten jahr, nächstem jahr, kommendes jahr, kommenden jahr, kommendem jahr"
        ),
    },
    "en": {
        "week": "last week, this past week, the previous week | this week | next week, the coming week",
        "weekend": (
            "last weekend, this past weekend, the previous weekend | this weekend | next weekend, the coming weekend"
        ),
        "month": ("last month, this past month, the previous month | this month | next month, the coming month"),
        "year": "last year, this past year, the previous year | this year | next year, the coming year",
    },
    "es": {
        "week": "la semana pasada | esta semana | la próxima semana, la semana que viene",
        "weekend": "el fin de semana pasado | este fin de semana | el próximo fin de semana",
        "month": "el mes pasado | este mes | el próximo mes, el mes que viene",
        "year": "el año pasado | este año | el próximo año, el año que viene",
    },
    "fr": {
        "week": "la semaine dernière | cette semaine | la semaine prochaine",
        "weekend": "le week-end dernier | ce week-end | le week-end prochain",
        "month": "le mois dernier | ce mois-ci | le mois prochain",
        "year": "l'année dernière, l'an dernier | cette année | l'année prochaine",
    },
    "it": {
        "week": (
            "la settimana scorsa, la scorsa settimana | questa settimana | la settimana prossima, la prossima settimana"
        ),
        "weekend": "lo scorso fine settimana | questo fine settimana | il prossimo fine settimana",
        "month": "il mese scorso | questo mese | il mese prossimo, il prossimo mese",
        "year": "l'anno scorso | quest'anno | l'anno prossimo",
    },
    "nl": {
        "week": "vorige week, afgelopen week | deze week | volgende week, komende week",
        "weekend": "vorig weekend, afgelopen weekend | dit weekend | volgend weekend, komend weekend",
        "month": "vorige maand | deze maand | volgende maand",
        "year": "vorig jaar | dit jaar | volgend jaar",
    },
    "pt": {
        "week": ("semana passada, na semana passada | esta semana | próxima semana, semana que vem, na próxima semana"),
        "weekend": ("fim de semana passado, no fim de semana passado | este fim de semana | próximo fim de semana"),
        "month": "mês passado, no mês passado | este mês, neste mês | próximo mês, mês que vem",
        "year": "ano passado, no ano passado | este ano | próximo ano, ano que vem",
    },
}
_STRETCHES |= {
    language: dict(zip(("week", "weekend", "month", "year"), phrases.split("; "), strict=True))
    for language, phrases in {
        "cs": "minulý týden, minulém týdnu | tento týden, tomto týdnu | příští týden, příštím týdnu; "
              "minulý víkend | tento víkend | příští víkend; "
              "minulý měsíc, minulém měsíci | tento měsíc, tomto měsíci | příští měsíc, příštím měsíci; "
              "minulý rok, minulém roce, loni | letos, tento rok, tomto roce | příští rok, příštím roce",
        "da": "sidste uge | denne uge, i denne uge | næste uge; sidste weekend | denne weekend | næste weekend; "
              "sidste måned | denne måned | næste måned; sidste år | i år, dette år | næste år",
        "fi": "viime viikolla, viime viikko | tällä viikolla | ensi viikolla; "
              "viime viikonloppuna | tänä viikonloppuna | ensi viikonloppuna; "
              "viime kuussa | tässä kuussa | ensi kuussa; viime vuonna | tänä vuonna | ensi vuonna",
        "he": "בשבוע שעבר, שבוע שעבר | בשבוע הזה, השבוע הזה | בשבוע הבא, שבוע הבא; "
              "בסוף השבוע האחרון, סוף השבוע האחרון | בסוף השבוע הזה, סוף השבוע הזה | בסוף השבוע הבא, סוף השבוע הבא; "
              "בחודש שעבר, חודש שעבר | בחודש הזה, החודש הזה | בחודש הבא, חודש הבא; "
              "בשנה שעברה, שנה שעברה, אשתקד | בשנה הזאת, השנה הזאת | בשנה הבאה, שנה הבאה",
        "hi": "पिछले हफ़्ते, पिछले हफ्ते, पिछले सप्ताह | इस हफ़्ते, इस हफ्ते, इस सप्ताह | "
              "अगले हफ़्ते, अगले हफ्ते, अगले सप्ताह; पिछले सप्ताहांत | इस सप्ताहांत | अगले सप्ताहांत; "
              "पिछले महीने, पिछले माह | इस महीने, इस माह | अगले महीने, अगले माह; "
              "पिछले साल, पिछले वर्ष | इस साल, इस वर्ष | अगले साल, अगले वर्ष",
        "hu": "múlt héten, múlt hét | ezen a héten | jövő héten; múlt hétvégén | ezen a hétvégén | jövő hétvégén; "
              "múlt hónapban | ebben a hónapban | jövő hónapban; tavaly, múlt évben | idén | jövőre, jövő évben",
        "ja": "先週 | 今週 | 来週; 先週末 | 今週末 | 来週末; 先月 | 今月 | 来月; 去年, 昨年 | 今年 | 来年",
        "ko": "지난주, 지난 주 | 이번주, 이번 주 | 다음주, 다음 주; "
              "지난 주말, 지난주말 | 이번 주말, 이번주말 | 다음 주말, 다음주말; "
              "지난달, 지난 달 | 이번달, 이번 달 | 다음달, 다음 달; 작년, 지난해 | 올해, 금년 | 내년",
        "nb": "forrige uke, sist uke | denne uken, denne uka | neste uke; "
              "forrige helg | denne helgen, denne helga | neste helg; "
              "forrige måned | denne måneden | neste måned; i fjor | i år | neste år",
        "pl": "zeszły tydzień, zeszłym tygodniu, ubiegłym tygodniu | ten tydzień, tym tygodniu | "
              "przyszły tydzień, przyszłym tygodniu; "
              "zeszły weekend, ostatni weekend | w ten weekend | przyszły weekend; "
              "zeszły miesiąc, zeszłym miesiącu, ubiegłym miesiącu | ten miesiąc, tym miesiącu | "
              "przyszły miesiąc, przyszłym miesiącu; "
              "zeszły rok, zeszłym roku, ubiegłym roku | ten rok, tym roku | przyszły rok, przyszłym roku",
        "ru": "прошлую неделю, прошлой неделе | эту неделю, этой неделе | следующую неделю, следующей неделе; "
              "прошлые выходные, прошлых выходных | эти выходные, этих выходных | следующие выходные; "
              "прошлый месяц, прошлом месяце | этот месяц, этом месяце | следующий месяц, следующем месяце; "
              "прошлый год, прошлом году | этот год, этом году | следующий год, следующем году",
        "sv": "förra veckan | den här veckan, denna vecka | nästa vecka; förra helgen | den här helgen | nästa helg; "
              "förra månaden | den här månaden | nästa månad; förra året, i fjol | i år, det här året | nästa år",
        "tr": "geçen hafta | bu hafta | gelecek hafta, önümüzdeki hafta; "
              "geçen hafta sonu | bu hafta sonu | gelecek hafta sonu, önümüzdeki hafta sonu; "
              "geçen ay | bu ay | gelecek ay, önümüzdeki ay; geçen yıl, geçen sene | bu yıl, bu sene | gelecek yıl",
        "uk": "минулий тиждень, минулого тижня, минулому тижні | цей тиждень, цього тижня | "
              "наступний тиждень, наступного тижня; "
              "минулі вихідні, минулих вихідних | ці вихідні, цих вихідних | наступні вихідні; "
              "минулий місяць, минулого місяця | цей місяць, цього місяця | наступний місяць, наступного місяця; "
              "минулий рік, минулого року, торік | цей рік, цього року | наступний рік, наступного року",
        "vi": "tuần trước, tuần rồi, tuần vừa qua | tuần này | tuần sau, tuần tới; "
              "cuối tuần trước, cuối tuần rồi | cuối tuần này | cuối tuần sau, cuối tuần tới; "
              "tháng trước, tháng rồi | tháng này | tháng sau, tháng tới; năm ngoái | năm nay | năm sau, năm tới",
        "zh": "上周, 上週, 上星期 | 本周, 本週, 这周, 這週, 这星期 | 下周, 下週, 下星期; "
              "上周末, 上週末 | 这周末, 這週末, 本周末 | 下周末, 下週末; "
              "上个月, 上個月 | 这个月, 這個月, 本月 | 下个月, 下個月; 去年 | 今年 | 明年",
    }.items()
}  # fmt: skip
STRETCHES = {
    language: {
        phrase: (step, unit)
        for unit, phrases in units.items()
        for step, forms in zip((-1, 0, 1), phrases.split(" | "), strict=True)
        for phrase in forms.split(", ")
    }
    for language, units in _STRETCHES.items()
}
"""Phrases for the last (-1), this (0) and the next (1) week, weekend, month and year, by language."""

_LAST = (
    "letzten letzter letztem vorigen voriger vergangenen vorige afgelopen pasado dernier scorso scorsa passado passada"
)
_NEXT = "nächsten nächster nächstem kommenden volgende komende próximo próxima prochain prossimo prossima"
WEEKDAY_STEPS = {
    **dict.fromkeys(_LAST.split(), -1),
    **dict.fromkeys(_NEXT.split(), 1),
}
"""Words for the last (-1) and the next (1) day of the week, before or after its name, in other languages than English.
"""
