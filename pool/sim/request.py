"""A chat request, read and checked as vLLM 0.25.1 does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pool.sim.errors import ApiError, missing_field, not_json, shape_error
from pool.sim.forms import Form, read_form

SHORTEST_PATTERN_TOKENS = 1


@dataclass(frozen=True, slots=True)
class Repetition:
    """vLLM's `repetition_detection`: stop after count copies in a row of a pattern of shortest to longest tokens."""

    shortest: int
    longest: int
    count: int


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to `/v1/chat/completions`.

    thinking: what the client said (`enable_thinking`, else `reasoning_effort`), None if nothing. tool_choice: auto,
    none, required, or the name of a tool. max_tokens, thinking_budget: None if not sent; budget -1 is unlimited.
    refused_by_drafts: a field was sent that vLLM refuses with speculative decoding. ignore_eos: write on to the limit.
    form: what a grammar allows. Only faults set the last three: accepts_drafts: whether any draft token is right;
    raw_text: the parsers pass everything; keeps_tokens: only so many tokens at the prompt's end are read (0: all).
    """

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: str = "auto"
    parallel: bool = True
    thinking: bool | None = None
    preserve_thinking: bool = False
    max_tokens: int | None = None
    stream: bool = False
    include_usage: bool = False
    continuous_usage: bool = False
    continue_final: bool = False
    generate: bool = True
    include_reasoning: bool = True
    stop: tuple[str, ...] = ()
    repetition: Repetition | None = None
    thinking_budget: int | None = None
    refused_by_drafts: bool = False
    cache_salt: str = ""
    ignore_eos: bool = False
    return_prompt_text: bool = False
    form: Form | None = None
    accepts_drafts: bool = True
    raw_text: bool = False
    keeps_tokens: int = 0

    @property
    def calls_allowed(self) -> bool:
        """Whether calls would be parsed: tools were sent and not switched off."""
        return bool(self.tools) and self.tool_choice != "none"


def read_json(raw: bytes) -> dict[str, Any]:
    """A request body. Raises `ApiError` if it is no JSON object."""
    try:
        body: object = json.loads(raw)
    except json.JSONDecodeError as error:
        raise not_json(error.pos, error.msg) from error
    except UnicodeDecodeError as error:
        raise not_json(error.start, "invalid UTF-8") from error
    if not isinstance(body, dict):
        raise shape_error("the body must be an object", "body", body)
    return cast("dict[str, Any]", body)


def read_chat(body: Mapping[str, Any], model: str, window: int) -> ChatRequest:
    """Check a body. Raises `ApiError`: 400 for what vLLM refuses, 404 for another model than the served one."""
    if not isinstance(body.get("messages"), list):
        raise missing_field("messages", body)
    wanted = body.get("model")
    if wanted and wanted != model:
        raise ApiError(f"The model `{wanted}` does not exist.", status=404, param="model")
    messages = [
        cast("Mapping[str, Any]", item) for item in cast("list[object]", body["messages"]) if isinstance(item, dict)
    ]
    if not messages:
        raise ApiError("At least one message is needed.", param="messages")
    if body.get("n", 1) != 1:
        raise ApiError("The simulator writes one choice: send n = 1 or leave it out.", param="n")
    options = _stream_options(body)
    kwargs = cast("Mapping[str, Any]", body.get("chat_template_kwargs") or {})
    generate, goes_on = bool(body.get("add_generation_prompt", True)), bool(body.get("continue_final_message", False))
    if generate and goes_on:
        message = "Cannot set both `continue_final_message` and `add_generation_prompt` to True."
        raise shape_error(message, "continue_final_message", body)
    return ChatRequest(
        messages=tuple(messages),
        tools=_tools(body),
        tool_choice=_tool_choice(body),
        parallel=body.get("parallel_tool_calls") is not False,
        thinking=_thinking(body, kwargs),
        preserve_thinking=bool(kwargs.get("preserve_thinking", False)),
        max_tokens=_max_tokens(body, window),
        stream=bool(body.get("stream")),
        include_usage=bool(options.get("include_usage")),
        continuous_usage=bool(options.get("include_usage") and options.get("continuous_usage_stats")),
        continue_final=goes_on,
        generate=generate,
        include_reasoning=body.get("include_reasoning") is not False,
        stop=_stop(body),
        repetition=_repetition(body),
        thinking_budget=_budget(body),
        refused_by_drafts=bool(body.get("logit_bias")) or bool(body.get("min_p") and body.get("temperature") != 0),
        cache_salt=_salt(body),
        ignore_eos=body.get("ignore_eos") is True,
        return_prompt_text=bool(body.get("return_prompt_text")),
        form=read_form(body),
    )


def _stream_options(body: Mapping[str, Any]) -> Mapping[str, Any]:
    options = body.get("stream_options")
    if options is None:
        return {}
    if not body.get("stream"):
        raise shape_error("Stream options can only be defined when `stream=True`.", "stream_options", body)
    return cast("Mapping[str, Any]", options)


def _tools(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    tools: object = body.get("tools")
    if tools is None:
        return ()
    if not isinstance(tools, list) or not tools:
        raise shape_error("`tools` must not be empty: leave it out instead", "tools", body)
    return tuple(cast("list[Mapping[str, Any]]", tools))


def _tool_choice(body: Mapping[str, Any]) -> str:
    choice: object = body.get("tool_choice")
    if choice is None:
        return "auto"
    if not body.get("tools"):
        raise shape_error("When using `tool_choice`, `tools` must be set.", "tool_choice", body)
    if isinstance(choice, str):
        return choice
    name = str(cast("Mapping[str, Any]", cast("Mapping[str, Any]", choice).get("function") or {}).get("name"))
    names = {tool.get("function", {}).get("name") for tool in _tools(body)}
    if name not in names:
        message = "The tool specified in `tool_choice` does not match any of the specified `tools`"
        raise shape_error(message, "tool_choice", body)
    return name


def _thinking(body: Mapping[str, Any], kwargs: Mapping[str, Any]) -> bool | None:
    """`enable_thinking` by its truth value (so the text "false" is true), else whether `reasoning_effort` is given."""
    if "enable_thinking" in kwargs:
        return bool(kwargs["enable_thinking"])
    effort = body.get("reasoning_effort")
    return None if effort is None else effort != "none"


def _max_tokens(body: Mapping[str, Any], window: int) -> int | None:
    """`max_completion_tokens` wins over `max_tokens`. Refusals as in recordings E3 and E14."""
    value: object = body.get("max_completion_tokens", body.get("max_tokens"))
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise shape_error("max_tokens must be an integer", "max_tokens", body)
    if value < 1:
        raise ApiError(
            f"max_tokens must be at least 1, got {value}. (parameter=max_tokens, value={value})", param="max_tokens"
        )
    if value > window:
        raise ApiError(
            f"max_tokens={value} cannot be greater than max_model_len=max_total_tokens={window}. "
            f"Please request fewer output tokens. (parameter=max_tokens, value={value})",
            param="max_tokens",
        )
    return value


def _stop(body: Mapping[str, Any]) -> tuple[str, ...]:
    stop: object = body.get("stop")
    if isinstance(stop, str):
        return (stop,) if stop else ()
    return tuple(str(item) for item in cast("list[object]", stop or []) if item)


def _repetition(body: Mapping[str, Any]) -> Repetition | None:
    given = cast("Mapping[str, Any]", body.get("repetition_detection") or {})
    if not given:
        return None
    longest, shortest = (
        int(given.get("max_pattern_size") or 0),
        int(given.get("min_pattern_size") or SHORTEST_PATTERN_TOKENS),
    )
    count = int(given.get("min_count") or 0)
    if count < 2 or shortest < 1 or shortest > longest:
        message = "repetition_detection needs min_count >= 2 and 1 <= min_pattern_size <= max_pattern_size"
        raise shape_error(message, "repetition_detection", body)
    return Repetition(shortest, longest, count)


def _budget(body: Mapping[str, Any]) -> int | None:
    value: object = body.get("thinking_token_budget")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < -1:
        raise shape_error("thinking_token_budget must be an integer >= 0, or -1", "thinking_token_budget", body)
    return value


def _salt(body: Mapping[str, Any]) -> str:
    salt: object = body.get("cache_salt")
    if salt == "":
        raise shape_error("Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt", body)
    return str(salt or "")
