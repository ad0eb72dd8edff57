"""Made-up credentials in the formats of their providers, with check digits where the formats have them.

None of them opens anything: every one comes out of a seeded random generator. For measuring and for tests.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from zlib import crc32

from tars_memory.vault import secrets

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = DIGITS + UPPER + LOWER
HEX = DIGITS + "abcdef"
B64 = UPPER + LOWER + DIGITS + "+/"
URL64 = UPPER + LOWER + DIGITS + "-_"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"

WORDS = (
    "abandon ability able about above absent absorb abstract absurd abuse access accident account accuse achieve acid "
    "acoustic acquire across act action actor actress actual adapt add addict address adjust admit adult advance"
)


def _of(signs: str, count: int) -> Callable[[Random], str]:
    return lambda dice: "".join(dice.choices(signs, k=count))


def _prefixed(prefix: str, signs: str, count: int) -> Callable[[Random], str]:
    return lambda dice: prefix + "".join(dice.choices(signs, k=count))


def _base62(number: int, width: int) -> str:
    signs = ""
    while number:
        number, rest = divmod(number, 62)
        signs = ALNUM[rest] + signs
    return signs.rjust(width, "0")


def _checked(prefix: str) -> Callable[[Random], str]:
    """GitHub's and npm's: 30 characters and the CRC-32 of them in base 62."""

    def made(dice: Random) -> str:
        body = "".join(dice.choices(ALNUM, k=30))
        return prefix + body + _base62(crc32(body.encode()), 6)

    return made


def _uuid(dice: Random) -> str:
    signs = f"{dice.getrandbits(128):032x}"
    return f"{signs[:8]}-{signs[8:12]}-4{signs[13:16]}-a{signs[17:20]}-{signs[20:]}"


def _url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _jwt(dice: Random) -> str:
    head = _url64(json.dumps({"alg": "HS256", "typ": "JWT"}).encode())
    body = _url64(json.dumps({"sub": str(dice.getrandbits(40)), "name": "Anna", "iat": dice.getrandbits(31)}).encode())
    sign = hmac.new(dice.randbytes(32), f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{_url64(sign)}"


def _pem(kind: str) -> Callable[[Random], str]:
    def made(dice: Random) -> str:
        body = base64.b64encode(b"\x30\x82\x04\xa4\x02\x01\x00" + dice.randbytes(600)).decode()
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])

    return made


def _card(dice: Random) -> str:
    digits = dice.choice(["4", "51", "53", "2221", "6011", "3530"])
    digits += "".join(dice.choices(DIGITS, k=15 - len(digits)))
    double = [sum(divmod(2 * int(sign), 10)) for sign in digits[::-2]]
    total = sum(double) + sum(map(int, digits[-2::-2]))
    digits += str(-total % 10)
    gap = dice.choice(
        ["", " ", "-", "\u00a0", "\u2009", "\u2007", "\u202f", ".", "/", "–", "\u2011", " - ", "\u200b", "·"]
    )
    return gap.join(digits[at : at + 4] for at in range(0, 16, 4))


def _pypi(dice: Random) -> str:
    parts = b"\x02\x01\x08pypi.org\x02$" + _uuid(dice).encode() + b"\x00\x02*[3,"
    return "pypi-" + _url64(parts + b'"' + _uuid(dice).encode() + b'"]\x00\x00\x06 ' + dice.randbytes(32))


def _grafana(dice: Random) -> str:
    body = "".join(dice.choices(ALNUM, k=32))
    return f"glsa_{body}_{crc32(body.encode()):08x}"


def _discord(dice: Random) -> str:
    user = _url64(str(dice.randrange(10**17, 10**18)).encode())
    return f"{user}.{_of(URL64, 6)(dice)}.{_of(URL64, 38)(dice)}"


def _wif(dice: Random) -> str:
    payload = b"\x04\x88\xad\xe4" + dice.randbytes(74)
    data = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, signs = int.from_bytes(data, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        signs = BASE58[rest] + signs
    return signs


def password(dice: Random) -> str:
    """As people and password managers make them: a word with a number and a sign, or 14 signs of all kinds."""
    if dice.random() < 0.5:
        return dice.choice(WORDS.split()).capitalize() + str(dice.randrange(10, 9999)) + dice.choice("!?#$*")
    kinds = [LOWER, UPPER, DIGITS, "!@#%^*+=?"]
    return "".join(dice.choice(kinds[at % 4]) for at in range(14))


def _bitlocker(dice: Random) -> str:
    return dice.choice(["-", " ", " - ", "–", "\u00a0"]).join(f"{11 * dice.randrange(65536):06d}" for _ in range(8))


def _account(dice: Random) -> str:
    country, form = dice.choice([("DE", "n" * 18), ("NL", "aaaa" + "n" * 10), ("NO", "n" * 11), ("FR", "n" * 21 + "cc"),
        ("MT", "aaaannnnn" + "c" * 18), ("GB", "aaaa" + "n" * 14), ("CH", "n" * 17), ("PT", "n" * 21)])  # fmt: skip
    body = "".join(dice.choice({"n": DIGITS, "a": UPPER, "c": DIGITS + UPPER}[sign]) for sign in form)
    check = 98 - int("".join(str(int(sign, 36)) for sign in f"{body}{country}00")) % 97
    number = f"{country}{check:02d}{body}"
    gap = dice.choice(["", " ", "\u00a0", "-", "\u202f"])
    return gap.join(number[at : at + 4] for at in range(0, len(number), 4))


def seed_words(dice: Random) -> list[str]:
    """A wallet's seed as BIP-0039 makes it: 11 bits a word, of them the last ones a check sum."""
    count = dice.choice([12, 15, 18, 21, 24])
    check = 11 * count // 33
    chance = dice.randbytes(4 * check)
    whole = int.from_bytes(chance, "big") << check | hashlib.sha256(chance).digest()[0] >> 8 - check
    known = Path(secrets.__file__).with_name("bip39.txt").read_text("ascii").split()
    return [known[whole >> 11 * at & 2047] for at in reversed(range(count))]


def _seed(dice: Random) -> str:
    words = seed_words(dice)
    kind = dice.randrange(4)
    if kind == 0:
        return " ".join(f"{number}. {word}" for number, word in enumerate(words, 1))
    if kind == 1:
        return "\n".join(f"{number}) {word}" for number, word in enumerate(words, 1))
    if kind == 2:
        return "\n".join(f"| {number} | {word} |" for number, word in enumerate(words, 1))
    return " ".join(words)


def codes(dice: Random) -> list[str]:
    """Recovery codes as services give them out: 4 to 10 of one shape."""
    shape = dice.choice(["4-4", "5-5", "8", "6", "10", "4-4-4", "3-3-3", "n8", "n4 4", "n6", "5-5-5-5"])
    signs = DIGITS if shape[0] == "n" else dice.choice([LOWER + DIGITS, UPPER + DIGITS, HEX])

    def one() -> str:
        while True:
            code = "".join(
                _of(signs, int(part))(dice) if part.isdigit() else part
                for part in re.split("([- ])", shape.lstrip("n"))
            )
            if any(map(str.isdigit, code)):
                return code

    return [one() for _ in range(dice.randrange(4, 11))]


def _listed(dice: Random) -> str:
    return dice.choice([", ", " ", "\n- ", "\n"]).join(codes(dice))


SHAPED: dict[str, Callable[[Random], str]] = {
    "aws key id": _prefixed("AKIA", UPPER + "234567", 16),
    "aws temporary key id": _prefixed("ASIA", UPPER + "234567", 16),
    "google api key": _prefixed("AIza", URL64, 35),
    "google client secret": _prefixed("GOCSPX-", URL64, 28),
    "google access token": _prefixed("ya29.a0", URL64, 160),
    "azure client secret": lambda d: _of(ALNUM, 3)(d) + str(d.randrange(10)) + "Q~" + _of(ALNUM + "_~.-", 34)(d),
    "azure storage": lambda d: "AccountName=anna;AccountKey=" + base64.b64encode(d.randbytes(64)).decode(),
    "azure devops token": lambda d: _of(ALNUM, 76)(d) + "AZDO" + _of(ALNUM, 4)(d),
    "github token": _checked("ghp_"),
    "github oauth token": _checked("gho_"),
    "github app token": _checked("ghs_"),
    "github fine-grained token": lambda d: f"github_pat_{_of(ALNUM, 22)(d)}_{_of(ALNUM, 59)(d)}",
    "gitlab token": _prefixed("glpat-", URL64, 20),
    "gitlab routable token": lambda d: f"glpat-{_of(URL64, 27)(d)}.01.{_of(LOWER + DIGITS, 9)(d)}",
    "gitlab runner token": _prefixed("glrt-", URL64, 20),
    "atlassian token": lambda d: "ATATT3" + _of(URL64, 178)(d) + "=" + _of(UPPER + DIGITS, 8)(d),
    "bitbucket token": _prefixed("ATBB", ALNUM, 32),
    "slack bot token": lambda d: f"xoxb-{_of(DIGITS, 12)(d)}-{_of(DIGITS, 13)(d)}-{_of(ALNUM, 24)(d)}",
    "slack user token": lambda d: (
        f"xoxp-{_of(DIGITS, 12)(d)}-{_of(DIGITS, 12)(d)}-{_of(DIGITS, 12)(d)}-{_of(HEX, 32)(d)}"
    ),
    "slack app token": lambda d: f"xapp-1-{_of(UPPER + DIGITS, 11)(d)}-{_of(DIGITS, 13)(d)}-{_of(HEX, 64)(d)}",
    "slack webhook": lambda d: (
        f"https://hooks.slack.com/services/T{_of(UPPER, 8)(d)}/B{_of(UPPER, 8)(d)}/{_of(ALNUM, 24)(d)}"
    ),
    "discord token": _discord,
    "discord webhook": lambda d: f"https://discord.com/api/webhooks/{_of(DIGITS, 18)(d)}/{_of(URL64, 68)(d)}",
    "telegram bot token": lambda d: f"{d.randrange(10**8, 10**10)}:AA{_of(URL64, 33)(d)}",
    "stripe key": _prefixed("sk_live_", ALNUM, 24),
    "stripe long key": _prefixed("sk_live_51", ALNUM, 97),
    "stripe restricted key": _prefixed("rk_live_", ALNUM, 24),
    "stripe test key": _prefixed("sk_test_", ALNUM, 24),
    "webhook secret": _prefixed("whsec_", ALNUM, 32),
    "openai key": lambda d: f"sk-{_of(ALNUM, 20)(d)}T3BlbkFJ{_of(ALNUM, 20)(d)}",
    "openai project key": lambda d: f"sk-proj-{_of(URL64, 74)(d)}T3BlbkFJ{_of(URL64, 74)(d)}",
    "anthropic key": lambda d: f"sk-ant-api03-{_of(URL64, 93)(d)}AA",
    "openrouter key": _prefixed("sk-or-v1-", HEX, 64),
    "deepseek key": _prefixed("sk-", HEX, 32),
    "huggingface token": _prefixed("hf_", UPPER + LOWER, 34),
    "groq key": _prefixed("gsk_", ALNUM, 52),
    "perplexity key": _prefixed("pplx-", ALNUM, 48),
    "replicate token": _prefixed("r8_", ALNUM, 37),
    "xai key": _prefixed("xai-", ALNUM, 80),
    "nvidia key": _prefixed("nvapi-", URL64, 64),
    "npm token": _checked("npm_"),
    "pypi token": _pypi,
    "rubygems key": _prefixed("rubygems_", HEX, 48),
    "nuget key": _prefixed("oy2", LOWER + DIGITS, 43),
    "crates.io token": _prefixed("cio", ALNUM, 32),
    "docker token": _prefixed("dckr_pat_", URL64, 27),
    "digitalocean token": _prefixed("dop_v1_", HEX, 64),
    "heroku key": lambda d: "HRKU-AA" + _of(URL64, 58)(d),
    "fly token": lambda d: "fm2_" + _of(B64, 140)(d),
    "supabase key": _prefixed("sbp_", HEX, 40),
    "planetscale token": _prefixed("pscale_tkn_", URL64, 43),
    "twilio key": _prefixed("SK", HEX, 32),
    "sendgrid key": lambda d: f"SG.{_of(URL64, 22)(d)}.{_of(URL64, 43)(d)}",
    "mailgun key": _prefixed("key-", HEX, 32),
    "mailchimp key": lambda d: f"{_of(HEX, 32)(d)}-us{d.randrange(1, 22)}",
    "brevo key": lambda d: f"xkeysib-{_of(HEX, 64)(d)}-{_of(ALNUM, 16)(d)}",
    "facebook token": _prefixed("EAAC", ALNUM, 150),
    "shopify token": _prefixed("shpat_", HEX, 32),
    "square token": _prefixed("sq0atp-", URL64, 22),
    "plaid token": lambda d: f"access-production-{_uuid(d)}",
    "notion token": lambda d: f"ntn_{_of(DIGITS, 11)(d)}{_of(ALNUM, 35)(d)}",
    "airtable token": lambda d: f"pat{_of(ALNUM, 14)(d)}.{_of(HEX, 64)(d)}",
    "linear key": _prefixed("lin_api_", ALNUM, 40),
    "figma token": _prefixed("figd_", URL64, 40),
    "dropbox token": _prefixed("sl.", URL64, 135),
    "postman key": lambda d: f"PMAK-{_of(HEX, 24)(d)}-{_of(HEX, 34)(d)}",
    "hubspot token": lambda d: f"pat-na1-{_uuid(d)}",
    "new relic key": _prefixed("NRAK-", UPPER + DIGITS, 27),
    "sentry token": _prefixed("sntryu_", HEX, 64),
    "grafana token": _grafana,
    "databricks token": _prefixed("dapi", HEX, 32),
    "vault token": _prefixed("hvs.", URL64, 95),
    "terraform token": lambda d: f"{_of(ALNUM, 14)(d)}.atlasv1.{_of(URL64, 67)(d)}",
    "pulumi token": _prefixed("pul-", HEX, 40),
    "doppler token": _prefixed("dp.pt.", ALNUM, 43),
    "1password key": lambda d: "A3-" + "-".join(_of(UPPER + DIGITS, n)(d) for n in (6, 6, 5, 5, 5, 5)),
    "age key": _prefixed("AGE-SECRET-KEY-1", BECH32, 58),
    "artifactory token": _prefixed("AKCp", ALNUM, 69),
    "tailscale key": lambda d: f"tskey-auth-k{_of(ALNUM, 11)(d)}-{_of(ALNUM, 32)(d)}",
    "openshift token": _prefixed("sha256~", URL64, 43),
    "web token": _jwt,
    "wallet key": _wif,
    "bcrypt hash": lambda d: "$2b$12$" + _of(ALNUM + "./", 53)(d),
    "card number": _card,
    "bank account": _account,
    "bitlocker key": _bitlocker,
    "numbered seed phrase": _seed,
    "rsa key": _pem("RSA PRIVATE KEY"),
    "ssh key": _pem("OPENSSH PRIVATE KEY"),
    "pgp key": _pem("PGP PRIVATE KEY BLOCK"),
}
"""Formats that a value bears on itself."""

LABELLED: dict[str, tuple[str, Callable[[Random], str]]] = {
    # the line, in which {} stands for the value
    "aws secret key": ("aws_secret_access_key = {}", _of(B64, 40)),
    "datadog key": ("DD_API_KEY={}", _of(HEX, 32)),
    "cloudflare key": ("cloudflare api token: {}", _of(URL64, 40)),
    "heroku uuid key": ("HEROKU_API_KEY={}", _uuid),
    "twilio auth token": ("twilio auth token is {}", _of(HEX, 32)),
    "bearer header": ("Authorization: Bearer {}", _of(ALNUM, 40)),
    "basic header": ("Authorization: Basic {}", lambda d: base64.b64encode(b"anna:" + d.randbytes(12)).decode()),
    "api key header": ('curl -H "X-API-Key: {}" https://api.example.org', _of(HEX, 40)),
    "json secret": ('{{"client_id": "anna", "client_secret": "{}"}}', _of(ALNUM, 32)),
    "postgres address": ("postgresql://anna:{}@db.example.org:5432/app", _of(ALNUM, 16)),
    "mongodb address": ("mongodb+srv://anna:{}@cluster0.example.mongodb.net/?w=majority", _of(ALNUM, 18)),
    "redis address": ("redis://:{}@cache.example.org:6379/0", _of(ALNUM, 24)),
    "ado string": ("Server=db;Database=app;User Id=sa;Password={};Encrypt=true", password),
    "netrc": ("machine example.org login anna password {}", password),
    "yaml password": ("password: {}", password),
    "env password": ("export DB_PASSWORD={}", password),
    "spoken password": ("the wifi password at the cabin is {}", password),
    "german password": ("Das Passwort für den Router lautet {}", password),
    "spanish password": ("contraseña: {}", password),
    "flag": ("deploy --token {} --force", _of(ALNUM, 32)),
    "query token": ("https://example.org/feed?user=anna&access_token={}", _of(ALNUM, 32)),
    "signed address": (
        "https://bucket.s3.amazonaws.com/a.pdf?X-Amz-Expires=300&X-Amz-Signature={}&X-Amz-SignedHeaders=host",
        _of(HEX, 64),
    ),
    "wireguard": ("PrivateKey = {}", lambda d: base64.b64encode(d.randbytes(32)).decode()),
    "one-time password": ("otpauth://totp/Example:anna?secret={}&issuer=Example", _of(UPPER + "234567", 32)),
    "seed phrase": (
        "seed phrase: {}",
        lambda d: " ".join(d.choice([w for w in WORDS.split() if len(w) > 2]) for _ in range(12)),
    ),
    "pin": ("PIN: {}", _of(DIGITS, 4)),
    "rails secret": ("secret_key_base: {}", _of(HEX, 128)),
    "session cookie": ("Cookie: theme=dark; sessionid={}", _of(LOWER + DIGITS, 32)),
    "express cookie": (
        "Cookie: theme=dark; connect.sid={}; a=b",
        lambda d: f"s%3A{_of(URL64, 32)(d)}.{_of(B64, 43)(d)}",
    ),
    "google cookie": ("__Secure-1PSID={}; path=/", _of(URL64, 70)),
    "wifi text": (
        "WIFI:S:Harbour\\; Office;T:WPA;P:{};H:false;;",
        lambda d: password(d) + "\\;x\\:y" + _of(ALNUM, 4)(d),
    ),
    "pgpass": ("db.example.org:5432:app:anna:{}", lambda d: password(d) + "\\:" + _of(ALNUM, 6)(d)),
    "signs of a shell": (
        "Server=db;Password={};Encrypt=true",
        lambda d: f"{_of(ALNUM, 6)(d)}4&{_of(ALNUM, 4)(d)}'{_of(ALNUM, 4)(d)}",
    ),
    "recovery codes": ("GitHub recovery codes: {}", _listed),
    "backup codes": ("## Backup codes\n\n- {}\n\nkept since May", lambda d: "\n- ".join(codes(d))),
}
"""Formats that only the words around a value tell."""

LINES = (
    "{}",
    "the new one is {} and works since Monday",
    "- 14:30 pasted from the terminal: {}",
    "export TOKEN={}",
    "`{}`",
    "| service | {} | rotates in May |",
    '{{"value":"{}"}}',
    "use ({}).",
    "**{}**",
    "see [[Accounts]] → {} #ops",
)
"""Where a value that is known by its shape may stand."""


SENTENCES = {
    "en": "the new one is {} and it works since Monday",
    "de": "der neue ist {} und geht seit Montag",
    "fr": "le nouveau est {} et marche depuis lundi",
    "es": "el nuevo es {} y funciona desde el lunes",
    "it": "quello nuovo è {} e funziona da lunedì",
    "pt": "o novo é {} e funciona desde segunda",
    "nl": "de nieuwe is {} en werkt sinds maandag",
}
"""Where a value may stand, in seven languages."""

NAMED = {
    "en": ("the wifi password", " is ", " and the other one is ", "recovery codes"),
    "de": ("Das Passwort vom Router", " lautet ", " und das andere ist ", "Wiederherstellungscodes"),
    "fr": ("le mot de passe du wifi", " est ", " et l'autre est ", "codes de récupération"),
    "es": ("la contraseña del wifi", " es ", " y la otra es ", "códigos de recuperación"),
    "it": ("la password del wifi", " è ", " e l'altra è ", "codici di recupero"),
    "pt": ("a senha do wifi", " é ", " e a outra é ", "códigos de recuperação"),
    "nl": ("het wachtwoord van de wifi", " is ", " en het andere is ", "herstelcodes"),
}
"""The words for a password, what leads on to it and to a second one, and the words for codes."""


def remains(text: str, value: str, masked: str) -> set[str]:
    """Four signs in a row of a value that are still there, but for those that the text around it holds."""
    around = text.replace(value, "\0")
    value = re.sub(r"^(?:https://\S*?(?:services|webhooks)/|AccountName=\w+;AccountKey=)", "", value)  # not secret
    shown = re.sub(r"\(masked [a-z0-9 .-]*\)", "\0", masked)
    parts = {value[at : at + 4] for at in range(len(value) - 3)}
    return {part for part in parts if part in shown and part not in around and not re.search(r"\s", part)}


def credentials(seed: int = 1, each: int = 1) -> Iterator[tuple[str, str, str]]:
    """Format, the value that must not be left anywhere, and a text that holds it; ``each`` of every format."""
    dice = Random(seed)
    for round_ in range(each):
        for number, (name, make) in enumerate(SHAPED.items()):
            value = make(dice)
            line = LINES[(number + round_) % len(LINES)] if "\n" not in value else "{}"
            yield name, value, line.format(value)
        for name, (line, make) in LABELLED.items():
            value = make(dice)
            yield name, value, line.format(value)
