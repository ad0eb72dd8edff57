"""What is a credential and what is none, and that a text without them reads on."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.seeded import LABELLED, SHAPED, credentials
from tars_memory.suspicion import suspicious
from tars_memory.vault.secrets import credentials as table
from tars_memory.vault.secrets.masking import find, mask, veil

SECRETS = {
    "password: hunter22": "hunter22",
    "the wifi password at home is Sunflower42": "Sunflower42",
    "password: correct-horse-battery-staple": "correct-horse-battery-staple",
    "DB_PASSWORD=s3cr3t!x": "s3cr3t!x",
    'api_key = "abcd1234efgh5678"': "abcd1234efgh5678",
    "Authorization: Bearer abcdef1234567890": "abcdef1234567890",
    "Authorization: Basic dXNlcjpwYXNzd29yZA==": "dXNlcjpwYXNzd29yZA==",
    "curl -u anna:geheim123 https://example.org": "geheim123",
    "postgres://u:p@ss@host/db": "p@ss",
    "mysql -uroot -pGeheim12 db": "Geheim12",
    "Heroku API key: 550e8400-e29b-41d4-a716-446655440000": "550e8400-e29b-41d4-a716-446655440000",
    "my card 4111 1111 1111 1111 ok": "4111 1111 1111 1111",
    "PIN for the door is 4821": "4821",
    "api key is 9f86d081884c7d659a2feaa0c55ad015": "9f86d081884c7d659a2feaa0c55ad015",
    "here is my api key AbC123dEf456GhI789jKl012": "AbC123dEf456GhI789jKl012",
    "--password Hunter2x": "Hunter2x",
    "datadog: 9f86d081884c7d659a2feaa0c55ad015": "9f86d081884c7d659a2feaa0c55ad015",
    '{"client_secret": "q8Zr2LmN0pXcVbT7", "x": 1}': "q8Zr2LmN0pXcVbT7",
    "Server=x;User Id=sa;Password=Gr3at!Pass;Encrypt=true": "Gr3at!Pass",
    "https://x.example/?token=abc123def456ghi7&x=1": "abc123def456ghi7",
    "Passwort lautet Sommer2024!": "Sommer2024!",
    "Das WLAN-Passwort lautet FjYqdEkW": "FjYqdEkW",
    "パスワードはuZ3kQ9wLmP4xです。": "uZ3kQ9wLmP4x",
    "パスワードは「uZ3kQ9wLmP4x」です": "uZ3kQ9wLmP4x",
    "密码是uZ3kQ9wLmP4x，别告诉别人": "uZ3kQ9wLmP4x",
    "비밀번호는 uZ3kQ9wLmP4x입니다": "uZ3kQ9wLmP4x",
    "Пароль — uZ3kQ9wLmP4x": "uZ3kQ9wLmP4x",
    "my wifi password is nRwXPukFKsMq": "nRwXPukFKsMq",
    "gh\u200bp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789": "AbCdEfGhIjKl",
}

NONE = (
    "my password manager is KeePassXC",
    "the password is KeePassXC's, not WhatsApp's",
    "my password is secret",
    "Password: see 1Password",
    "password: required",
    "the password is case-sensitive and 12 characters long",
    "Passwort: steht im Tresor",
    "パスワードは秘密です",
    "密码是什么",
    "Password – see the safe",
    "token: 2026-11-21",
    "primary key: 550e8400-e29b-41d4-a716-446655440000",
    "session: 550e8400-e29b-41d4-a716-446655440000",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b fixes token refresh",
    "fix token refresh in 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "the key: C# minor, the passage: about 12 people",
    "token = get_token(user1)",
    "api_key = os.environ['API_KEY']",
    "ISBN 978-3-16-148410-0 and phone +353 21 427 1234",
    "- 14:30 [promoted] Anna moves to Cork ^d-7f3ak2c",
    "IBAN DE89 3704 0044 0532 0130 00",
    "the secret of good bread: time, 24 h at 5 °C",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7v2 anna@host",
)


@pytest.mark.parametrize(("text", "value"), SECRETS.items())
def test_a_credential_is_masked_and_the_rest_stays(text: str, value: str) -> None:
    masked = mask(text)
    assert value not in masked
    assert "(masked " in masked
    assert mask(masked) == masked
    (found,) = find(text)
    assert masked == f"{text[: found.start]}(masked {found.kind}){text[found.end :]}"


@pytest.mark.parametrize("text", NONE)
def test_ordinary_text_holds_none(text: str) -> None:
    assert find(text) == []
    assert mask(text) is text


@pytest.mark.parametrize("ending", ["-----END RSA PRIVATE KEY-----", ""])
def test_a_private_key_goes_whole_and_veiled_lines_stay_where_they_are(ending: str) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7bq\n" * 3 + ending
    text = f"before\n{key}\n\n# after"
    assert "MIIE" not in mask(text)
    veiled = veil(text)
    assert "MIIE" not in veiled
    assert veiled.split("\n")[0] == "before"
    assert veiled.split("\n").index("# after") == text.split("\n").index("# after")
    assert mask(" ".join(text.split("\n"))).endswith("# after")


@given(st.text(max_size=200))
def test_any_text_can_be_masked_and_twice_is_once(text: str) -> None:
    assert mask(mask(text)) == mask(text)
    assert veil(text).count("\n") == text.count("\n")


UNITS = (
    "password=", "pw: ", "api key ", 'token="', "secret is a b ", "sk-", "eyJ.", "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nAAAA", "a://b:", "4111 ", "datadog a b c ", "mysql -pa", "curl -u ", "abandon ", "A",
    "g\u200bh", "glpat-", "M" + "a" * 25 + ".",
)  # fmt: skip
"""What a pattern may begin with, or be led astray by."""


@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear_in_the_text(unit: str) -> None:
    def took(size: int) -> float:
        text = unit * (size // len(unit))
        begun = process_time()
        find(text)
        return process_time() - begun

    took(1000)  # compiles
    assert took(80_000) < 10 * max(took(10_000), 0.005) + 0.2


def test_a_line_of_a_megabyte_is_read_in_seconds() -> None:
    text = "x" * 500_000 + " token " + "y1" * 250_000
    begun = process_time()
    find(text)
    assert process_time() - begun < 5


@pytest.mark.parametrize("where", ["{}", "key {} end", "a\n{}\nb", '"{}"', "<{}>", "[[{}]]", "\u200b{}\u200b"])
def test_every_format_is_masked_wherever_it_stands(where: str) -> None:
    for name, value, _ in (one for one in credentials(seed=5) if one[0] in SHAPED):
        masked = mask(where.format(value))
        assert not any(line in masked for line in value.split("\n") if len(line) > 3), name
        assert mask(masked) == masked, name


def test_values_beside_a_word_are_masked() -> None:
    for name, value, text in (one for one in credentials(seed=6, each=5) if one[0] in LABELLED):
        assert value not in mask(text), name


def test_the_first_look_passes_over_nothing() -> None:
    for _, _, text in credentials(seed=9, each=3):
        assert suspicious(text)
    words = (
        *table.STRONG.split(),
        *table.SPOKEN,
        *(word for group in table.MEDIUM for word in group.split("|")),
        "key",
    )
    assert [word for word in words if not suspicious(f"my {word}: x")] == []
    assert [text for text in SECRETS if not suspicious(text)] == []
    assert not suspicious("- 14:30 met Anna at the harbour, 3 km\n\tfrom here")
