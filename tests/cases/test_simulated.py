"""Every fault of the simulated server, met by the real agent: a small task is done all the same, or ends honestly.

The simulator speaks vLLM's wire from a thread of its own. Its model reads the file that the prompt names and says how
many lines it has. Ids are those of the trial cases and of the fault catalogue; `pool.sim` names the public reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from pool.events import StopReason, Waiting
from pool.sim.faults import ALL_FAULTS, parse_fault
from pool.sim.process import running
from pool.sim.settings import DEFAULT_MODEL, SimSettings
from tests.cases.driver import Json, Run, driving, objection, switch

PROMPT = "What does notes.txt say?"
ANSWER = "notes.txt has 2 lines"
WHO = "rule-based simulator"
READ = ("read", "ok")
INVALID = ("read", "invalid")
NAMELESS = ("unnamed", "invalid")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run has to come to.

    seen counts the chat requests that reached the model, with the one for a closing word after a stop. repair is one of
    the repairs, "" for none at all. state is one of the waiting states besides prefill, "" for none.
    """

    seen: int = 2
    calls: tuple[tuple[str, str], ...] = (READ,)
    repair: str = ""
    state: str = ""
    answer: str = ANSWER
    reason: StopReason = StopReason.COMPLETED


FAILED = StopReason.SERVER_FAILED
UNUSABLE = StopReason.UNUSABLE_REPLY

OUTCOMES = {
    "429-then-ok": ("WIRE-13", Outcome(state="queued")),
    "503-then-ok": ("WIRE-14", Outcome(state="queued")),
    "loading": ("WIRE-14", Outcome(state="loading")),
    "html-body@1-2": ("a gateway's page", Outcome(state="retry")),
    "401": ("HEAD-01", Outcome(seen=0, calls=(), answer="", reason=FAILED)),
    "500": ("HEAD-01", Outcome(seen=0, calls=(), state="retry", answer="", reason=FAILED)),
    "500@1": ("HEAD-01, once", Outcome(state="retry")),
    "json-body": ("stream ignored", Outcome()),
    "no-usage": ("no usage", Outcome()),
    "leaked-think": ("R1 THINK-01", Outcome(repair="leaked-think-close")),
    "stray-close": ("R2", Outcome(repair="stray-think-close")),
    "think-in-content": ("R3 THINK-02", Outcome(repair="think-in-content")),
    "second-think": ("R4", Outcome(repair="second-think-block")),
    "thought-never-closed@1": ("R5 R10", Outcome(repair="call-in-reasoning")),
    "call-in-reasoning": ("R6", Outcome(repair="call-in-reasoning")),
    "call-in-reasoning:closed": ("R6", Outcome(repair="call-in-reasoning")),
    "reasoning-only@1": ("R9 THINK-05, once", Outcome(seen=3)),
    "reasoning-only": ("R9 THINK-05", Outcome(seen=2, calls=(), answer="", reason=UNUSABLE)),
    "empty-name@1": ("T1 T2, once", Outcome(seen=3, calls=(NAMELESS, READ))),
    "empty-name": ("T1 T2", Outcome(seen=3, calls=(NAMELESS,) * 3, answer="", reason=UNUSABLE)),
    "no-value@1": ("T7", Outcome(seen=3, calls=(INVALID, READ))),
    "cut-call-closed@1": ("T3", Outcome(seen=3)),
    "markup-as-text": ("CALL-15 T17", Outcome(repair="call-in-content")),
    "tool-calls-without-call@1": ("CALL-07, once", Outcome(seen=3)),
    "tool-calls-without-call": ("CALL-07", Outcome(seen=2, calls=(), answer="", reason=UNUSABLE)),
    "stop-with-call": ("CALL-08", Outcome()),
    "runaway-thought@1": ("LOOP-06", Outcome(seen=3, repair="thought-cut-in-circles")),
    "empty-reply@1": ("LOOP-01", Outcome(seen=3)),
    "empty-reply": ("LOOP-02", Outcome(seen=2, calls=(), answer="", reason=UNUSABLE)),
    "announce-without-act@1": ("LOOP-03", Outcome(calls=(), answer=WHO)),
    "repeat-call": ("LOOP-04", Outcome(seen=7, calls=(READ,) * 4, answer="", reason=StopReason.LOOP)),
    "null-arguments@1": ("CALL-05", Outcome(seen=3, calls=(INVALID, READ))),
    "no-ids": ("CALL-04", Outcome()),
    "double-object": ("vllm#51697", Outcome(repair="arguments-sent-twice")),
    "early-brace": ("llama.cpp's stream", Outcome(repair="arguments-extra-brace")),
    "error-in-stream@1": ("WIRE-08, once", Outcome(seen=3, state="retry")),
    "error-in-stream:1": ("WIRE-08", Outcome(seen=3, calls=(), state="retry", answer="", reason=FAILED)),
    "drop-mid-stream@1": ("WIRE-06 WIRE-07, once", Outcome(seen=3, state="retry")),
    "drop-mid-stream:3": ("WIRE-06", Outcome(seen=3, calls=(), state="retry", answer="", reason=FAILED)),
    "reset@1": ("WIRE-06, once", Outcome(seen=3, state="retry")),
    "reset:3": ("WIRE-06", Outcome(seen=3, calls=(), state="retry", answer="", reason=FAILED)),
    "heartbeats-only@1": ("WIRE-09, once", Outcome(seen=3, state="retry")),
    "heartbeats-only": ("WIRE-09", Outcome(seen=3, calls=(), state="retry", answer="", reason=FAILED)),
    "crlf": ("WIRE-01", Outcome()),
    "byte-by-byte": ("WIRE-03", Outcome()),
    "silent:1@1": ("WIRE-10", Outcome()),
}
ELSEWHERE = {"same-index"}
"""Faults that need several calls in one reply; see below."""

ABILITIES = {
    *("one-call", "unstreamed-raw", "cuts-front", "repetition-ignored", "calls-merged", "grammar-ignored"),
    *("budget-ignored", "counts-off", "forgets-thoughts", "drafts-rejected", "no-prefix-cache"),
}
"""What servers lack or ignore: `pool doctor` tells it (tests/lab/doctor/test_checks.py), no reply shows it."""


async def do_task(settings: SimSettings, workspace: Path) -> tuple[Run, list[Json]]:
    """Let the agent answer the prompt; its run, and the bodies of the chat requests that reached the model."""
    for name in ("notes.txt", "other.txt"):
        (workspace / name).write_text("alpha\nbeta\n")
    with running(settings) as sim:
        async with driving(sim.url, workspace, model=DEFAULT_MODEL) as driver:
            run = await driver.run(PROMPT)
        return run, sim.seen


def check_requests(seen: list[Json]) -> None:
    """No request may be what a strict server refuses, or rewrite what was sent before."""
    complaints = [objection(body, before) for body, before in zip(seen, [None, *seen], strict=False)]
    assert [c for c in complaints if c] == []


@pytest.mark.parametrize("fault", OUTCOMES, ids=[f"{fault} {case}" for fault, (case, _) in OUTCOMES.items()])
async def test_a_fault_and_what_comes_of_it(fault: str, tmp_path: Path) -> None:
    _, expected = OUTCOMES[fault]
    run, seen = await do_task(SimSettings(faults=(fault,)), tmp_path)
    check_requests(seen)
    # A thought that was cut is asked for again without thinking, which is announced; nothing else touches the switch.
    assert all(map(switch, seen)) or fault.startswith("runaway-thought")
    assert (run.reason, len(seen)) == (expected.reason, expected.seen)
    assert tuple(call for call in run.calls if call[1] != "blocked") == expected.calls
    assert expected.answer in run.answer
    assert bool(run.answer) is bool(expected.answer)
    assert expected.repair in run.repairs if expected.repair else not run.repairs
    states = {w.state for w in run.of(Waiting)} - {"prefill"}
    assert states == ({expected.state} if expected.state else set())
    assert not any(tag in run.ever_shown for tag in ("think>", "tool_call>", "arg_key>"))


async def test_usage_that_does_not_come_is_estimated(tmp_path: Path) -> None:
    run, _ = await do_task(SimSettings(faults=("no-usage",)), tmp_path)
    usage = run.finished.usage
    assert usage.estimated
    assert usage.prompt > usage.completion > 0


@pytest.mark.parametrize("faults", [("same-index",), ("no-ids",), ("same-index", "byte-by-byte")])
async def test_CALL_03_CALL_04_several_calls_in_one_reply(faults: tuple[str, ...], tmp_path: Path) -> None:
    calls = "".join(
        f"<tool_call>read<arg_key>path</arg_key><arg_value>{name}</arg_value></tool_call>"
        for name in ("notes.txt", "other.txt")
    )
    script = (f"I read both.</think>{calls}", "Done.</think>Both say the same.")
    run, seen = await do_task(SimSettings(faults=faults, script=script), tmp_path)
    check_requests(seen)
    assert (run.calls, run.answer) == ([READ, READ], "Both say the same.")
    sent = [c["function"]["arguments"] for m in seen[1]["messages"] for c in m.get("tool_calls", [])]
    assert ["notes" in arguments for arguments in sent] == [True, False]


async def test_calls_that_nothing_tells_apart_are_not_run(tmp_path: Path) -> None:
    """One index for all and no ids: the arguments run together, and the model is told."""
    calls = "".join(
        f"<tool_call>shell<arg_key>command</arg_key><arg_value>echo {n} >> once.txt</arg_value></tool_call>"
        for n in (1, 2)
    )
    script = (f"I say both.</think>{calls}", "Done.</think>It did not work.")
    run, seen = await do_task(SimSettings(faults=("same-index", "no-ids"), script=script), tmp_path)
    check_requests(seen)
    assert run.calls == [("shell", "invalid")]
    assert not (tmp_path / "once.txt").exists()


def test_every_fault_is_met() -> None:
    assert {parse_fault(text).name for text in OUTCOMES} | ELSEWHERE | ABILITIES == set(ALL_FAULTS)
