"""The prompt only grows: over a session of a hundred turns no request breaks what a server has cached, unannounced."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pool.config.settings import Budgets, Mode
from pool.events import Compacted, StopReason, UsageReported
from tests.cases.driver import driving
from tests.guards.corpus.texts import wandering
from tests.guards.player import Played, ScriptServer, play
from tests.guards.script import Case, Say, answer, call, edit, read, shell

TURNS = 100
UNLIMITED = Budgets(turns=0, reasoning_run=0)
FILES = {f"src/m{i}.py": f"def name_{i}(x):\n    return x + {i}\n" for i in range(TURNS)}


def hundred_turns() -> tuple[Say, ...]:
    """Reads, edits and new files with thoughts and words, one empty reply (it is nudged), one denied command."""
    turns: list[Say] = []
    for i in range(TURNS - 3):
        match i % 3:
            case 0:
                turns.append(Say(f"I read part {i}.", f"Part {i}.", calls=read(f"src/m{i}.py").calls))
            case 1:
                turns.append(Say(calls=edit(f"src/m{i - 1}.py", f"x + {i - 1}", f"x - {i - 1}").calls))
            case _:
                turns.append(call("write", path=f"notes/{i}.md", content=f"# 第{i}部\n"))
    turns.insert(30, Say("What now?"))
    turns.insert(60, shell("make install"))
    return (*turns, answer("A hundred turns are done."))


def messages_of(body: bytes) -> bytes:
    """The bytes of a request's messages, without the bracket that closes them."""
    return body.partition(b'"messages":[')[2].removesuffix(b"]}")


async def requests_of(case: Case, workspace: Path) -> tuple[Played, list[bytes]]:
    """Play a case; its requests as they came over the socket."""
    workspace.mkdir()
    for name, text in case.files.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(text)
    async with ScriptServer(case) as server:
        async with driving(server.url, workspace, **{"model": "", **case.settings}) as driver:
            run = await driver.run(case.prompt)
        bodies = [request.body for request in server.requests if request.method == "POST"]
    return Played(case, run, server.bodies, server.thought_tokens, server.complaints), bodies


async def test_a_hundred_turns_are_byte_stable(tmp_path: Path) -> None:
    settings = {"budgets": UNLIMITED, "mode": Mode.ACCEPT_EDITS}
    case = Case("hundred", hundred_turns(), stop=StopReason.DENIED, files=FILES, settings=settings)
    played, bodies = await requests_of(case, tmp_path / "work")
    assert played.faults() == []
    assert len(bodies) == TURNS
    assert [status for _, status in played.run.calls if status != "ok"] == ["denied"]
    assert played.hard == [("reply", "nudge")]
    for before, after in pairwise(bodies):
        assert messages_of(after).startswith(messages_of(before) + b",")
    heads = {body.partition(b'"stream"')[0] for body in bodies}
    assert len(heads) == 1
    assert [u.prefix_break for u in played.run.of(UsageReported)] == [""] * TURNS


async def test_a_thought_closed_by_hand_keeps_the_prefix(tmp_path: Path) -> None:
    turns = (Say(endless=wandering, instead=read("src/m1.py")), answer("Read."))
    played, bodies = await requests_of(Case("closed", turns, files=FILES), tmp_path / "work")
    assert played.run.answer == "Read."
    first, second, third = bodies
    assert played.bodies[1]["continue_final_message"] is True
    assert messages_of(second).startswith(messages_of(first) + b",")
    assert messages_of(third).startswith(messages_of(first) + b",")
    thought = played.bodies[1]["messages"][-1]["reasoning"]
    assert played.bodies[2]["messages"][2]["reasoning"] == thought
    assert [u.prefix_break for u in played.run.of(UsageReported)] == ["", "", ""]


BULKY = {f"big{i}.txt": f"line {i} of the text, as long as others\n" * 150 for i in range(40)}


@pytest.mark.parametrize("window", [16_000, 24_000])
async def test_only_announced_breaks_in_a_small_window(window: int, tmp_path: Path) -> None:
    """Pruning and compaction are events, the next request names them, and every other request just grows."""
    turns = (*(read(f"big{i}.txt") for i in range(20)), answer("All is read."))
    settings = {"budgets": UNLIMITED, "window": window}
    played, bodies = await requests_of(Case("small", turns, files=BULKY, settings=settings), tmp_path / "work")
    assert (played.run.reason, played.run.answer) == (StopReason.COMPLETED, "All is read.")
    breaks = [u.prefix_break for u in played.run.of(UsageReported) if u.prefix_break]
    assert set(breaks) <= {"pruning", "compaction"}
    assert len(breaks) == len(played.run.of(Compacted)) > 0
    broken = sum(not messages_of(b).startswith(messages_of(a)) for a, b in pairwise(bodies))
    assert broken <= 2 * len(breaks)


async def test_a_thought_is_cut_within_a_tenth_of_its_limit(tmp_path: Path) -> None:
    """At 2,000 tokens a second a tenth of the limit is a fifth of a second."""
    limit = 2048
    budgets = Budgets(reasoning_first_turn=limit)
    case = Case(
        "paced",
        (Say(endless=wandering, instead=answer("So it is.")),),
        settings={"budgets": budgets},
        pace=2000,
    )
    played = await play(case, tmp_path / "work")
    assert played.run.answer == "So it is."
    assert limit <= played.thought_tokens <= limit * 1.1
