"""Another agent on a task: a small one of our own, as a real process in the sandbox, before a scripted model server."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import atif
import pytest

from pool.lab.eval.harnesses import HarnessProblem, HarnessTask, harness_named, harnesses, run_harness
from pool.lab.eval.harnesses.description import Harness
from pool.lab.eval.harnesses.record import answer, conversation, figures, trajectory
from pool.lab.eval.harnesses.recorder import Exchange
from tests.agent.review.reviewer import Anew
from tests.cases.driver import MODEL, delta, finish, say, usage, whole

AGENT = """\
import json, os, pathlib, sys, urllib.request

base, prompt, hidden = sys.argv[1], pathlib.Path(sys.argv[2]).read_text(), sys.argv[3]


def ask(messages, stream):
    body = json.dumps({"model": os.environ["AGENT_MODEL"], "messages": messages, "stream": stream}).encode()
    headers = {"authorization": "Bearer " + os.environ["AGENT_KEY"], "content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(base + "/chat/completions", body, headers)) as reply:
        return reply.read().decode()


def seen(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return type(error).__name__


system = {"role": "system", "content": "You are small."}
ask([{"role": "system", "content": "Make a title."}, {"role": "user", "content": prompt}], True)
history = [system, {"role": "user", "content": prompt}]
ask(history, True)
pathlib.Path("made.txt").write_text(json.dumps([seen(hidden), os.environ["HOME"]]))
call = {"id": "c1", "type": "function", "function": {"name": "write", "arguments": '{"path": "made.txt"}'}}
history.append({"role": "assistant", "content": None, "tool_calls": [call]})
history.append({"role": "tool", "tool_call_id": "c1", "content": "ok"})
print(ask(history, True)[-20:])
"""


def harness(hidden: Path) -> Harness:
    command = (sys.executable, "{work}/agent.py", "{base_url}", "{prompt_file}", str(hidden))
    return Harness(
        "small", "", command, env={"AGENT_KEY": "{key}", "AGENT_MODEL": "{model}"}, files={"{home}/a/b": "{model}"}
    )


def task(tmp_path: Path, server: str, **more: Any) -> HarnessTask:
    work = tmp_path / "work"
    work.mkdir()
    (work / "agent.py").write_text(AGENT)
    return HarnessTask("-- Do it.", work, tmp_path / "home", f"{server}/v1", MODEL, "the-key", seconds=30.0, **more)


async def test_an_agent_is_run_recorded_and_confined(tmp_path: Path) -> None:
    """Its requests are counted and are ATIF; the server gets the user's key; hidden tests are not seen."""
    hidden = Path(__file__).parent
    title = say(delta(content="A title"), finish("stop"), usage(10, 2))
    calls = say(
        delta(reasoning_content="hm"), whole("write", "c1", path="made.txt"), finish("tool_calls"), usage(100, 9)
    )
    done = say(delta(content="so it is</think>All done."), finish("stop"), usage(120, 4))
    async with Anew(title, calls, done) as server:
        run = await run_harness(harness(hidden), task(tmp_path, server.url, hidden=(hidden,)))
        headers = {exchange.headers["authorization"] for exchange in server.chats}
    assert (run.ended, run.answer, run.sandbox) == ("completed", "All done.", "bubblewrap"), run
    assert headers == {"Bearer the-key"}
    assert all(body["stream_options"] == {"include_usage": True} for body in server.bodies)
    made, home = json.loads((tmp_path / "work" / "made.txt").read_text())
    assert made in ([], "PermissionError", "FileNotFoundError")
    assert home == str(tmp_path / "home")
    assert (tmp_path / "home" / "a" / "b").read_text() == MODEL
    counted = run.figures
    assert (counted.turns, counted.calls, counted.others, counted.failed) == (2, 1, 1, 0)
    assert (counted.prompt_tokens, counted.completion_tokens) == (230, 15)
    atif.Trajectory.model_validate(run.trajectory)
    steps: Any = run.trajectory["steps"]
    assert [step["source"] for step in steps] == ["system", "user", "agent", "agent"]
    assert steps[2]["tool_calls"][0]["arguments"] == {"path": "made.txt"}
    assert steps[2]["observation"]["results"] == [{"source_call_id": "c1", "content": "ok"}]
    assert steps[2]["reasoning_content"] == "hm"


async def test_the_limit_of_turns_ends_it(tmp_path: Path) -> None:
    calls = say(whole("write", "c1", path="made.txt"), finish("tool_calls"), usage(100, 9))
    async with Anew(calls, calls) as server:
        given = replace(task(tmp_path, server.url, most_turns=2), model="", server=server.url)
        run = await run_harness(harness(tmp_path), given)
    assert (run.model, {body["model"] for body in server.bodies}) == (MODEL, {MODEL})
    assert run.ended == "max_turns"
    assert len(server.bodies) == 2
    assert (run.figures.turns, run.figures.others) == (1, 1)


async def test_what_is_not_installed_is_said(tmp_path: Path) -> None:
    absent = Harness("absent", "", ("no-such-agent-here",))
    with pytest.raises(HarnessProblem, match="no program 'no-such-agent-here' on PATH"):
        await run_harness(absent, task(tmp_path, "http://127.0.0.1:9"))


def test_descriptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    known = harnesses()
    assert {"aider", "codex", "hermes", "mini", "opencode", "qwen", "vibe"} <= set(known)
    values = {"prompt": '-x "q"\n', "prompt_file": "/p", "base_url": "http://h/v1", "model": 'a"b', "key": "k"}
    values |= {"home": "/h", "work": "/w"}
    for one in known.values():
        launch = one.launch(values)
        assert any('-x "q"\n' in word or word == "/p" for word in launch.argv)
        assert all(name.startswith("/h/") for name in launch.files)
    assert json.loads(known["opencode"].launch(values).files["/h/opencode.json"])["provider"]["local"]["models"] == {
        'a"b': {}
    }
    own = tmp_path / "pool" / "harnesses"
    own.mkdir(parents=True)
    (own / "vibe.toml").write_text('argv = ["mine", "{prompt}"]\n')
    assert harness_named("vibe").argv[0] == "mine"
    with pytest.raises(HarnessProblem, match="there is no harness 'none'; there are aider"):
        harness_named("none")
    for text, said in (
        ("argv = 3", "a list of texts"),
        ("", "argv is missing"),
        ('argv = ["a"]\nx = 1', "x: there are only"),
        ("argv = [", "vibe.toml"),
        ('argv = ["a"]\n[env]\nA = 1', "table of texts"),
    ):
        (own / "vibe.toml").write_text(text)
        with pytest.raises(HarnessProblem, match=said):
            harnesses()


def exchange(request: dict[str, Any], reply: bytes, path: str = "/v1/chat/completions", status: int = 200) -> Exchange:
    return Exchange(path, request, status, reply, 1.0, 2.0, 3.0)


def test_the_responses_form_is_read_too() -> None:
    """What Codex speaks: items in, items out, the calls' results by their ids."""
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look."}]},
        {"type": "function_call", "call_id": "c9", "name": "shell", "arguments": '{"command": ["ls"]}'},
    ]
    tokens = {"input_tokens": 50, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 40}}
    events = [
        {"type": "response.created"},
        {"type": "response.completed", "response": {"output": output, "usage": tokens}},
    ]
    first = {"instructions": "Be brief.", "input": [{"type": "message", "role": "user", "content": [{"text": "Go."}]}]}
    result = {"type": "function_call_output", "call_id": "c9", "output": "a.py"}
    second = {**first, "input": [*first["input"], output[1], result]}
    last = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "One file."}]}], "usage": tokens}
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    both = [exchange(first, stream, "/v1/responses"), exchange(second, json.dumps(last).encode(), "/v1/responses")]
    out = trajectory(both, "codex", "0.171", "m")
    atif.Trajectory.model_validate(out)
    assert [step["source"] for step in out["steps"]] == ["system", "user", "agent", "agent"]
    assert out["steps"][2]["observation"]["results"][0]["content"] == "a.py"
    assert answer(both) == "One file."
    assert (figures(both).prompt_tokens, figures(both).cached_tokens) == (100, 80)


@pytest.mark.parametrize(
    "reply", [b"", b"\xff\xfe", b"data: {", b"[]", b'{"choices": 3}', b'data: {"choices": [{"delta": 4}]}']
)
def test_replies_that_are_none_are_no_reason_to_fail(reply: bytes) -> None:
    odd = {"messages": [3, {"role": "user", "content": [{"text": "a"}, 4]}, {"role": "tool"}]}
    one = exchange(odd, reply)
    assert conversation([one]) == [one]
    atif.Trajectory.model_validate(trajectory([one], "x", "", ""))
    atif.Trajectory.model_validate(trajectory([exchange(odd, reply, status=500)], "x", "", "m"))
