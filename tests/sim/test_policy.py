"""The rule-based model, driven by a minimal agent loop over real files, commands and sockets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from pool.sim.policy import MOST_REFUSALS
from pool.sim.settings import SimSettings, StepSizes
from tests.sim.client import NOT_THINKING, PROMPT, QUICK_PYTEST, REPOSITORY, Json, Workbench, drive, say
from tests.sim.conftest import Connect, StartSim

DIALECTS = ("bar", "arrow", "plain")
SEEDS = (2, 9, 22)


def passes(root: Path) -> bool:
    command = [sys.executable, "-B", "-m", "pytest", "-q"]
    return subprocess.run(command, cwd=root, env=QUICK_PYTEST, capture_output=True, check=False).returncode == 0


def write_project(root: Path, source: str, test: str) -> Workbench:
    (root / "src" / "thing").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "src" / "thing" / "parts.py").write_text(source, encoding="utf-8")
    (root / "tests" / "test_parts.py").write_text(test, encoding="utf-8")
    (root / "pytest.ini").write_text("[pytest]\npythonpath = src\n", encoding="utf-8")
    return Workbench(root)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_mends_the_inventory(start_sim: StartSim, bench: Workbench, dialect: str) -> None:
    bench.dialect = dialect
    before = {path: path.read_bytes() for path in bench.root.rglob("test_*.py")}
    sim = start_sim(SimSettings(steps=StepSizes(1, 4)))
    loop = drive(sim.url, bench)
    assert "at first 5 failed, 7 passed; now 12 passed" in loop.answer
    assert "4 changes" in loop.answer
    assert passes(bench.root)
    assert {path: path.read_bytes() for path in before} == before
    assert len(sim.seen) == loop.turns


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_mends_other_plantings_with_other_calls(start_sim: StartSim, tmp_path: Path, seed: int) -> None:
    plant = [sys.executable, str(REPOSITORY / "examples" / "plant.py"), "--seed", str(seed), str(tmp_path / "it")]
    subprocess.run(plant, check=True, capture_output=True)
    bench = Workbench(tmp_path / "it")
    loop = drive(start_sim(SimSettings()).url, bench)
    assert "now 12 passed" in loop.answer
    assert passes(bench.root)


def test_edits_follow_what_was_read(start_sim: StartSim, tmp_path: Path) -> None:
    source = (
        '"""Parts."""\n\n\ndef first(parts, count=2, seen=[]):\n'
        '    """The first count parts, noted in seen."""\n    seen.extend(parts[: count - 1])\n    return seen\n'
    )
    test = "from thing.parts import first\n\n\ndef test_first():\n    assert first('abc') == ['a', 'b']\n"
    test += "\n\ndef test_again():\n    assert first('xyz') == ['x', 'y']\n"
    bench = write_project(tmp_path, source, test)
    loop = drive(start_sim(SimSettings()).url, bench)
    assert "now 2 passed" in loop.answer
    paths = [arguments["path"] for name, arguments in bench.calls if name == "read"]
    assert paths[0] == "tests/test_parts.py"
    assert "src/thing/parts.py" in paths
    mended = (tmp_path / "src" / "thing" / "parts.py").read_text(encoding="utf-8")
    assert "seen=None" in mended
    assert "parts[: count]" in mended


def test_takes_back_a_guess_that_does_not_help(start_sim: StartSim, tmp_path: Path) -> None:
    source = "def big(value):\n    if value < 0:\n        return False\n    return value > 10\n"
    test = "from thing.parts import big\n\n\ndef test_big():\n    assert big(10)\n    assert not big(9)\n"
    bench = write_project(tmp_path, source, test)
    loop = drive(start_sim(SimSettings()).url, bench)
    edits = [arguments for name, arguments in bench.calls if name == "edit"]
    assert "now 1 passed" in loop.answer
    assert "1 change in" in loop.answer
    text = (tmp_path / "src" / "thing" / "parts.py").read_text(encoding="utf-8")
    assert text == source.replace("> 10", ">= 10")
    assert (len(edits) - 1) % 2 == 0


def test_admits_what_it_cannot_find(start_sim: StartSim, tmp_path: Path) -> None:
    source = "def double(value):\n    return value * 3\n"
    test = "from thing.parts import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
    bench = write_project(tmp_path, source, test)
    loop = drive(start_sim(SimSettings()).url, bench)
    assert loop.answer.startswith("I could not finish this.")
    assert "1 failed" in loop.answer
    assert "No file is changed." in loop.answer
    assert (tmp_path / "src" / "thing" / "parts.py").read_text(encoding="utf-8") == source


def test_tries_python3_where_python_is_missing(start_sim: StartSim, bench: Workbench) -> None:
    shell = bench.run

    def without_python(name: str, arguments: Json) -> str:
        if str(arguments.get("command", "")).startswith("python "):
            return "/bin/sh: 1: python: not found\n[exit status 127]"
        if "command" in arguments:
            arguments = {"command": arguments["command"].replace("python3 ", "python ")}
        return shell(name, arguments)

    bench.run = without_python
    assert "now 12 passed" in drive(start_sim(SimSettings()).url, bench).answer


def test_stops_when_edits_are_refused(start_sim: StartSim, bench: Workbench) -> None:
    real = bench.run

    def refusing(name: str, arguments: Json) -> str:
        return "error: the file is locked" if name == "edit" else real(name, arguments)

    bench.run = refusing
    loop = drive(start_sim(SimSettings()).url, bench)
    assert "were refused: error: the file is locked" in loop.answer
    tries = [m for m in loop.messages if m["role"] == "tool" and "locked" in m["content"]]
    assert len(tries) == MOST_REFUSALS


def test_stops_when_not_allowed(start_sim: StartSim, bench: Workbench) -> None:
    bench.run = lambda name, arguments: "Denied by the user."
    loop = drive(start_sim(SimSettings()).url, bench)
    assert loop.turns == 2
    assert "I was not allowed to use shell." in loop.answer


def test_thinks_only_when_asked(start_sim: StartSim, bench: Workbench) -> None:
    url = start_sim(SimSettings()).url
    thinking = drive(url, bench)
    assert all(m.get("reasoning") for m in thinking.messages if m["role"] == "assistant")
    quiet = drive(url, bench, chat_template_kwargs=NOT_THINKING)
    assert not any(m.get("reasoning") for m in quiet.messages)


def test_parallel_calls_can_be_switched_off(start_sim: StartSim, bench: Workbench) -> None:
    sim = start_sim(SimSettings())
    together = drive(sim.url, bench, most_turns=60)
    assert max(len(m.get("tool_calls", [])) for m in together.messages) > 1


def test_one_call_a_reply_without_parallel_calls(start_sim: StartSim, bench: Workbench) -> None:
    loop = drive(start_sim(SimSettings()).url, bench, most_turns=60, parallel_tool_calls=False)
    assert "now 12 passed" in loop.answer
    assert max(len(m.get("tool_calls", [])) for m in loop.messages) == 1


def test_summary_where_calls_are_off(connect: Connect, bench: Workbench) -> None:
    client = connect(SimSettings())
    reply = say(client, [{"role": "user", "content": PROMPT}], tools=bench.tools)
    call = reply["tool_calls"][0]
    result = bench.run(call["function"]["name"], json.loads(call["function"]["arguments"]))
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "tool_calls": reply["tool_calls"]},
        {"role": "tool", "tool_call_id": call["id"], "content": result},
        {"role": "user", "content": "Summarise the conversation."},
    ]
    summary = say(client, messages, tools=bench.tools, tool_choice="none")
    assert summary["tool_calls"] == []
    assert "Test runs: 5 failed, 7 passed." in summary["content"]
    assert "No file is changed." in summary["content"]


def test_says_what_it_is(connect: Connect) -> None:
    reply = say(connect(SimSettings()), [{"role": "user", "content": "Write me a poem."}])
    assert "rule-based simulator, not a language model" in reply["content"]


def test_context_in_tags_is_not_the_task(connect: Connect, bench: Workbench) -> None:
    prompt = "<instructions>Run the tests after each fix.</instructions>\nWho are you?"
    reply = say(connect(SimSettings()), [{"role": "user", "content": prompt}], tools=bench.tools)
    assert reply["tool_calls"] == []


def test_reads_a_file_that_is_named(start_sim: StartSim, bench: Workbench) -> None:
    loop = drive(start_sim(SimSettings()).url, bench, prompt="What is in README.md?")
    assert bench.calls == [("read", {"path": "README.md"})]
    assert "begins:\n\n    # Inventory" in loop.answer


def test_goes_on_after_a_nudge_and_stops_after_the_end(connect: Connect, bench: Workbench) -> None:
    client = connect(SimSettings())
    nudged = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": "Now I will look:"},
        {"role": "user", "content": "Go on, and call a tool."},
    ]
    assert say(client, nudged, tools=bench.tools)["tool_calls"]
    ended = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": "I am done: all tests pass."},
        {"role": "user", "content": "Thank you."},
    ]
    assert say(client, ended, tools=bench.tools)["tool_calls"] == []


def test_continues_a_thought_that_was_closed_by_hand(connect: Connect, bench: Workbench) -> None:
    messages = [{"role": "user", "content": PROMPT}, {"role": "assistant", "reasoning": "I have thought enough."}]
    client: httpx.Client = connect(SimSettings())
    reply = say(client, messages, tools=bench.tools, continue_final_message=True, add_generation_prompt=False)
    assert reply["reasoning"] == ""
    assert [call["function"]["name"] for call in reply["tool_calls"]] == ["shell"]
