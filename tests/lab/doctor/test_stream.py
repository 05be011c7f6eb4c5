"""A short streamed reply and what comes with it."""

from __future__ import annotations

import pytest

from pool.lab.doctor.finding import Status
from tests.lab.doctor.servers import Said, Script, llamacpp, of_script, vllm

CASES: list[tuple[str, Said, Status, str, str]] = [
    ("all", Said("Ready.", cached=0), Status.OK, "20 tokens read and 5 written, cached tokens told", ""),
    ("no cached", Said("Ready."), Status.OK, "cached tokens not told", ""),
    ("thought only", Said(reasoning="Hm."), Status.OK, "finish reason stop", ""),
    ("no usage", Said("Ready.", counted=None), Status.WARN, "no token counts", "--enable-force-include-usage"),
    ("no end", Said("Ready.", done=False), Status.WARN, "no [DONE] at the end", "pip install --upgrade vllm"),
    ("empty", Said(""), Status.FAIL, "the reply is empty", "pool doctor --only stream"),
    ("broken off", Said("Rea", finish=""), Status.FAIL, "ended without a finish reason", "pool doctor --only stream"),
    ("failed", Said("Rea", finish="error"), Status.FAIL, "ended the reply with 'error'", "pool doctor --only stream"),
]


@pytest.mark.parametrize(("said", "status", "words", "remedy"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
async def test_replies(said: Said, status: Status, words: str, remedy: str) -> None:
    found = (await of_script(Script(lambda body: said, vllm()), "stream"))["stream"]
    assert (found.status, found.remedy) == (status, remedy), found.words
    assert words in found.words


async def test_a_gateway_that_names_cached_tokens_otherwise() -> None:
    def say(body: dict[str, object]) -> Said:
        return Said("Ready.", cached=7)

    found = (await of_script(Script(say, llamacpp()), "stream"))["stream"]
    assert found.data["cached_told"] is True
