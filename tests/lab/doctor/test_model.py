"""Which model answers, and how large its window is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pool.config.settings import ServerEnvironment
from pool.lab.doctor.finding import Status
from pool.lab.doctor.model import NO_SUCH_MODEL
from pool.wire.dialects import ServerKind
from tests.lab.doctor.servers import Json, Said, Script, llamacpp, made, models, of_script, ollama, subject_at, vllm
from tests.wire.scripted import ScriptedServer


def strict(body: Json) -> Said:
    """A server that knows its models."""
    known = body["model"] != NO_SUCH_MODEL and "typo" not in body["model"]
    return Said("Ready.") if known else Said(status=404, error=f"The model `{body['model']}` does not exist.")


def lax(body: Json) -> Said:
    """A server that answers to any name."""
    return Said("Ready.")


CASES: list[tuple[str, Any, Any, str, Status, str, str]] = [
    ("one, strict", vllm("a"), strict, "", Status.OK, "a; other names are refused", ""),
    ("one, lax", llamacpp("a"), lax, "", Status.OK, "a; the server answers to any other name too", ""),
    ("one, wanted", vllm("a"), strict, "A", Status.OK, "a; other names are refused", ""),
    ("several", vllm("a", "b"), strict, "", Status.WARN, "a, one of 2: a, b", "export POOL_MODEL=a"),
    ("several, wanted", vllm("a", "b"), strict, "b", Status.OK, "b; other names are refused", ""),
    ("several, lax", llamacpp("a", "b"), lax, "b", Status.WARN, "any model name", "export POOL_MODEL=b"),
    ("typo, strict", vllm("a"), strict, "typo", Status.FAIL, "typo is not among the server's models (a)", "=a"),
    ("typo, lax", llamacpp("a"), lax, "typo", Status.WARN, "typo is not among the server's models (a)", "=a"),
    ("none", vllm() | {"/v1/models": models()}, strict, "", Status.FAIL, "lists no model", "export POOL_MODEL=MODEL"),
]


@pytest.mark.parametrize(
    ("documents", "say", "wanted", "status", "words", "remedy"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
async def test_models(documents: Any, say: Any, wanted: str, status: Status, words: str, remedy: str) -> None:
    environment = ServerEnvironment(model=wanted)
    found = (await of_script(Script(say, documents), "model", environment=environment))["model"]
    assert (found.status, words in found.words) == (status, True), found.words
    assert found.remedy.endswith(remedy)
    assert bool(found.remedy) == bool(remedy)


async def test_a_server_that_would_fetch_models_is_not_asked_for_one_that_does_not_exist() -> None:
    async with ScriptedServer(Script(documents={"/v1/models": models("m")}).handle) as server:
        async with subject_at(server.url) as subject:
            found = await made(subject, "model")
            assert subject.info.kind is ServerKind.GENERIC
        assert [json.loads(e.body) for e in server.requests if e.method == "POST"] == []
    assert (found["model"].words, found["model"].data["unknown_accepted"]) == ("m", None)


WINDOWS: list[tuple[str, int | None, int, Status, str, str]] = [
    ("told", 65_536, 0, Status.OK, "65,536 tokens (models, max_model_len)", ""),
    ("told, less wanted", 65_536, 32_768, Status.OK, "32,768 tokens by POOL_CONTEXT_LENGTH; the server has 65,536", ""),
    (
        "told, more wanted",
        65_536,
        90_000,
        Status.WARN,
        "says 90,000 tokens, the server has 65,536",
        "unset POOL_CONTEXT_LENGTH",
    ),
    ("told, small", 8_192, 0, Status.WARN, "8,192 tokens", "--max-model-len 131072"),
    ("made small", 65_536, 4_096, Status.WARN, "4,096 tokens by POOL", "unset POOL_CONTEXT_LENGTH"),
    ("unknown", None, 0, Status.WARN, "vLLM does not tell it", "export POOL_CONTEXT_LENGTH=131072"),
    ("unknown, given", None, 65_536, Status.OK, "65,536 tokens by POOL_CONTEXT_LENGTH; the server does not tell", ""),
]


@pytest.mark.parametrize(
    ("told", "given", "status", "words", "remedy"), [w[1:] for w in WINDOWS], ids=[w[0] for w in WINDOWS]
)
async def test_windows(told: int | None, given: int, status: Status, words: str, remedy: str) -> None:
    script = Script(strict, vllm("a", window=told))
    found = (await of_script(script, "window", environment=ServerEnvironment(window=given)))["window"]
    assert (found.status, found.remedy) == (status, remedy)
    assert words in found.words


async def test_ollama_tells_its_window_only_later() -> None:
    found = (await of_script(Script(strict, ollama("laguna:latest")), "window"))["window"]
    assert (found.status, found.words) == (Status.WARN, "Ollama does not tell it before the model is loaded")
