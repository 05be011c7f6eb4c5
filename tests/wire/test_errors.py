from __future__ import annotations

import json
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.endpoint import parse_endpoint
from pool.wire.error_body import MESSAGE_CHARS, read_retry_after
from pool.wire.errors import ProblemKind, ServerProblem, classify_fault, classify_response
from pool.wire.reading import ServerFault
from pool.wire.transport import ERROR_BODY_BYTES

RECORDINGS = Path(__file__).parent / "recordings"
KEY = "sk-unique-4711-abcdef"
ENDPOINT = parse_endpoint("http://h:8000", KEY)


def classify(status: int, body: Any, headers: dict[str, str] | None = None) -> ServerProblem:
    raw = body if isinstance(body, str) else json.dumps(body)
    return classify_response(status, headers or {}, raw.encode(), ENDPOINT)


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def recorded(server: str, case: str) -> ServerProblem:
    folder = RECORDINGS / server / case
    meta = json.loads((folder / "response.json").read_text())
    return classify_response(meta["status"], meta["headers"], (folder / "response.body").read_bytes(), ENDPOINT)


@pytest.mark.parametrize("server", ["vllm-0.25.1", "vllm-0.32.0"])
@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("E1-context-too-long", ProblemKind.OVERFLOW),
        ("E2-context-too-long-not-streaming", ProblemKind.OVERFLOW),
        ("E3-max-tokens-over-context", ProblemKind.OVERFLOW),
        ("E4-model-not-found", ProblemKind.MODEL_NOT_FOUND),
        ("E5-bad-json", ProblemKind.BAD_REQUEST),
        ("E6-missing-messages", ProblemKind.BAD_REQUEST),
        ("E7-unknown-route", ProblemKind.NOT_FOUND),
        ("E10-tool-choice-without-tools", ProblemKind.BAD_REQUEST),
        ("E11-named-tool-not-in-tools", ProblemKind.BAD_REQUEST),
        ("E14-max-tokens-zero", ProblemKind.BAD_REQUEST),
        ("E15-stream-options-without-stream", ProblemKind.BAD_REQUEST),
        ("E17-wrong-api-key", ProblemKind.UNAUTHORIZED),
    ],
)
def test_recorded_refusals_of_vllm(server: str, case: str, kind: ProblemKind) -> None:
    problem = recorded(server, case)
    assert problem.kind is kind
    assert problem.message
    assert len(problem.message) <= MESSAGE_CHARS
    assert "site-packages" not in problem.message


def test_recorded_numbers_of_an_overflow() -> None:
    for server in ("vllm-0.25.1", "vllm-0.32.0"):
        problem = recorded(server, "E1-context-too-long")
        assert (problem.window, problem.prompt_tokens, problem.at_least) == (4096, 4097, True)
        alone = recorded(server, "E3-max-tokens-over-context")
        assert (alone.window, alone.prompt_tokens, alone.output_tokens) == (4096, None, 99999)
    exact = recorded("llamacpp-b11549", "L06-context-too-long")
    assert (exact.window, exact.prompt_tokens, exact.at_least) == (4096, 6031, False)


def test_validation_errors_are_cut_to_what_they_say() -> None:
    problem = recorded("vllm-0.25.1", "E11-named-tool-not-in-tools")
    assert problem.message.startswith("Value error, The tool specified in `tool_choice` does not match")
    assert problem.parameters == ("tool_choice",)
    assert recorded("vllm-0.25.1", "E5-bad-json").message == "JSON decode error"


def test_recorded_refusals_of_llamacpp() -> None:
    assert recorded("llamacpp-b11549", "L09-bad-json").kind is ProblemKind.BAD_REQUEST
    broken_history = recorded("llamacpp-b11549", "T15-history-arguments-not-json")
    assert (broken_history.kind, broken_history.status) == (ProblemKind.BAD_REQUEST, 500)


OVERFLOWS: list[tuple[int, Any, tuple[int | None, int | None, int | None, bool]]] = [
    (
        400,
        error(
            "This model's maximum context length is 131072 tokens. However, you requested 8192 output tokens and your "
            "prompt contains at least 122881 input tokens, for a total of at least 131073 tokens."
        ),
        (131072, 122881, 8192, True),
    ),
    (
        400,
        error(
            "This model's maximum context length is 4096 tokens. However, you requested 100 output tokens and your "
            "prompt contains 90000 characters (more than 80000 characters, which is the upper bound for "
            "3996 input tokens)."
        ),
        (4096, None, 100, False),
    ),
    (
        400,
        error("The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that ..."),
        (4096, 5000, None, False),
    ),
    (
        400,
        error(
            "The decoder prompt (length 4096) plus the number of requested output tokens (at least 1) is longer "
            "than the maximum model length of 4096."
        ),
        (4096, 4096, None, False),
    ),
    (
        400,
        {
            "object": "error",
            "message": "The input (138237 tokens) is longer than the model's context length (131072 tokens).",
            "type": "BadRequest",
            "param": None,
            "code": 400,
        },
        (131072, 138237, None, False),
    ),
    (
        400,
        {
            "error": {
                "object": "error",
                "message": "Requested token count exceeds the model's maximum context length of 64000 tokens. You "
                "requested a total of 71897 tokens: 7897 tokens from the input messages and "
                "64000 tokens for the completion.",
            }
        },
        (64000, 7897, 64000, False),
    ),
    (
        400,
        {
            "error": "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded "
            "with context length of only 4096 tokens, which is not enough."
        },
        (4096, 9000, None, False),
    ),
    (
        400,
        {"error": "The number of tokens to keep from the initial prompt is greater than the context length."},
        (None, None, None, False),
    ),
    (500, error("Context size has been exceeded.", code=500, type="server_error"), (None, None, None, False)),
    (400, error("the input length exceeds the context length", type="api_error"), (None, None, None, False)),
    (
        400,
        error(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 150211 tokens "
            "(140000 of text input, 8000 of tool input, 2211 in the output). Please reduce the length of either one.",
            code=400,
        ),
        (131072, 148000, 2211, False),
    ),
    (
        400,
        error(
            "'max_tokens' is too large: 4096. This model's maximum context length is 2048 tokens and your request "
            "has 38 input tokens (4096 > 2048 - 38)."
        ),
        (2048, 38, 4096, False),
    ),
    (400, error("too many tokens", code="context_length_exceeded"), (None, None, None, False)),
]


@pytest.mark.parametrize(("status", "body", "numbers"), OVERFLOWS)
def test_every_wording_of_an_overflow(
    status: int, body: Any, numbers: tuple[int | None, int | None, int | None, bool]
) -> None:
    problem = classify(status, body)
    assert problem.kind is ProblemKind.OVERFLOW
    assert (problem.window, problem.prompt_tokens, problem.output_tokens, problem.at_least) == numbers
    assert problem.remedy


@pytest.mark.parametrize(
    "body", [error("no user query found in messages", type="api_error"), {"error": "no user query found in messages"}]
)
def test_a_prompt_whose_front_was_cut_off_is_explained(body: Any) -> None:
    problem = classify(500, body)
    assert problem.kind is ProblemKind.OVERFLOW
    assert "no user query found in messages" in problem.message
    assert "num_ctx" in problem.remedy


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, error("The context of this word is unclear"), ProblemKind.BAD_REQUEST),
        (400, error("max_tokens must be at least 1, got 0."), ProblemKind.BAD_REQUEST),
        (400, error("unsupported value for parameter foo"), ProblemKind.BAD_REQUEST),
        (401, {"error": "Unauthorized"}, ProblemKind.UNAUTHORIZED),
        (403, "", ProblemKind.UNAUTHORIZED),
        (402, error("Insufficient credits"), ProblemKind.UNAUTHORIZED),
        (429, error("You exceeded your current quota", type="insufficient_quota"), ProblemKind.UNAUTHORIZED),
        (429, error("busy"), ProblemKind.BUSY),
        (404, error('model "laguna" not found, try pulling it first'), ProblemKind.MODEL_NOT_FOUND),
        (400, error("poolside/foo is not a valid model ID", code=400), ProblemKind.MODEL_NOT_FOUND),
        (404, "404 page not found", ProblemKind.NOT_FOUND),
        (404, "", ProblemKind.NOT_FOUND),
        (404, error("File Not Found", type="not_found_error", code=404), ProblemKind.NOT_FOUND),
        (404, {"error": "list index out of range"}, ProblemKind.BAD_REQUEST),
        (422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, ProblemKind.BAD_REQUEST),
        (500, error("engine exploded"), ProblemKind.SERVER_ERROR),
        (500, error("Value is not callable: null (Jinja template)"), ProblemKind.BAD_REQUEST),
        (501, error("not implemented"), ProblemKind.BAD_REQUEST),
        (502, "<html><head><title>502 Bad Gateway</title></head></html>", ProblemKind.SERVER_ERROR),
        (503, error("Loading model", type="unavailable_error", code=503), ProblemKind.LOADING),
        (503, "<html><h1>503 Service Unavailable</h1></html>", ProblemKind.LOADING),
        (503, error("server busy, please try again. maximum pending requests exceeded"), ProblemKind.BUSY),
        (504, "<html><title>504 Gateway Time-out</title></html>", ProblemKind.TIMEOUT),
        (200, "<!DOCTYPE html><html><title>Router login</title></html>", ProblemKind.NOT_A_SERVER),
        (404, "<!doctype html><title>Not here</title>", ProblemKind.NOT_A_SERVER),
        (301, "", ProblemKind.NOT_A_SERVER),
    ],
)
def test_kinds(status: int, body: Any, kind: ProblemKind) -> None:
    problem = classify(status, body)
    assert problem.kind is kind
    assert problem.message
    assert str(status) in str(problem)


def test_the_servers_own_words_are_kept() -> None:
    assert classify(500, error("engine exploded")).message == "engine exploded"
    assert classify(502, "<html><title>502 Bad\nGateway</title></html>").message == "502 Bad Gateway"
    assert (
        classify(422, {"detail": [{"loc": ["body", "x"], "msg": "field required"}]}).message == "body.x: field required"
    )
    upstream = error("Provider returned error", metadata={"provider_name": "Novita", "raw": "cuda broke"}, code=502)
    assert classify(502, upstream).message == "Provider returned error (Novita) cuda broke"


def test_a_redirect_says_where_to() -> None:
    problem = classify(301, "", {"location": "https://h/v1/chat/completions?token=abc123456"})
    assert "https://h/v1" in problem.remedy
    assert "abc123456" not in problem.remedy


def test_a_message_with_the_key_in_it_loses_it_even_at_the_cut() -> None:
    for fill in range(MESSAGE_CHARS - 30, MESSAGE_CHARS + 5):
        problem = classify(401, error(f"{'x' * fill} {KEY} is not a key"))
        assert KEY[:8] not in problem.message
        assert KEY not in str(problem)


def test_control_characters_do_not_reach_the_screen() -> None:
    assert classify(500, error("a\x1b[31mb\nc")).message == "a [31mb c"


def test_fields_that_a_refusal_is_about() -> None:
    speculation = "The min_p and logit_bias sampling parameters are not yet supported with speculative decoding."
    assert set(classify(400, error(speculation)).parameters) == {"min_p", "logit_bias"}
    budget = classify_fault(
        ServerFault("thinking_token_budget is set but reasoning_config is not configured.", 400, "BadRequestError"),
        ENDPOINT,
    )
    assert budget.kind is ProblemKind.BAD_REQUEST
    assert budget.parameters == ("thinking_token_budget",)
    assert "--reasoning-config" in budget.remedy


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (ServerFault("engine stopped", 500), ProblemKind.SERVER_ERROR),
        (ServerFault("EngineCore encountered an issue.", 500, "InternalServerError"), ProblemKind.SERVER_ERROR),
        (ServerFault("bad grammar", 0, "BadRequestError"), ProblemKind.BAD_REQUEST),
        (ServerFault("who knows"), ProblemKind.SERVER_ERROR),
        (ServerFault("slow down", 429), ProblemKind.BUSY),
        (ServerFault("request (9 tokens) exceeds the available context size (8 tokens)", 400), ProblemKind.OVERFLOW),
    ],
)
def test_faults_in_the_stream(fault: ServerFault, kind: ProblemKind) -> None:
    problem = classify_fault(fault, ENDPOINT)
    assert problem.kind is kind
    assert problem.received


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": formatdate(NOW + 7, usegmt=True)}, 7.0),
        ({"retry-after": formatdate(NOW - 70, usegmt=True)}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "9" * 30}, None),
        ({}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"[[]]", b"3", b'"x"', b"{}", b'{"error":null}', b"\xff\xfe", b"[" * 99999]
)
def test_bodies_of_no_known_shape_give_a_problem_all_the_same(body: bytes) -> None:
    problem = classify_response(500, {}, body, ENDPOINT)
    assert problem.kind is ProblemKind.SERVER_ERROR
    assert problem.message


PIECES = st.sampled_from(
    (
        *("'msg': '", '"msg": "', "'", '"', "\\", "{", "}", "[", "]", ":", ",", "\x00", "9" * 5000),
        *(
            "error",
            "message",
            "detail",
            "<html>",
            "<title>",
            "model ",
            "not found",
            "trying to keep the first 1 tokens ",
        ),
        "maximum context length is ",
    )
)


@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from([200, 301, 400, 401, 404, 429, 500, 503, 599, 999]))
def test_no_body_is_odd_enough_to_raise(text: str, status: int) -> None:
    for body in (text, json.dumps({"error": text}), json.dumps({"error": {"message": text, "code": text}})):
        problem = classify_response(status, {}, body.encode(), ENDPOINT)
        assert problem.message
        assert problem.message.isprintable()
        assert problem.status == status


@pytest.mark.parametrize(
    "piece", ["'msg': '", "trying to keep the first 1 tokens ", "decoder prompt (length 1) plus", "a.b,"]
)
def test_a_long_hostile_body_is_read_in_no_time(piece: str) -> None:
    """What grows with the square of the length would take minutes here; the suite's time limit is the judge."""
    body = (piece * 100_000)[: 4 * ERROR_BODY_BYTES].encode()
    assert classify_response(400, {}, body, ENDPOINT).message
