"""CALL cases: tool calls as servers send them, from a real socket through the agent to files and the next request."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pool.events import CallFinished, CallProgress, GuardFired, StopReason, Waiting
from tests.cases.driver import (
    DONE,
    Json,
    ModelServer,
    Run,
    Step,
    answer,
    call,
    delta,
    driving,
    finish,
    last_result,
    last_user,
    piece,
    play,
    say,
    send,
    usage,
    whole,
)
from tests.wire.scripted import Exchange

LAGUNA = "<tool_call>shell<arg_key>command</arg_key><arg_value>echo x >> once.txt</arg_value></tool_call>"
QWEN = (
    "<tool_call>\n<function=write>\n<parameter=path>\nn.md\n</parameter>\n"
    "<parameter=content>\n  two blanks\n\nend\n</parameter>\n</function>\n</tool_call>"
)


def sent_calls(body: Json) -> list[Json]:
    """All calls in the history of a request."""
    return [c for message in body["messages"] for c in message.get("tool_calls", [])]


def the_call(body: Json) -> tuple[str, str, Any]:
    """Id, name and arguments of the one call in the history of a request."""
    (item,) = sent_calls(body)
    return item["id"], item["function"]["name"], json.loads(item["function"]["arguments"])


def results(body: Json) -> list[tuple[str, str]]:
    """Call id and text of each tool result in a request."""
    return [(m["tool_call_id"], m["content"]) for m in body["messages"] if m["role"] == "tool"]


async def calling(workspace: Path, *events: bytes, then: str = "Done.") -> tuple[Run, list[Json]]:
    """One reply, ended by `tool_calls`, then an answer."""
    return await play(workspace, say(*events, finish("tool_calls"), usage(100, 20)), answer(then))


async def test_CALL_01_only_the_first_piece_has_the_id(tmp_path: Path) -> None:
    pieces = (
        piece(id="c1", type="function", name="shell", arguments=""),
        piece(arguments='{"comm'),
        piece(arguments='and":"ls"}'),
    )
    run, bodies = await calling(tmp_path, *pieces)
    assert run.calls == [("shell", "ok")]
    assert the_call(bodies[1]) == ("c1", "shell", {"command": "ls"})


async def test_CALL_02_later_pieces_with_empty_id_and_null_name(tmp_path: Path) -> None:
    pieces = (
        piece(id="c1", type="function", name="shell", arguments=""),
        piece(id="", name=None, arguments='{"comm'),
        piece(id="", name=None, arguments='and":"ls"}'),
    )
    _, bodies = await calling(tmp_path, *pieces)
    assert the_call(bodies[1]) == ("c1", "shell", {"command": "ls"})


async def test_CALL_03_parallel_calls_that_all_have_index_0(tmp_path: Path) -> None:
    names = {"x1": "a.txt", "x2": "b.txt", "x3": "c.txt"}
    run, bodies = await calling(tmp_path, *(whole("write", key, path=name, content=key) for key, name in names.items()))
    assert run.calls == [("write", "ok")] * 3
    assert {name: (tmp_path / name).read_text() for name in names.values()} == {v: k for k, v in names.items()}
    assert [c["id"] for c in sent_calls(bodies[1])] == [key for key, _ in results(bodies[1])] == list(names)


async def test_CALL_04_calls_without_an_id_get_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    run, bodies = await calling(tmp_path, piece(name="read", arguments='{"path":"a.txt"}'))
    call_id, name, arguments = the_call(bodies[1])
    assert (name, arguments) == ("read", {"path": "a.txt"})
    assert call_id
    assert results(bodies[1])[0][0] == call_id
    assert "alpha" in last_result(bodies[1])
    assert run.answer == "Done."


async def test_CALL_05_null_arguments(tmp_path: Path) -> None:
    """With a required argument: not run, and told which; without one: run with {}."""
    (tmp_path / "seen.txt").touch()
    steps = [
        say(piece(id="c1", name="read", arguments=None), finish("tool_calls")),
        say(piece(id="c2", name="list", arguments=None), finish("tool_calls")),
        answer("Done."),
    ]
    run, bodies = await play(tmp_path, *steps)
    assert run.calls == [("read", "invalid"), ("list", "ok")]
    assert "path" in last_result(bodies[1])
    assert "seen.txt" in last_result(bodies[2])


@pytest.mark.parametrize("reason", ["tool_calls", "stop"])
async def test_CALL_06_arguments_that_stop_early(reason: str, tmp_path: Path) -> None:
    """Not run, not mended, though the server says that all is well."""
    (tmp_path / "a.txt").write_text("other\n")
    cut = piece(id="c1", name="write", arguments='{"path":"a.txt","content":"done')
    run, bodies = await play(tmp_path, say(cut, finish(reason)), answer("Done."))
    assert run.calls == [("write", "invalid")]
    assert (tmp_path / "a.txt").read_text() == "other\n"
    assert "was not run" in last_result(bodies[1])
    assert run.answer == "Done."


async def test_CALL_07_a_call_is_announced_and_none_came(tmp_path: Path) -> None:
    """One re-ask, then a clear failure."""
    run, bodies = await play(tmp_path, say(delta(content=""), finish("tool_calls")))
    assert (run.reason, run.finished.exit_code, run.answer) == (StopReason.UNUSABLE_REPLY, 8, "")
    assert len(bodies) == 2
    assert "tool call" in last_user(bodies[1])
    assert "announced" in run.finished.detail

    mended, bodies = await play(tmp_path, say(finish("tool_calls")), call("shell", command="true"), answer("Done."))
    assert (mended.answer, len(bodies)) == ("Done.", 3)


async def test_CALL_08_stop_with_a_call(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    run, bodies = await play(tmp_path, say(whole("read", path="a.txt"), finish("stop")), answer("Done."))
    assert run.calls == [("read", "ok")]
    assert "alpha" in last_result(bodies[1])


async def test_CALL_09_a_long_silence_after_the_name(tmp_path: Path) -> None:
    """No stall: the name is shown at once, the arguments come later in one piece, and the file is right."""
    content = "line of text\n" * 160
    seen = asyncio.Event()

    async def slow(exchange: Exchange) -> None:
        await exchange.start()
        await send(exchange, piece(id="c1", name="write", arguments=""))
        await asyncio.wait_for(seen.wait(), 5)
        await asyncio.sleep(0.3)
        await send(exchange, piece(arguments=json.dumps({"path": "a.txt", "content": content})))
        await send(exchange, finish("tool_calls"), DONE)
        await exchange.finish()

    async with ModelServer(slow, answer("Done.")) as server, driving(server.url, tmp_path) as driver:
        running = asyncio.create_task(driver.run())
        event = await driver.until_body(CallProgress)
        assert isinstance(event.body, CallProgress)
        assert (event.body.name, event.body.chars) == ("write", 0)
        seen.set()
        run = await running
    assert (run.answer, len(server.bodies)) == ("Done.", 2)
    assert (tmp_path / "a.txt").read_text() == content
    assert {w.state for w in run.of(Waiting)} == {"prefill"}


async def test_CALL_10_malformed_arguments_never_reach_the_history(tmp_path: Path) -> None:
    """The server refuses every history with arguments that are no object, as vLLM 0.25.1 does."""
    bad = say(piece(id="c1", name="shell", arguments='{"command":"echo "hi""}'), finish("tool_calls"))
    run, bodies = await play(tmp_path, bad, call("shell", "c2", command="echo hi"), answer("Done."))
    assert run.calls == [("shell", "invalid"), ("shell", "ok")]
    assert "was not run" in last_result(bodies[1])
    assert json.loads(sent_calls(bodies[2])[0]["function"]["arguments"]) == {}
    assert run.answer == "Done."


@pytest.mark.parametrize("text", ["[1]", '"text"', "17", '{"command":', '{"command":"a"}{"command":"b"}', "{" * 200])
async def test_CALL_10_arguments_that_are_no_object(text: str, tmp_path: Path) -> None:
    run, bodies = await calling(tmp_path, piece(id="c1", name="shell", arguments=text))
    assert run.calls == [("shell", "invalid")]
    assert the_call(bodies[1])[2] == {}


async def test_CALL_11_the_output_limit_inside_a_write(tmp_path: Path) -> None:
    """The file stays; the model is told to work in smaller steps; it does not go on for ever."""
    whole_file = "x = 1\n" * 2700
    (tmp_path / "big.py").write_text(whole_file)
    arguments = json.dumps({"path": "big.py", "content": "y = 2\n" * 700})[:-2]
    cut = say(piece(id="c1", name="write", arguments=arguments), finish("length"), usage(100, 1024))
    run, bodies = await play(tmp_path, cut)
    assert (tmp_path / "big.py").read_text() == whole_file
    assert (run.reason, run.finished.exit_code) == (StopReason.MAX_TOKENS, 5)
    assert "smaller steps" in last_user(bodies[1])
    assert "output limit" in run.finished.detail
    tries = [body for body in bodies if body.get("tool_choice") != "none"]
    assert len(tries) <= 3
    assert run.calls == []


async def test_CALL_12_values_sent_as_strings(tmp_path: Path) -> None:
    """What the schema wants as another type is converted; text parameters stay as they are."""
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 41)))
    (tmp_path / "b.txt").write_text("one one\n")
    steps = [
        call("read", "c1", path="a.txt", offset="20", limit="2"),
        call("read", "c2", path="b.txt"),
        call("edit", "c3", path="b.txt", old_text="one", new_text="two", all="True"),
        call("write", "c4", path="n.txt", content="123"),
        call("write", "c5", path="l.txt", content='["x"]'),
        answer("Done."),
    ]
    run, bodies = await play(tmp_path, *steps)
    assert [status for _, status in run.calls] == ["ok"] * 5
    shown = last_result(bodies[1])
    assert "line 20" in shown
    assert "line 21" in shown
    assert "line 22" not in shown
    texts = {name: (tmp_path / name).read_text() for name in ("b.txt", "n.txt", "l.txt")}
    assert texts == {"b.txt": "two two\n", "n.txt": "123", "l.txt": '["x"]'}


async def test_CALL_13_names_with_blanks_and_capitals(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    calls = (
        whole("read\n", "c1", index=0, path="a.txt"),
        whole(" shell", "c2", index=1, command="true"),
        whole("Shell", "c3", index=2, command="true"),
    )
    run, bodies = await calling(tmp_path, *calls)
    assert run.calls == [("read", "ok"), ("shell", "ok"), ("shell", "ok")]
    assert [c["function"]["name"] for c in sent_calls(bodies[1])] == ["read", "shell", "shell"]


async def test_CALL_14_invented_tools(tmp_path: Path) -> None:
    """The error lists the real names; after three in a row the run stops and says why."""
    run, bodies = await play(tmp_path, *(call("find_text", f"c{n}", q="x") for n in range(4)))
    assert run.calls == [("find_text", "invalid")] * 3
    assert len(bodies) == 3
    told = last_result(bodies[1])
    assert all(name in told for name in ("read", "write", "edit", "shell"))
    assert (run.reason, run.finished.exit_code) == (StopReason.UNUSABLE_REPLY, 8)
    assert "find_text" in run.finished.detail

    saved, _ = await play(tmp_path, call("find_text", q="x"), call("shell", "c2", command="true"), answer("Done."))
    assert saved.answer == "Done."


def in_pieces(text: str) -> Step:
    """A reply of plain content, cut after every third character."""
    return say(*(delta(content=text[at : at + 3]) for at in range(0, len(text), 3)), finish("stop"))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(LAGUNA, 1, id="plain"),
        pytest.param(LAGUNA.replace(">shell<", ">shell\n<"), 1, id="newline after the name"),
        pytest.param(LAGUNA + LAGUNA.replace("echo x", "echo y"), 2, id="two calls"),
        pytest.param(f"I will do it.\n\n{LAGUNA}\n", 1, id="after prose"),
    ],
)
async def test_CALL_15_laguna_markup_in_the_content(text: str, lines: int, tmp_path: Path) -> None:
    """Recovered as a call: never shown as the answer, run as often as it was written, kept as a proper call."""
    run, bodies = await play(tmp_path, in_pieces(text), answer("Done."))
    assert run.calls == [("shell", "ok")] * lines
    assert (tmp_path / "once.txt").read_text() == "x\ny\n"[: 2 * lines]
    assert "<" not in run.ever_shown
    assert "call-in-content" in run.repairs
    assert len(sent_calls(bodies[1])) == lines
    assert "<tool_call>" not in json.dumps(bodies[1]["messages"][2:])
    assert run.answer == "Done."


async def test_CALL_15_markup_that_cannot_be_used(tmp_path: Path) -> None:
    """An unknown tool in leaked markup: one re-ask that says what was wrong, then an error."""
    run, bodies = await play(tmp_path, in_pieces(LAGUNA.replace("shell", "conjure")))
    assert (run.reason, run.calls, len(bodies)) == (StopReason.UNUSABLE_REPLY, [], 2)
    assert 'no tool named "conjure"' in last_user(bodies[1])
    assert "tool_call" not in run.ever_shown


async def test_CALL_16_qwen_markup_in_the_content(tmp_path: Path) -> None:
    """Inner blank lines and leading blanks of the value stay."""
    run, bodies = await play(tmp_path, in_pieces(QWEN), answer("Done."))
    assert run.calls == [("write", "ok")]
    assert (tmp_path / "n.md").read_text() == "  two blanks\n\nend"
    assert the_call(bodies[1])[1:] == ("write", {"path": "n.md", "content": "  two blanks\n\nend"})
    assert run.ever_shown == "Done."


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"So it looks:\n\n```\n{LAGUNA.replace('echo x >> once.txt', 'rm -r build')}\n```\n", id="fence"),
        pytest.param(f"```\n{LAGUNA.replace('echo x >> once.txt', 'rm -r build')}\n```", id="only a fence"),
        pytest.param("A call begins with `shell{` and goes on with JSON.", id="mention"),
        pytest.param("The tag `<tool_call>` opens it, `</tool_call>` closes it.", id="tags in code spans"),
    ],
)
async def test_CALL_17_a_call_that_is_only_talked_about(text: str, tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    run, bodies = await play(tmp_path, in_pieces(text))
    assert (run.calls, len(bodies)) == ([], 1)
    assert (tmp_path / "build").is_dir()
    assert run.answer == text.strip()
    assert run.ever_shown == text


@pytest.mark.parametrize("content", ["    indented\n\tTab\nlast\n", "\n", "", " \n ", "\r\n"])
async def test_CALL_18_blanks_at_the_borders_of_a_value(content: str, tmp_path: Path) -> None:
    run, _ = await calling(tmp_path, whole("write", path="a.txt", content=content))
    assert run.calls == [("write", "ok")]
    assert (tmp_path / "a.txt").read_bytes() == content.encode()


async def test_CALL_19_a_call_rehearsed_in_the_thought(tmp_path: Path) -> None:
    thought = (delta(reasoning=part) for part in ("I could say ", LAGUNA, " but need not."))
    run, bodies = await play(tmp_path, say(*thought, delta(content="Nothing to do."), finish("stop")))
    assert (run.answer, run.calls, len(bodies)) == ("Nothing to do.", [], 1)
    assert not (tmp_path / "once.txt").exists()


@pytest.mark.parametrize("keys", [{}, {"type": ""}, {"type": None}])
async def test_CALL_20_calls_without_a_type(keys: Json, tmp_path: Path) -> None:
    """What goes back has type, name and id: the server here refuses anything else."""
    run, bodies = await calling(tmp_path, piece(id="c1", name="shell", arguments='{"command":"true"}', **keys))
    assert run.answer == "Done."
    assert sent_calls(bodies[1])[0]["type"] == "function"


async def test_CALL_21_ids_that_are_used_again(tmp_path: Path) -> None:
    steps = [call("shell", "shell:0", command=f"echo turn-{n}") for n in (1, 2)]
    run, bodies = await play(tmp_path, *steps, answer("Done."))
    first, second = results(bodies[2])
    assert first[0] != second[0]
    assert [c["id"] for c in sent_calls(bodies[2])] == [first[0], second[0]]
    assert "turn-1" in first[1]
    assert "turn-2" in second[1]
    shown = [(e.envelope.call, e.body.text) for e in run.events if isinstance(e.body, CallFinished)]
    assert [key for key, _ in shown] == [first[0], second[0]]
    assert "turn-2" in shown[1][1]


async def test_CALL_22_text_between_argument_pieces(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("alpha\n")
    events = (
        piece(id="c1", name="read", arguments='{"pa'),
        delta(content="One moment. "),
        delta(reasoning="hm"),
        piece(arguments='th":"a"}'),
        delta(content="Reading."),
    )
    run, bodies = await calling(tmp_path, *events)
    assert the_call(bodies[1]) == ("c1", "read", {"path": "a"})
    message = bodies[1]["messages"][2]
    assert (message["content"], message["reasoning"]) == ("One moment. Reading.", "hm")
    assert run.shown[0] == ("hm", "One moment. Reading.")


async def test_CALL_23_a_renamed_argument(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    run, bodies = await calling(tmp_path, whole("read", filename="a.txt"), whole("read", "c2", index=1, wherever="a"))
    assert sorted(run.calls) == [("read", "invalid"), ("read", "ok")]
    (_, first), (_, second) = results(bodies[1])
    assert "alpha" in first
    assert "path" in second
    assert run.of(GuardFired) == []
