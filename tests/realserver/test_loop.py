"""Pool's whole loop, as a command, against real inference: llama.cpp's server with the tiny agent.

What the agent does is in `agent/scenarios.py`. It was trained on random names and numbers, so where those of a test
come back in an answer, it has read them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.realserver.conftest import MakeShop, wrong_module
from tests.realserver.running import RealServer, Run, pool_run
from tests.realserver.serve import MODEL, WINDOW_TOKENS

ASK = "Please fix prices.py: its total is wrong, and the test fails."
TEST_COMMAND = {"command": "python3 -m unittest -q"}
MARKUP = ("<think", "</think", "<tool_call", "</tool_call", "<arg_", "</arg_", "<assistant", "</assistant", "〈|")
UNCONFINED_TOO = ("--mode", "allow-all")


def work(server: RealServer, shop: Path, prompt: str, *arguments: str, greedy: bool = False) -> Run:
    """Run a prompt in a mode that needs no sandbox, and check what holds for every run."""
    run = pool_run(server, shop, *UNCONFINED_TOO, *arguments, prompt, greedy=greedy)
    assert run.end["type"] == "run.finished", run.errors
    assert run.end["exit_code"] == run.exit_code
    assert [event["seq"] for event in run.events] == sorted({event["seq"] for event in run.events})
    shown = run.text("reasoning.delta") + run.text("content.delta") + run.end["answer"]
    assert not [mark for mark in MARKUP if mark in shown]
    check_history(run)
    return run


def check_history(run: Run) -> None:
    """Each request goes on from the one before, byte for byte, and is valid for a strict server."""
    begin = '"messages":['
    sent = [reply.request.partition(begin)[2].removesuffix("]}") for reply in run.replies]
    assert all(later.startswith(earlier) for earlier, later in pairwise(sent))
    fixed = [[request[name] for name in ("model", "tools", "chat_template_kwargs")] for request in run.requests]
    assert all(head == fixed[0] for head in fixed)
    messages = run.requests[-1]["messages"]
    assert [m["role"] for m in messages[:2]] == ["system", "user"]
    calls = [call for m in messages for call in m.get("tool_calls", [])]
    assert len({call["id"] for call in calls}) == len(calls)
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls)
    assert [call["id"] for call in calls] == [m["tool_call_id"] for m in messages if m["role"] == "tool"]


def test_a_bug_is_fixed_and_the_answer_rests_on_the_test_run(server: RealServer, make_shop: MakeShop) -> None:
    shop = make_shop(extra=4817)
    tests = (shop / "test_prices.py").read_bytes()
    run = work(server, shop, ASK)

    assert run.exit_code == 0
    assert run.end["reason"] == "completed"
    assert run.end["answer"] == "prices.py added 4817 to the sum. I took that out, and the tests pass."
    assert run.calls == [
        ("read", {"path": "prices.py"}, "ok"),
        ("edit", {"path": "prices.py", "old_text": "sum(basket) + 4817", "new_text": "sum(basket)"}, "ok"),
        ("shell", TEST_COMMAND, "ok"),
    ]
    assert (shop / "prices.py").read_text() == wrong_module(0)
    assert (shop / "test_prices.py").read_bytes() == tests
    changed = [(c["path"], c["kind"], c["added"], c["removed"]) for c in run.end["changes"]]
    assert changed == [("prices.py", "modified", 1, 1)]


def test_thoughts_come_apart_from_the_answer_and_go_back_to_the_model(server: RealServer, make_shop: MakeShop) -> None:
    run = work(server, make_shop(extra=59), ASK)
    thoughts = ["I will read prices.py first.", "Line 6 adds 59, which is wrong.", "Now the tests.", "They pass."]
    for turn, thought in enumerate(thoughts, 1):
        assert "".join(e["text"] for e in run.of("reasoning.delta") if e["turn"] == turn).strip() == thought
    assert run.text("content.delta").strip() == run.end["answer"]
    kept = [m.get("reasoning_content", "").strip() for m in run.requests[-1]["messages"] if m["role"] == "assistant"]
    assert kept == thoughts[:3]


def test_usage_is_the_servers_and_its_cache_is_kept(server: RealServer, make_shop: MakeShop) -> None:
    run = work(server, make_shop(), ASK)
    usages = [event["usage"] for event in run.of("usage")]
    assert len(usages) == 4
    assert not any(usage["estimated"] for usage in usages)
    for before, after in pairwise(usages):
        assert after["cached"] >= before["prompt"]
        assert after["prompt"] > before["prompt"] + before["completion"]
    assert run.end["usage"]["completion"] == sum(usage["completion"] for usage in usages)


def test_a_failing_test_is_admitted(server: RealServer, make_shop: MakeShop) -> None:
    shop = make_shop(extra=12, wanted=931)
    run = work(server, shop, ASK)
    assert [(name, status) for name, _, status in run.calls] == [("read", "ok"), ("edit", "ok"), ("shell", "failed")]
    assert run.end["answer"] == "Could not do it: the tests still fail with 200 != 931."
    assert run.end["reason"] == "gave_up"
    assert run.exit_code == 4


def test_a_denied_command_is_answered_and_ends_the_run_as_denied(server: RealServer, make_shop: MakeShop) -> None:
    run = pool_run(server, make_shop(extra=7), "--mode", "accept-edits", ASK)
    check_history(run)
    assert [(name, status) for name, _, status in run.calls] == [("read", "ok"), ("edit", "ok"), ("shell", "denied")]
    assert run.end["answer"] == "prices.py added 7 to the sum. I took that out; the tests were not run."
    assert run.end["reason"] == "denied"
    assert run.exit_code == 7


def test_a_claim_without_a_test_run_is_sent_back(server: RealServer, make_shop: MakeShop) -> None:
    run = work(server, make_shop(extra=630), "Please patch prices.py")
    assert [(e["guard"], e["action"]) for e in run.of("guard.fired")] == [("claims", "nudge")]
    assert [name for name, _, _ in run.calls] == ["read", "edit", "shell"]
    assert run.end["answer"] == "prices.py added 630 to the sum. I took that out, and the tests pass."
    assert run.exit_code == 0


def test_an_edit_that_fits_in_several_places_is_made_everywhere(server: RealServer, make_shop: MakeShop) -> None:
    shop = make_shop()
    (shop / "notes.txt").write_text("brindle\nno\nbrindle and brindle\n")
    run = work(server, shop, "replace brindle by ocelot in notes.txt")
    first, second = run.calls
    assert first[2] in ("failed", "invalid")
    assert second[1] == {"path": "notes.txt", "old_text": "brindle", "new_text": "ocelot", "all": True}
    assert second[2] == "ok"
    assert (shop / "notes.txt").read_text() == "ocelot\nno\nocelot and ocelot\n"
    assert run.end["answer"] == "Replaced brindle by ocelot in notes.txt, 3 times."


def test_text_that_is_not_there_is_not_replaced(server: RealServer, make_shop: MakeShop) -> None:
    shop = make_shop()
    (shop / "notes.txt").write_text("nothing of the kind\n")
    run = work(server, shop, "replace brindle by ocelot in notes.txt")
    assert run.end["answer"] == "Could not do it: brindle is not in notes.txt."
    assert run.exit_code == 4
    assert (shop / "notes.txt").read_text() == "nothing of the kind\n"


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("hello", "Hello. What shall we do?"),
        ("日本語で挨拶してください", "こんにちは。何をしましょうか。"),
        ('repeat: C:\\new <b>x</b> & "日語" 🙂 `a|b` 50%', 'C:\\new <b>x</b> & "日語" 🙂 `a|b` 50%'),
    ],
)
def test_plain_answers(server: RealServer, make_shop: MakeShop, prompt: str, answer: str) -> None:
    run = work(server, make_shop(), prompt, greedy=True)
    assert run.end["answer"] == answer
    assert run.text("content.delta").strip() == answer
    assert run.text("reasoning.delta").strip()
    assert run.calls == []
    assert run.exit_code == 0


def test_a_call_without_arguments(server: RealServer, make_shop: MakeShop) -> None:
    run = work(server, make_shop(), "survey")
    assert run.calls == [("list", {}, "ok")]
    assert run.end["answer"] == "The first entry is prices.py."


def test_a_search_is_answered_from_its_hits(server: RealServer, make_shop: MakeShop) -> None:
    shop = make_shop()
    (shop / "stock").mkdir()
    (shop / "stock" / "shelf.txt").write_text("one\ntwo\nthe quandle is here\n")
    run = work(server, shop, "find quandle")
    assert run.calls == [("search", {"pattern": "quandle"}, "ok")]
    assert run.end["answer"] == "quandle is in stock/shelf.txt, line 3."


def test_a_file_is_written_as_the_model_says(server: RealServer, make_shop: MakeShop) -> None:
    shop = make_shop()
    text = "café <b> & 日語 {7} 'x'"
    run = work(server, shop, f"create todo.txt: {text}")
    assert run.calls == [("write", {"path": "todo.txt", "content": text}, "ok")]
    assert (shop / "todo.txt").read_text(encoding="utf-8") == text
    assert [c["kind"] for c in run.end["changes"]] == ["created"]


def test_a_thought_without_end_is_cut_and_the_turn_goes_on(server: RealServer, make_shop: MakeShop) -> None:
    run = work(server, make_shop(), "ponder", "--thinking", "200")
    assert [(e["guard"], e["action"]) for e in run.of("guard.fired")] == [("thinking", "cut")]
    assert run.end["answer"] == "I have thought enough. The answer is 42."
    assert run.exit_code == 0


def test_the_same_call_again_and_again_ends_the_run(server: RealServer, make_shop: MakeShop) -> None:
    run = work(server, make_shop(), "insist on prices.py")
    assert run.end["reason"] == "loop"
    assert run.exit_code == 6
    assert {name for name, _, _ in run.calls} == {"read"}


def test_an_interrupt_ends_the_run_and_frees_the_server(server: RealServer, make_shop: MakeShop) -> None:
    busy: list[bool] = []

    def interrupt(pid: int) -> None:
        busy.append(server.wait(busy=True))
        os.kill(pid, signal.SIGINT)

    # The tiny model may have told all of it before a busy machine has shown its first words here.
    for _ in range(4):
        run = pool_run(server, make_shop(), "story", *UNCONFINED_TOO, meanwhile=interrupt)
        if busy[-1]:
            break
    else:
        pytest.fail("four stories were told to their end")
    assert run.exit_code == 130
    assert run.end["reason"] == "interrupted"
    assert server.wait(busy=False)


def test_a_prompt_over_the_window_ends_the_run_as_such(
    server: RealServer, make_shop: MakeShop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where Pool was told of a larger window than the server has."""
    monkeypatch.setenv("POOL_CONTEXT_LENGTH", str(10 * WINDOW_TOKENS))
    prompt = tmp_path / "long.txt"
    prompt.write_text("hello and " * WINDOW_TOKENS)
    run = pool_run(server, make_shop(), *UNCONFINED_TOO, "-f", str(prompt))
    assert run.end["reason"] == "context_exhausted"
    assert run.exit_code == 5
    assert str(WINDOW_TOKENS) in run.end["detail"].replace(",", "")


def test_the_run_says_what_it_talks_to(server: RealServer, make_shop: MakeShop) -> None:
    run = work(server, make_shop(), "hello")
    started = run.events[0]
    assert started["type"] == "run.started"
    assert started["model"] == MODEL
    assert started["server"].startswith(server.url)


def test_nothing_is_left_in_the_repository(server: RealServer, make_shop: MakeShop) -> None:
    shop = make_shop()
    work(server, shop, ASK)
    git = ["git", "-C", str(shop), "status", "--porcelain", "--untracked-files=all"]
    files = subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\n")
    assert sorted(line[3:] for line in files if line and "__pycache__" not in line) == ["prices.py", "test_prices.py"]
