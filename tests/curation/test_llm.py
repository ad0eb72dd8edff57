"""A provider asked over real HTTP: what leaves, what comes back, and that nothing lasts longer than allowed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation import loopback, warm
from curation.loopback import Loopback, drip, error, flood, good, hang, packed, raw, redirect, refusing
from tars_memory import testing
from tars_memory.curation.models import llm, provider
from tars_memory.curation.models.dialogues import Dialogue
from tars_memory.curation.models.llm import ProviderModel, ReplyError
from tars_memory.disk import Places
from tars_memory.errors import ModelUnavailableError, TarsError, UsageError, installing
from tars_memory.settings import LlmOptions, Settings

PROMPT = llm.Prompt("extract", "the rules", "the material", {"type": "object", "properties": {}}, 64)
ANSWER = '{"facts": []}'


@pytest.fixture(autouse=True)
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of :data:`ASKS` start their process as it is started in earnest; the tests fork theirs."""
    warm.install(monkeypatch)


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback([good(ANSWER)]) as running:
        yield running


@pytest.fixture(scope="module")
def shared(server: Loopback) -> Iterator[ProviderModel]:
    """One asking process for many tests; each of them is given it without anything spent."""
    model = ProviderModel("openai/scripted", LlmOptions(endpoint=server.url, timeout=300.0))
    yield model
    model.close()


@pytest.fixture
def model(shared: ProviderModel, server: Loopback) -> ProviderModel:
    server.says([good(ANSWER)])
    shared.spent = llm.Spent()
    shared._options = LlmOptions(endpoint=server.url, timeout=300.0)
    return shared


def failure(model: ProviderModel, prompt: llm.Prompt = PROMPT) -> str:
    with pytest.raises(ModelUnavailableError) as caught:
        model.complete(prompt)
    assert caught.value.exit_code == 7
    assert caught.value.hint
    assert len(caught.value.message) < 500
    assert caught.value.message.isprintable()
    return caught.value.message


def test_it_sends_the_prompt_with_a_schema_and_counts(model: ProviderModel, server: Loopback) -> None:
    found = model.complete(PROMPT)
    assert found == llm.Completion(ANSWER, "scripted-1", 100, 10, None, cut=False)
    assert model.spent == llm.Spent(1, 110, 0.0)
    sent = server.requests[0].body
    assert sent["model"] == "scripted"
    assert [message["content"] for message in sent["messages"]] == ["the rules", "the material"]
    assert sent["response_format"]["type"] == "json_schema"
    assert sent["response_format"]["json_schema"]["schema"] == PROMPT.schema
    assert sent["max_tokens"] == 64
    assert server.requests[0].headers["Authorization"] == "Bearer none"
    assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize(
    ("refused", "asked"),
    [
        (("json_schema",), ["json_schema", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", None]),
        (("json_schema", "json_object", "temperature"), ["json_schema", "json_object", None, None]),
    ],
)
def test_it_goes_down_the_ladder_of_what_a_provider_knows(
    server: Loopback, refused: tuple[str, ...], asked: list[str | None]
) -> None:
    server.says([refusing(*refused, then=ANSWER)])
    model = ProviderModel("openai/scripted", LlmOptions(endpoint=server.url, timeout=300.0))
    assert model.complete(PROMPT).text == ANSWER
    assert model.complete(PROMPT).text == ANSWER
    model.close()
    kinds = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert kinds == [*asked, asked[-1]]  # the second call begins on the rung that bore
    assert ("temperature" in server.requests[-1].body) == ("temperature" not in refused)


@pytest.mark.parametrize(
    "first",
    [
        error(429, retry_after="0"),
        error(500, retry_after="0"),
        error(503, retry_after="0"),
        loopback.cut,
        loopback.slam,
    ],
)
def test_what_passes_is_asked_again(model: ProviderModel, server: Loopback, first: loopback.Answer) -> None:
    server.says([first, good(ANSWER)])
    assert model.complete(PROMPT).text == ANSWER
    assert len(server.requests) == 2


def test_it_gives_up_after_some_tries(model: ProviderModel, server: Loopback) -> None:
    server.says([error(503, "down for today", retry_after="0")])
    assert failure(model) == "openai/scripted can't be asked (HTTP 503): down for today"
    assert len(server.requests) == 1 + provider.RETRIES


def test_it_does_not_wait_longer_than_it_may(model: ProviderModel, server: Loopback) -> None:
    server.says([error(429, "come back tomorrow", retry_after="86400")])
    assert "come back tomorrow" in failure(model)
    assert len(server.requests) == 1


CHAT = json.loads(loopback.completion(ANSWER))
BROKEN: dict[str, loopback.Answer] = {
    "a web page": raw(b"<!DOCTYPE html><title>Welcome</title>"),
    "nothing": raw(b"", kind="application/json"),
    "no content": raw(b"", 204),
    "null": raw(b"null", kind="application/json"),
    "a list": raw(b"[]", kind="application/json"),
    "cut-off JSON": raw(loopback.completion(ANSWER)[:90], kind="application/json"),
    "deep JSON": raw(b"[" * 200_000, kind="application/json"),
    "no choices": raw(json.dumps(CHAT | {"choices": []}).encode(), kind="application/json"),
    "choices of another kind": raw(json.dumps(CHAT | {"choices": {"a": 1}}).encode(), kind="application/json"),
    "a number for words": good(3),
    "no UTF-8": raw(b'{"choices": "\xff\xfe"}', kind="application/json"),
    "usage of another kind": good(ANSWER, prompt_tokens="many"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_answer_of_another_shape_is_said_to_be_one(model: ProviderModel, server: Loopback, name: str) -> None:
    server.says([BROKEN[name]])
    message = failure(model)
    assert "not as a language model does" in message
    assert "Traceback" not in message
    assert "site-packages" not in message
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_said_with_the_servers_words(model: ProviderModel, server: Loopback, status: int) -> None:
    server.says([error(status, "no such model\x1b[31m\u202e")])
    assert failure(model).startswith(f"openai/scripted can't be asked (HTTP {status}): no such model")
    server.says([good(ANSWER)])
    assert model.complete(PROMPT).text == ANSWER
    assert "response_format" in server.requests[0].body  # a failure did not lead down the ladder for good


@pytest.mark.parametrize(
    "answer",
    [loopback.lengthy(1_000_000), flood, packed(80_000_000)],
    ids=["14 MB", "without end", "compressed"],
)
def test_a_far_too_long_answer_is_left(model: ProviderModel, server: Loopback, answer: loopback.Answer) -> None:
    server.says([answer])
    assert failure(model) == "openai/scripted can't be asked: its answer is far too long"
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_nothing_is_sent_on_to_another_place(model: ProviderModel, server: Loopback, status: int) -> None:
    with Loopback([good(ANSWER)]) as elsewhere:
        server.says([redirect(f"{elsewhere.url}/chat/completions", status)])
        assert "redirects to" in failure(model)
        assert elsewhere.requests == []


@pytest.mark.parametrize("text", [None, "", "   "])
def test_no_words_are_an_empty_text(model: ProviderModel, server: Loopback, text: str | None) -> None:
    server.says([good(text)])
    assert model.complete(PROMPT).text.strip() == ""


def test_a_wrong_content_type_is_no_matter(model: ProviderModel, server: Loopback) -> None:
    server.says([raw(loopback.completion(ANSWER), kind="text/plain")])
    assert model.complete(PROMPT).text == ANSWER


def test_a_cut_answer_says_so(model: ProviderModel, server: Loopback) -> None:
    server.says([good('{"facts": [', finish="length")])
    assert model.complete(PROMPT).cut


@pytest.mark.parametrize("answer", [hang, drip], ids=["hangs", "drips"])
def test_the_wall_clock_holds_and_the_next_call_works(server: Loopback, answer: loopback.Answer) -> None:
    model = ProviderModel("openai/scripted", LlmOptions(endpoint=server.url, timeout=1.0))
    model.prices()  # litellm is imported by now
    server.says([answer])
    assert failure(model) == "openai/scripted did not answer within 1 s"
    server.says([good(ANSWER)])
    model._options = LlmOptions(endpoint=server.url, timeout=300.0)
    assert model.complete(PROMPT).text == ANSWER
    model.close()


ASKS = """
import os, sys, time
from tars_memory.curation.models import llm
from tars_memory.curation.models.llm import ProviderModel
from tars_memory.settings import LlmOptions
model = ProviderModel("openai/scripted", LlmOptions(endpoint=sys.argv[1], timeout=float(sys.argv[2])))
model.prices()
print(model._process._child.pid, flush=True)
for _ in range(int(sys.argv[3])):
    try:
        print(model.complete(llm.Prompt("extract", "rules", "material", {"type": "object"}, 64)).text, flush=True)
    except Exception as error:
        print(error, flush=True)
"""


def asking(server: Loopback, timeout: float, times: int = 1, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ASKS, server.url, str(timeout), str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def gone(pid: int) -> bool:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.prove
def test_a_program_that_was_left_hanging_exits_cleanly(server: Loopback) -> None:
    server.says([drip])
    program = asking(server, 1)
    assert program.stdout is not None
    pid = int(program.stdout.readline())
    out, err = program.communicate(timeout=120)
    assert "did not answer within 1 s" in out
    assert (err, program.returncode) == ("", 0)
    assert gone(pid)


WATCH = """
import sys
def watch(event, args, out=open({log!r}, "a", buffering=1)):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        out.write(f"{{event}} {{args[0] if event == 'socket.getaddrinfo' else args[1]}}\\n")
    elif event == "open" and isinstance(args[0], str):
        writes = (isinstance(args[1], str) and set(args[1]) & set("wax+")) or (args[2] or 0) & 3
        out.write(f"{{'write' if writes else 'read'}} {{args[0]}}\\n")
sys.addaudithook(watch)
"""


def test_as_it_is_started_it_speaks_to_the_endpoint_alone_and_ends_with_the_program_that_is_killed(
    server: Loopback, tmp_path: Path
) -> None:
    """And no ``.env`` is read, nothing is written."""
    log = tmp_path / "log"
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(WATCH.format(log=str(log)))
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / ".env").write_text("OPENAI_API_KEY=sk-of-a-stranger\nLITELLM_LOG=DEBUG\n")
    (tmp_path / "here" / "litellm.py").write_text("raise SystemExit('a stranger was imported')")
    server.says([good(ANSWER), drip])
    (tmp_path / "tmp").mkdir()
    places = {"HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path / "hook"), "TMPDIR": str(tmp_path / "tmp")}
    env = {**os.environ, **places}
    env = {name: value for name, value in env.items() if "proxy" not in name.lower()}
    program = asking(server, 300, times=2, cwd=tmp_path / "here", env=env)
    assert program.stdout is not None
    pid = int(program.stdout.readline())
    assert program.stdout.readline() == f"{ANSWER}\n"
    while len(server.requests) < 2:
        time.sleep(0.05)
    program.kill()
    program.wait()
    assert program.communicate() == ("", "")
    assert gone(pid)
    seen = log.read_text().split("\n")
    spoken = {line for line in seen if line.startswith("socket")}
    port = int(server.url.rpartition(":")[2].split("/")[0])
    assert f"socket.connect ('127.0.0.1', {port})" in spoken
    assert {line for line in spoken if "127.0.0.1" not in line} == set()
    assert [line for line in seen if line.endswith(".env")] == []
    written = {line for line in seen if line.startswith("write") and not line.endswith((".pyc", "/dev/null", str(log)))}
    assert {line for line in written if "__pycache__" not in line and str(tmp_path / "tmp") not in line} == set()
    left = {path.name for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert left == {"log", "sitecustomize.py", ".env", "litellm.py"}
    assert server.requests[0].headers["Authorization"] == "Bearer none"


def test_only_the_key_that_was_given_goes_to_an_endpoint(server: Loopback) -> None:
    server.says([good(ANSWER)])
    env = {**os.environ, "OPENAI_API_KEY": "sk-for-openai-alone-000000", "OPENAI_ORGANIZATION": "org-mine"}
    model = ProviderModel("openai/scripted", LlmOptions(endpoint=server.url, timeout=300.0), env)
    model.complete(PROMPT)
    model.close()
    sent = str(server.requests[0].headers)
    assert "sk-for-openai-alone" not in sent
    assert "org-mine" not in sent


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("groq/llama-3.1-8b-instant", "GROQ_API_KEY"),
        ("gemini/gemini-2.5-flash", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    ],
)
def test_without_a_key_it_says_which_variable_to_set(name: str, variable: str) -> None:
    """Nothing is sent, so that it is the same without a network."""
    env = {key: value for key, value in os.environ.items() if not key.endswith(("_KEY", "_TOKEN"))}
    model = ProviderModel(name, LlmOptions(), {**env, "GROQ_API_KEY": ""})
    with pytest.raises(ModelUnavailableError) as caught:
        model.complete(PROMPT)
    model.close()
    assert caught.value.message == f"{name} needs a key, and {variable} is not set; nothing was sent"
    assert f"set {variable} in the environment, or [llm] key" in caught.value.hint
    assert caught.value.exit_code == 7


def test_a_key_under_another_name_of_the_provider_is_left_to_the_provider() -> None:
    for key, missing in (("", ["TOGETHERAI_API_KEY"]), ("abc", [])):
        model = ProviderModel("together_ai/x", LlmOptions(), {**os.environ, "TOGETHER_API_KEY": key})
        model.prices()
        assert model._missing == missing
        model.close()


def test_a_key_is_never_part_of_a_message(server: Loopback) -> None:
    def echoing(exchange: loopback.Exchange) -> None:
        error(401, f"bad key {exchange.headers['authorization']}")(exchange)

    server.says([echoing])
    options = LlmOptions(endpoint=server.url, timeout=300.0, key="quite-plain-words-as-a-key")
    model = ProviderModel("a-model-litellm-never-heard-of", options)
    message = failure(model)
    model.close()
    assert server.requests[0].headers["Authorization"] == "Bearer quite-plain-words-as-a-key"
    assert server.requests[0].body["model"] == "a-model-litellm-never-heard-of"
    assert "plain-words" not in message
    assert "[masked]" in message


def test_credentials_are_masked_before_they_leave(model: ProviderModel, server: Loopback) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    model.complete(PROMPT._replace(user=f"my token is {key}", system=f"and {key}"))
    assert key.encode() not in server.requests[0].data
    assert b"masked" in server.requests[0].data


@pytest.mark.parametrize(
    ("caps", "named"),
    [({"max_calls": 1}, "llm.max_calls"), ({"max_tokens": 170}, "llm.max_tokens"), ({"max_calls": 0}, "llm.max_calls")],
)
def test_caps_are_checked_before_each_call(
    model: ProviderModel, server: Loopback, caps: dict[str, int], named: str
) -> None:
    model._options = LlmOptions(endpoint=server.url, timeout=300.0, **caps)
    if caps.get("max_calls") != 0:
        model.complete(PROMPT)
    sent = len(server.requests)
    assert named in failure(model)
    assert len(server.requests) == sent


def test_the_cost_is_known_and_capped(server: Loopback) -> None:
    server.says([good(ANSWER, prompt_tokens=1_000_000, completion_tokens=0)])
    model = ProviderModel(
        "openai/gpt-4o-mini", LlmOptions(endpoint=server.url, timeout=300.0, max_cost=0.1, max_tokens=9_000_000)
    )
    tokens, cost = llm.estimate(PROMPT, model)
    assert tokens == 6
    assert cost is not None
    assert 0 < cost < 0.01
    assert server.requests == []
    found = model.complete(PROMPT)
    assert found.cost is not None
    assert found.cost > 0.1
    assert "llm.max_cost" in failure(model)
    model.close()
    assert len(server.requests) == 1


def test_to_know_the_cost_nothing_is_sent(server: Loopback) -> None:
    server.says([good(ANSWER)])
    for name, prices in (("ollama_chat/tiny", (0.0, 0.0)), ("openai/scripted", None)):
        model = ProviderModel(name, LlmOptions(endpoint=server.url, timeout=300.0))
        assert model.prices() == prices
        model.close()
    assert server.requests == []


def test_a_server_that_counts_too_little_does_not_widen_the_caps(model: ProviderModel, server: Loopback) -> None:
    server.says([good("words " * 1000, prompt_tokens=-(10**12), completion_tokens=-5)])
    found = model.complete(PROMPT)
    assert found.prompt_tokens > 0
    assert found.completion_tokens > 500


def test_without_litellm_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings({"TARS_MEMORY_LLM_MODEL": "ollama/tiny"}, Places.of({"TARS_MEMORY_HOME": str(tmp_path)}))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ModelUnavailableError, match="needs litellm") as caught:
        llm.open_llm(settings, "extract")
    assert caught.value.hint == installing("llm")


def test_a_model_nobody_knows_is_said_without_asking_anyone() -> None:
    model = ProviderModel("never-heard-of", LlmOptions(timeout=300.0))
    assert failure(model) == "litellm doesn't know the model 'never-heard-of'"


def settings_of(tmp_path: Path, **env: str) -> Settings:
    values = {f"TARS_MEMORY_LLM_{name.upper()}": value for name, value in env.items()}
    return Settings(values, Places.of({"TARS_MEMORY_HOME": str(tmp_path)}))


def test_the_model_of_a_job_comes_from_the_settings(tmp_path: Path) -> None:
    assert llm.open_llm(settings_of(tmp_path), "extract") is None
    settings = settings_of(tmp_path, model="ollama/one", review_model="ollama/two", endpoint="http://localhost:1")
    for job, given, name in (("extract", "", "ollama/one"), ("review", "", "ollama/two"), ("tidy", "x/y", "x/y")):
        opened = llm.open_llm(settings, job, model=given)
        assert opened is not None
        assert (opened.name, opened.endpoint) == (name, "http://localhost:1")
    with pytest.raises(UsageError, match="not an address"):
        llm.open_llm(settings_of(tmp_path, model="ollama/one", endpoint="localhost:1"), "extract")


def number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ReplyError("it is not a number") from None


def test_an_unusable_answer_is_asked_for_once_more_with_the_readers_words() -> None:
    model = testing.ScriptedLLM(["seven", "7"])
    assert Dialogue(PROMPT, number).ask(model) == 7
    assert model.prompts[0] == PROMPT
    assert "could not be used: it is not a number" in model.prompts[1].user
    assert model.prompts[1].user.startswith("the material")
    assert model.spent.calls == 2


def test_two_unusable_answers_are_the_end() -> None:
    model = testing.ScriptedLLM(["seven", "eight", "9"])
    with pytest.raises(ModelUnavailableError, match="no usable answer: it is not a number; nothing was written"):
        Dialogue(PROMPT, number).ask(model)
    assert len(model.prompts) == 2


def test_a_cut_answer_is_asked_for_once_more_and_what_can_be_read_is_not_lost(
    model: ProviderModel, server: Loopback
) -> None:
    server.says([good("1", finish="length"), good("2")])
    assert Dialogue(PROMPT, number).ask(model) == 2
    assert "cut off" in server.requests[1].user
    server.says([good("1", finish="length"), good("what")])
    assert Dialogue(PROMPT, number).ask(model) == 1


def test_a_reply_out_of_a_file_is_read_once_in_order() -> None:
    reply = llm.Reply(["1", "two"])
    assert Dialogue(PROMPT, number).ask(reply) == 1
    for _ in range(2):
        with pytest.raises(TarsError):
            Dialogue(PROMPT, number).ask(reply)


def test_tokens_of_other_scripts_are_not_taken_for_few() -> None:
    assert llm.tokens("") == 0
    assert llm.tokens("four") == 1
    assert llm.tokens("好好学习") == 4
