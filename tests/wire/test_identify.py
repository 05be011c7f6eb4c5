from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.dialects import ServerKind, TokenizerKind, kind_of_address
from pool.wire.identify import Documents, ServerInfo, choose_model, identify

RECORDINGS = Path(__file__).parent / "recordings"


def recorded(server: str, case: str) -> Any:
    return json.loads((RECORDINGS / server / case / "response.body").read_text())


def read(
    documents: dict[str, Any], *, metrics: str = "", header: str = "", model: str = "", host: str = "h"
) -> ServerInfo:
    return identify(Documents(documents, metrics, header), kind_of_address(f"http://{host}/v1"), model, reachable=True)


@pytest.mark.parametrize("version", ["0.25.1", "0.32.0"])
@pytest.mark.parametrize("speculative", [True, False])
def test_vllm_as_recorded(version: str, speculative: bool) -> None:
    server = f"vllm-{version}"
    metrics = (RECORDINGS / f"metrics-{server}{'-speculative' if speculative else ''}.txt").read_text()
    info = read({"models": recorded(server, "G1-models"), "/version": recorded(server, "G2-version")}, metrics=metrics)
    assert (info.kind, info.version, info.model) == (ServerKind.VLLM, version, "laguna-test")
    assert (info.window, info.window_source) == (4096, "models, max_model_len")
    assert info.speculation is speculative
    assert info.tokenizer is TokenizerKind.CHAT
    assert "4,096 tokens is small" in info.notes[0]
    assert "--max-model-len" in info.notes[0]
    assert info.describe() == f"vLLM {version}: laguna-test, window 4,096 tokens"


def test_llamacpp_as_recorded() -> None:
    metrics = (RECORDINGS / "metrics-llamacpp-b11549.txt").read_text()
    documents = {"models": recorded("llamacpp-b11549", "G-models"), "/props": recorded("llamacpp-b11549", "G-props")}
    info = read(documents, metrics=metrics)
    assert (info.kind, info.model, info.window) == (ServerKind.LLAMACPP, "tiny-agent", 8192)
    assert "per slot" in info.window_source
    assert info.speculation is False, "its metrics name speculation even when there is none"
    documents["/props"]["total_slots"] = 4
    documents["/props"]["chat_template_caps"]["supports_tools"] = False
    notes = " ".join(read(documents).notes)
    assert "--jinja" in notes
    assert "4 slots" in notes


def test_sglang() -> None:
    models = {"data": [{"id": "laguna", "owned_by": "sglang", "max_model_len": 65536}]}
    about = {"version": "0.5.23", "max_total_num_tokens": 9, "speculative_algorithm": None, "context_length": 1}
    info = read({"models": models, "/get_server_info": about})
    assert (info.kind, info.version, info.window, info.speculation) == (ServerKind.SGLANG, "0.5.23", 65536, False)
    renamed = read({"models": {"data": [{"id": "x"}]}, "/server_info": {**about, "speculative_algorithm": "EAGLE"}})
    assert (renamed.kind, renamed.window, renamed.speculation) == (ServerKind.SGLANG, 1, True)


def test_ollama_names_its_window_only_once_the_model_is_loaded() -> None:
    documents: dict[str, Any] = {
        "models": {"data": [{"id": "laguna:latest", "owned_by": "library"}, {"id": "nomic-embed-text:latest"}]},
        "/api/version": {"version": "0.11.4"},
        "/api/ps": {"models": []},
    }
    cold = read(documents, model="laguna")
    assert (cold.kind, cold.version, cold.model, cold.window) == (ServerKind.OLLAMA, "0.11.4", "laguna:latest", 0)
    assert "`window`" in cold.notes[0]
    documents["/api/ps"] = {"models": [{"name": "laguna:latest", "context_length": 4096}]}
    warm = read(documents)
    assert (warm.model, warm.window, warm.window_source) == ("laguna:latest", 4096, "/api/ps")
    assert "OLLAMA_CONTEXT_LENGTH" in warm.notes[0]


def test_lm_studio_answers_every_address_with_200() -> None:
    nothing = {"error": "Unexpected endpoint or method. (GET /version)"}
    documents = {
        "models": {
            "data": [{"id": "a", "owned_by": "organization_owner"}, {"id": "b", "owned_by": "organization_owner"}]
        },
        "/version": nothing,
        "/props": nothing,
        "/api/version": nothing,
        "/api/v0/models": {
            "data": [
                {"id": "a", "state": "not-loaded", "max_context_length": 999_999},
                {"id": "b", "state": "loaded", "loaded_context_length": 32768, "max_context_length": 999_999},
            ]
        },
    }
    info = read(documents)
    assert (info.kind, info.model, info.window) == (ServerKind.LMSTUDIO, "b", 32768)
    assert "--model" in info.notes[0]
    assert read(documents, model="a").window == 0, "what it could load is not what is loaded"


def test_mlx_is_known_by_its_bare_list_and_pythons_http_server() -> None:
    models = {"object": "list", "data": [{"id": "mlx/laguna", "object": "model", "created": 1}]}
    assert read({"models": models}, header="BaseHTTP/0.6 Python/3.12").kind is ServerKind.MLX
    assert read({"models": models}, header="uvicorn").kind is ServerKind.GENERIC


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("openrouter.ai", ServerKind.OPENROUTER),
        ("inference.poolside.ai", ServerKind.POOLSIDE),
        ("notopenrouter.ai", ServerKind.GENERIC),
    ],
)
def test_hosted_services_are_known_by_name(host: str, kind: ServerKind) -> None:
    models = {"data": [{"id": "poolside/laguna", "context_length": 131072}]}
    info = read({"models": models}, host=host, model="laguna")
    assert (info.kind, info.model, info.window) == (kind, "poolside/laguna", 131072)


def test_what_a_server_calls_itself_counts_more_than_what_it_answers() -> None:
    """A server may answer `/api/version`, and a gateway `/version`, without being Ollama or vLLM."""
    models = {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 131072}]}
    same = {"version": "0.25.1"}
    info = read({"models": models, "/version": same, "/api/version": same})
    assert (info.kind, info.notes) == (ServerKind.VLLM, ())
    assert read({"models": {"data": [{"id": "m", "owned_by": "openai"}]}}).kind is ServerKind.GENERIC


@pytest.mark.parametrize(
    ("names", "wanted", "loaded", "chosen", "says"),
    [
        (["a"], "", [], "a", ""),
        (["text-embed", "a"], "", [], "a", ""),
        ([], "", [], "", "lists no model"),
        ([], "x", [], "x", ""),
        (["a", "b"], "", ["b"], "b", "2 models"),
        (["a", "Laguna-S"], "", [], "Laguna-S", "2 models"),
        (["org/Laguna-S", "b"], "laguna-s", [], "org/Laguna-S", ""),
        (["x/a", "y/a"], "a", [], "a", "does not list"),
        (["a", "A"], "a", [], "a", ""),
        (["a"], "b", [], "b", "it has a"),
    ],
)
def test_which_model_is_asked_for(names: list[str], wanted: str, loaded: list[str], chosen: str, says: str) -> None:
    model, note = choose_model(names, wanted, loaded)
    assert model == chosen
    assert says in note
    assert bool(says) == bool(note)


FIELDS = (
    *("data", "models", "id", "name", "owned_by", "version", "max_model_len", "meta", "n_ctx", "state", "params"),
    *("default_generation_settings", "total_slots", "chat_template_caps", "server_args", "context_length"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
PATHS = [
    "models",
    "/version",
    "/props",
    "/api/version",
    "/api/ps",
    "/api/v0/models",
    "/get_server_info",
    "/server_info",
]


@given(st.dictionaries(st.sampled_from(PATHS), JSON), st.text(max_size=30), st.text(max_size=5))
def test_no_document_is_odd_enough_to_raise(documents: dict[str, Any], metrics: str, model: str) -> None:
    info = read(documents, metrics=metrics, model=model)
    assert info.window >= 0
    assert info.describe()
    assert not model or info.model


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2J", "\u202egpj", "", "x" * 1000, "\ud800"])
def test_a_name_that_cannot_be_shown_is_no_model(name: str) -> None:
    info = read({"models": {"data": [{"id": name}, {"id": "laguna"}]}, "/version": {"version": name}})
    assert (info.models, info.model, info.version) == (("laguna",), "laguna", "")
