"""WIRE cases: the byte stream, from a real socket through the agent to its events."""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

import pytest

from pool.events import (
    ContentDelta,
    ContentRetracted,
    Notice,
    StopReason,
    UsageReported,
    Waiting,
)
from pool.wire.retry import RESENDS, RetryPolicy
from tests.cases.driver import (
    DONE,
    How,
    ModelServer,
    Run,
    Step,
    answer,
    broken,
    call,
    chunk,
    delta,
    driving,
    finish,
    piece,
    play,
    refuse,
    say,
    send,
    usage,
    whole,
    work,
)
from tests.wire.scripted import Exchange

IDLE_SECONDS = 0.3
"""The idle limit, scaled; silences that must not count are longer."""

UNICODE = "日本語 👩‍💻 é"


async def test_WIRE_01_line_ends(tmp_path: Path) -> None:
    """CR LF, and CR and LF in different writes, give what LF gives; text appears while it streams."""

    async def run_with(name: str, encode: Callable[[bytes], list[bytes]]) -> tuple[Run, list[str]]:
        seen = asyncio.Event()

        async def step(exchange: Exchange) -> None:
            await exchange.start()
            events = [delta(content=" beta"), whole("shell", command="echo hi"), finish("tool_calls"), usage(900, 20)]
            for data in encode(delta(content="alpha")):
                await exchange.chunk(data)
            await asyncio.wait_for(seen.wait(), 5)
            for event in [*events, DONE]:
                for data in encode(event):
                    await exchange.chunk(data)
                    await asyncio.sleep(0.002 if len(data) < 3 else 0)
            await exchange.finish()

        async with ModelServer(step, answer("Done.")) as server, driving(server.url, tmp_path / name) as driver:
            running = asyncio.create_task(driver.run())
            await driver.until_body(ContentDelta, "alpha")
            seen.set()
            run = await running
        return run, server.complaints

    def split(event: bytes) -> list[bytes]:
        return [event.strip(), b"\r", b"\n", b"\r", b"\n"]

    runs = await asyncio.gather(
        run_with("lf", lambda event: [event]),
        run_with("crlf", lambda event: [event.replace(b"\n", b"\r\n")]),
        run_with("split", split),
    )
    for run, complaints in runs:
        assert complaints == []
        assert run.shown[0] == ("", "alpha beta")
        assert (run.calls, run.answer, run.reason) == ([("shell", "ok")], "Done.", StopReason.COMPLETED)
        first = run.of(UsageReported)[0].usage
        assert (first.prompt, first.completion) == (900, 20)


async def test_WIRE_02_comments_are_signs_of_life(tmp_path: Path) -> None:
    """Comments before the first event and inside a call's arguments: no error, no text, and the idle timer starts anew.

    The control: the same pause without them ends the reply, which is asked for once more.
    """

    def paused(comments: bool) -> Step:
        async def pause(exchange: Exchange) -> None:
            for at in range(8):
                if comments:
                    await exchange.chunk([b": waiting\n\n", b":\n", b":x\n\n"][at % 3])
                await asyncio.sleep(IDLE_SECONDS / 4)

        async def step(exchange: Exchange) -> None:
            await exchange.start()
            await pause(exchange)
            await send(exchange, piece(id="c1", name="shell", arguments='{"command":"ec'))
            await pause(exchange)
            await send(exchange, piece(arguments='ho x >> once.txt"}'), finish("tool_calls"), DONE)
            await exchange.finish()

        return step

    async def with_comments() -> None:
        run, bodies = await play(tmp_path / "a", paused(True), answer("Done."), idle_seconds=IDLE_SECONDS)
        assert (run.answer, run.calls, len(bodies)) == ("Done.", [("shell", "ok")], 2)
        assert run.ever_shown == "Done."
        assert (tmp_path / "a" / "once.txt").read_text() == "x\n"

    async def without() -> None:
        run, bodies = await play(tmp_path / "b", paused(False), answer("Done."), idle_seconds=IDLE_SECONDS)
        assert (run.answer, run.calls, len(bodies)) == ("Done.", [], 2)
        assert bodies[0]["messages"] == bodies[1]["messages"]

    await asyncio.gather(with_comments(), without())


async def test_WIRE_03_one_byte_per_write(tmp_path: Path) -> None:
    """Characters and events cut anywhere: the same text, and a file with the very bytes."""
    events = (delta(content=UNICODE), whole("write", path="a.txt", content=UNICODE), finish("tool_calls"))

    async def bytewise(exchange: Exchange) -> None:
        await exchange.start()
        for event in (*events, DONE):
            for at in range(len(event)):
                await exchange.chunk(event[at : at + 1])
        await exchange.finish()

    run, bodies = await play(tmp_path, bytewise, answer("Done."))
    plain, plain_bodies = await play(tmp_path / "plain", say(*events), answer("Done."))
    assert run.shown == plain.shown == [("", UNICODE), ("", "Done.")]
    assert bodies[1]["messages"][2] == plain_bodies[1]["messages"][2]
    assert "\ufffd" not in json.dumps(bodies, ensure_ascii=False)
    assert (tmp_path / "a.txt").read_bytes() == UNICODE.encode()


async def test_WIRE_04_chunks_without_a_choice(tmp_path: Path) -> None:
    counted = {"usage": {"prompt_tokens": 70, "completion_tokens": 7}}
    step = say(
        chunk({"choices": []}),
        delta(content="Fine"),
        chunk({"choices": None, "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
        chunk({"choices": [], "usage": None}),
        delta(content="."),
        finish("stop"),
        chunk(counted),
    )
    run, bodies = await play(tmp_path, step)
    assert (run.answer, run.reason, len(bodies)) == ("Fine.", StopReason.COMPLETED, 1)
    assert (run.finished.usage.prompt, run.finished.usage.completion) == (70, 7)
    assert not run.finished.usage.estimated


async def test_WIRE_05_finish_reason_beside_the_last_text(tmp_path: Path) -> None:
    step = say(*(delta(content=text) for text in ("data", ":", " 7")), delta("stop", content="."))
    run, bodies = await play(tmp_path, step)
    assert (run.answer, run.said, len(bodies)) == ("data: 7.", ["data: 7."], 1)
    assert run.ever_shown == "data: 7."


@pytest.mark.parametrize("how", ["close", "reset", "end"])
async def test_WIRE_06_a_reply_that_breaks_off_is_no_answer(how: How, tmp_path: Path) -> None:
    """It is asked for a bounded number of times; not recovered, the run has failed and keeps nothing of it."""
    step = broken(how, delta(content="The three causes are"))
    run, bodies = await play(tmp_path, step)
    assert (run.reason, run.finished.exit_code, run.answer) == (StopReason.SERVER_FAILED, 75, "")
    assert len(bodies) == 1 + RESENDS
    assert run.said == []
    assert "broke" in run.finished.detail
    assert run.shown[-1] == ("", "The three causes are")

    recovered, bodies = await play(tmp_path, step, answer("Cold and rain."))
    assert (recovered.answer, recovered.said, len(bodies)) == ("Cold and rain.", ["Cold and rain."], 2)
    assert [r.as_ for r in recovered.of(ContentRetracted)] == ["discarded"]
    assert recovered.shown == [("", "Cold and rain.")]


@pytest.mark.parametrize("how", ["close", "reset", "end"])
async def test_WIRE_07_half_a_call_is_never_run(how: How, tmp_path: Path) -> None:
    half = piece(id="c1", type="function", name="write", arguments='{"path":"a.txt","content":"line one')
    run, bodies = await play(tmp_path, broken(how, half), answer("Done."))
    assert (run.answer, run.calls) == ("Done.", [])
    assert not (tmp_path / "a.txt").exists()
    assert bodies[1]["messages"] == bodies[0]["messages"]


async def test_WIRE_08_an_error_object_in_the_stream(tmp_path: Path) -> None:
    fault = chunk({"error": {"message": "engine stopped", "code": 500}})
    run, bodies = await play(tmp_path, say(delta(content="Working"), fault))
    assert (run.reason, run.finished.exit_code, run.answer, run.said) == (StopReason.SERVER_FAILED, 75, "", [])
    assert "engine stopped" in run.finished.detail
    assert any("engine stopped" in notice.text and notice.level == "error" for notice in run.of(Notice))
    assert len(bodies) == 1 + RESENDS


async def test_WIRE_09_only_heartbeats(tmp_path: Path) -> None:
    run, bodies = await play(tmp_path, say(b": waiting\n\n", b":\n\n", b": waiting\n\n"))
    assert (run.reason, run.finished.exit_code, run.answer) == (StopReason.SERVER_FAILED, 75, "")
    assert "the server sent no data" in run.finished.detail
    assert len(bodies) == 1 + RESENDS == 3


async def test_WIRE_10_a_long_prefill_is_waited_for(tmp_path: Path) -> None:
    """Silence after the headers, or before them, is no stall: one request only, and the waiting is shown."""

    async def headers_first(exchange: Exchange) -> None:
        await exchange.start()
        await asyncio.sleep(3 * IDLE_SECONDS)
        await send(exchange, delta(content="Done."), finish("stop"), DONE)
        await exchange.finish()

    async def silence_first(exchange: Exchange) -> None:
        await asyncio.sleep(3 * IDLE_SECONDS)
        await answer("Done.")(exchange)

    for run, bodies in await asyncio.gather(
        play(tmp_path, headers_first, idle_seconds=IDLE_SECONDS),
        play(tmp_path, silence_first, idle_seconds=IDLE_SECONDS),
    ):
        assert (run.answer, len(bodies)) == ("Done.", 1)
        assert [w.state for w in run.of(Waiting)] == ["prefill"]
        assert run.of(UsageReported)[0].first_token_seconds >= 3 * IDLE_SECONDS


async def test_WIRE_11_a_kept_connection_dies_under_a_request(tmp_path: Path) -> None:
    """One silent retry on a fresh connection, since nothing was received."""

    async def dies(exchange: Exchange) -> None:
        assert exchange.nth > 1, "the second request comes on a kept connection"
        exchange.drop()

    async with ModelServer(call("shell", command="echo x >> once.txt"), dies, answer("Done.")) as server:
        run = await work(server, tmp_path)
    assert (run.answer, len(server.bodies)) == ("Done.", 3)
    assert server.bodies[1] == server.bodies[2]
    assert server.chats[2].connection != server.chats[1].connection
    assert [w.state for w in run.of(Waiting)] == ["prefill", "prefill"]
    assert run.of(Notice) == []
    assert (tmp_path / "once.txt").read_text() == "x\n"


async def test_WIRE_11_a_second_failure_is_shown(tmp_path: Path) -> None:
    async def dies(exchange: Exchange) -> None:
        exchange.drop()

    run, bodies = await play(tmp_path, call("shell", command="true"), dies, dies, answer("Done."))
    assert (run.answer, len(bodies)) == ("Done.", 4)
    assert [w.state for w in run.of(Waiting)] == ["prefill", "prefill", "retry"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_WIRE_12_loopback_goes_past_the_proxy(host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ModelServer(refuse(503, "the proxy says no")) as proxy:
        set_proxy(monkeypatch, proxy)
        server = ModelServer(answer("Direct."), host=host.strip("[]") if host == "[::1]" else "127.0.0.1")
        try:
            await server.__aenter__()
        except OSError:
            pytest.skip(f"{host} cannot be used on this machine")
        try:
            async with driving(f"http://{host}:{server.port}", tmp_path) as driver:
                run = await driver.run()
        finally:
            await server.__aexit__(None, None, None)
        assert (run.answer, proxy.requests) == ("Direct.", [])


async def test_WIRE_12_other_hosts_obey_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ModelServer(answer("By proxy.")) as proxy:
        set_proxy(monkeypatch, proxy)
        async with driving("http://model.invalid:8000", tmp_path) as driver:
            run = await driver.run()
        assert run.answer == "By proxy."
        assert proxy.chats[0].path == "http://model.invalid:8000/v1/chat/completions"
        asked = len(proxy.requests)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "model.invalid")
        async with driving("http://model.invalid:8000", tmp_path) as driver:
            run = await driver.run()
        assert (run.reason, len(proxy.requests)) == (StopReason.SERVER_FAILED, asked)


def set_proxy(monkeypatch: pytest.MonkeyPatch, proxy: ModelServer) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


async def test_WIRE_13_the_servers_wait_is_kept(tmp_path: Path) -> None:
    """Retry-After in seconds and as a date: never sooner, and how long is shown."""

    async def seconds() -> None:
        async with ModelServer(refuse(429, "slow down", Retry_After="1"), answer("Done.")) as server:
            run = await work(server, tmp_path)
        assert server.chats[1].at - server.chats[0].at >= 1.0
        assert run.answer == "Done."
        (pause,) = [w for w in run.of(Waiting) if w.state == "queued"]
        assert 1.0 <= pause.seconds < 1.5
        assert "asked to wait 1 s" in pause.detail

    async def date() -> None:
        until = int(time.time()) + 2
        stamp = formatdate(until, usegmt=True)
        times: list[float] = []

        async def then(exchange: Exchange) -> None:
            times.append(time.time())
            await answer("Done.")(exchange)

        run, _ = await play(tmp_path, refuse(429, "slow down", Retry_After=stamp), then)
        assert run.answer == "Done."
        assert times[0] >= until

    await asyncio.gather(seconds(), date())


async def test_WIRE_13_tries_are_bounded(tmp_path: Path) -> None:
    run, bodies = await play(tmp_path, refuse(429, "slow down"))
    assert (run.reason, run.finished.exit_code) == (StopReason.SERVER_FAILED, 75)
    assert len(bodies) == RetryPolicy().max_attempts
    assert "slow down" in run.finished.detail


async def test_WIRE_14_a_model_that_loads_is_waited_for(tmp_path: Path) -> None:
    """Growing gaps, and the message says what is waited for."""
    loading = refuse(503, "Loading model")
    run, bodies = await play(tmp_path, loading, loading, loading, loading, answer("Done."))
    assert (run.answer, len(bodies)) == ("Done.", 5)
    pauses = [w for w in run.of(Waiting) if w.state == "loading"]
    gaps = [w.seconds for w in pauses]
    assert gaps[0] < gaps[1] < gaps[2]
    assert all("loading the model" in w.detail for w in pauses)


async def test_WIRE_14_a_model_that_never_loads_ends_clearly(tmp_path: Path) -> None:
    run, bodies = await play(tmp_path, refuse(503, "Loading model"), wait_server_seconds=0.0)
    assert (run.reason, run.finished.exit_code) == (StopReason.SERVER_FAILED, 75)
    assert "Loading model" in run.finished.detail
    assert len(bodies) <= RetryPolicy().max_attempts
    assert any("loaded" in notice.remedy for notice in run.of(Notice))


async def test_WIRE_15_nothing_compressed_is_asked_for(tmp_path: Path) -> None:
    """A gateway that compresses each event for itself wherever it may does not get the chance."""

    async def gateway(exchange: Exchange) -> None:
        if "gzip" not in exchange.headers.get("accept-encoding", ""):
            await answer("Plain.")(exchange)
            return
        await exchange.start({"Content-Encoding": "gzip"})
        for event in (delta(content="Squeezed."), finish("stop"), DONE):
            await exchange.chunk(zlib.compress(event, wbits=31))
        await exchange.finish()

    run, _ = await play(tmp_path, gateway)
    assert run.answer == "Plain."


async def test_WIRE_15_a_gzip_stream_with_flushes_is_shown_as_it_comes(tmp_path: Path) -> None:
    seen = asyncio.Event()

    async def squeezed(exchange: Exchange) -> None:
        packer = zlib.compressobj(wbits=31)
        await exchange.start({"Content-Encoding": "gzip"})
        await exchange.chunk(packer.compress(delta(content="First")) + packer.flush(zlib.Z_SYNC_FLUSH))
        await asyncio.wait_for(seen.wait(), 5)
        rest = delta(content=" and last.") + finish("stop") + DONE
        await exchange.chunk(packer.compress(rest) + packer.flush())
        await exchange.finish()

    async with ModelServer(squeezed) as server, driving(server.url, tmp_path) as driver:
        running = asyncio.create_task(driver.run())
        await driver.until_body(ContentDelta, "First")
        seen.set()
        run = await running
    assert run.answer == "First and last."


async def test_WIRE_16_two_megabytes_in_one_write(tmp_path: Path) -> None:
    """P3, a buffering proxy: the whole stream in one lump, and the result is complete."""
    lines = [f"{i} reads like {i * i % 977} of the others. " for i in range(20_000)]

    async def lump(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.chunk(b"".join(delta(content=line) for line in lines) + finish("stop") + DONE)
        await exchange.finish()

    run, bodies = await play(tmp_path, lump)
    assert (run.answer, len(bodies)) == ("".join(lines).strip(), 1)
