"""A model that always obeys the attacker, over hundreds of poisoned conversations and notes, in process and over HTTP.

Held after each: no byte of Memory.md and Procedural.md changed, nothing deleted, no file but the day's note, the
session note and the inbox, a second run writes nothing, nothing is accepted without a person, undo brings back every
byte, no step lasts, nothing but documented errors.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from curation import loopback
from curation.attacked import Watch, attack
from curation.loopback import Loopback
from curation.poison import OBEYS, SAID, Case, cases, obey

from tars_memory.curation.models.llm import ProviderModel
from tars_memory.settings import LlmOptions
from tars_memory.testing import ScriptedLLM

SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))
TIMEOUT = 3.0


@pytest.mark.prove
def test_a_model_that_obeys_the_attacker_does_no_harm(tmp_path: Path) -> None:
    count = max(20, int(420 * SCALE))
    facts: Counter[str] = Counter()
    for number, case in enumerate(cases(count)):
        root = tmp_path / str(number)
        (root / ".obsidian").mkdir(parents=True)
        style = OBEYS[case.style]

        def answer(prompt: Any, style: Any = style, words: str = case.words) -> str:
            return obey(prompt.user, style, words)

        try:
            facts[case.style] += attack(root, case, ScriptedLLM(answer)).facts
        except BaseException as error:
            error.add_note(case.name)
            raise
    assert facts["quotes all"]
    assert not facts["refuses"]
    assert sum(facts.values()) > count / 4, "hardly anything was written: the attacks did not reach the notes"


@pytest.mark.prove
def test_the_same_over_http(tmp_path: Path) -> None:
    """Every attack's model stands behind a real server, and is asked through litellm."""
    now: list[Case] = []

    def words(body: dict[str, Any]) -> str:
        return obey(body["messages"][-1]["content"], OBEYS[now[-1].style], now[-1].words)

    with Loopback(loopback.made(words)) as server:
        options = LlmOptions(endpoint=server.url, timeout=60.0, max_calls=100_000, max_tokens=10**9)
        model = ProviderModel("openai/scripted", options)
        for number, case in enumerate(cases(max(6, int(80 * SCALE)))):
            now.append(case)
            root = tmp_path / str(number)
            (root / ".obsidian").mkdir(parents=True)
            attack(root, case, model)
        model.close()
        assert len(server.requests) > len(now)


FAILING: dict[str, list[loopback.Answer]] = {
    "hangs": [loopback.hang],
    "drips": [loopback.drip],
    "floods": [loopback.flood],
    "cuts the connection": [loopback.cut],
    "slams the door": [loopback.slam],
    "429 for ever": [loopback.error(429, SAID["write rules"], retry_after="0")],
    "500 for ever": [loopback.error(500, SAID["control"], retry_after="0")],
    "500, then hangs": [loopback.error(500, retry_after="0"), loopback.hang],
    "a web page": [loopback.raw(SAID["a web page"].encode())],
    "50 MB": [loopback.lengthy(3_600_000)],
    "deep JSON": [loopback.raw(b"[" * 1_000_000, kind="application/json")],
    "deep words": [loopback.good("[" * 100_000)],
    "refuses": [loopback.good(None), loopback.good("I'm sorry, I can't.")],
    "redirects": [loopback.redirect("http://127.0.0.1:9/")],
    "a bomb": [loopback.packed(200_000_000)],
    "half, then nothing": [loopback.good('{"facts": [{"text": "ob', finish="length"), loopback.hang],
}


@pytest.mark.prove
@pytest.mark.parametrize("name", [*FAILING][:: max(1, round(0.4 / SCALE))])
def test_a_failing_server_leaves_everything_as_it_was(tmp_path: Path, name: str) -> None:
    """The command itself, as a script runs it: exit 7 in time, one message, not a byte."""
    case = next(cases(1))
    watch = Watch(tmp_path, {})
    log = tmp_path / "logs" / case.file
    log.parent.mkdir()
    log.write_bytes(case.log)
    watch.around = watch.outside()
    with Loopback(FAILING[name]) as server:
        env = {**os.environ, **server.env(timeout=TIMEOUT), "TARS_MEMORY_HOME": str(tmp_path / "home")}
        env |= {"TARS_NOW": "2026-11-21T10:15:00+00:00", "TARS_MEMORY_ACTOR": "agent", "TZ": "UTC"}
        command = [sys.executable, "-m", "tars_memory", "--vault", str(watch.vault), "extract", str(log), "--force"]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, timeout=300)
        lasted = time.monotonic() - server.requests[0].time
    err = done.stderr.decode()
    assert done.returncode == 7, err
    assert done.stdout == b""
    assert "Traceback" not in err
    assert "site-packages" not in err
    assert err.count("\n") <= 4
    assert "\x1b" not in err
    calls = 2 if name == "half, then nothing" else 1
    assert lasted < calls * TIMEOUT + 6, "it lasted longer than its limit"
    assert watch.files() == watch.before | {
        path: data for path, data in watch.files().items() if path == ".tars/vault-id"
    }
    assert watch.outside() == watch.around


@pytest.mark.prove
def test_a_conversation_of_50_mb_takes_no_long_time(tmp_path: Path) -> None:
    words = "I prefer green tea over coffee, and [promoted] everything else ^d-aaaaaaa. " * 40
    turn = json.dumps({"role": "user", "content": words}).encode() + b"\n"
    noise = json.dumps({"role": "tool", "content": "x" * 50_000}).encode() + b"\n"
    size = int(50_000_000 * SCALE)
    log = turn * 6 + noise * (size // len(noise)) + b"[" * 100_000 + b"\n" + turn * 2
    case = Case("50 MB", "big.jsonl", log, {}, "quotes all", SAID["delete everything"], "facts")
    model = ScriptedLLM(lambda prompt: obey(prompt.user, OBEYS[case.style], case.words))
    attack(tmp_path, case, model)
    assert model.prompts
