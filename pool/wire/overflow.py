"""Recognising that a request does not fit the context window, in the words of each server.

The numbers are worth having: the window may be unknown until the server names it, and a prompt that fits with a smaller
`max_tokens` needs no compaction.
"""

from __future__ import annotations

import re

from pool_tools.frozen import frozen

OVERFLOW_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"})
"""Values of `type` or `code` in an error object: llama.cpp's, OpenAI's, and those of gateways that imitate them."""


@frozen
class Overflow:
    """What a server said about a request that is too long; all in tokens, None where it said nothing.

    prompt_tokens is only a lower bound if at_least is set: vLLM stops counting once the limit is passed.
    prompt_was_cut: the server dropped the front of the prompt without a word and stumbled over the rest (Ollama).
    """

    window: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    at_least: bool = False
    prompt_was_cut: bool = False


_N = r"\d[\d,]{0,14}"
_WINDOW = rf"(?P<window>{_N})"
_PROMPT = rf"(?P<prompt>{_N})"
_OUTPUT = rf"(?P<output>{_N})"
_LEAST = r"(?P<least>at least )?"
_OPENING = rf"maximum context length is {_WINDOW} tokens\W+However, "
_WORDINGS = (
    # vLLM 0.25.1 (recorded); the count is a lower bound if it says so.
    rf"{_OPENING}you requested {_OUTPUT} output tokens and your prompt contains {_LEAST}{_PROMPT} input tokens",
    # vLLM 0.32.0 (recorded).
    rf"{_OPENING}your prompt contains {_LEAST}{_PROMPT} input tokens",
    # vLLM, the check by characters: the number is no token count.
    rf"{_OPENING}you requested {_OUTPUT} output tokens and your prompt contains {_N} characters",
    # vLLM, the engine's own check.
    rf"decoder prompt \(length {_PROMPT}\)(?: plus [^.]{{0,100}})? is longer than the maximum model length of "
    rf"{_WINDOW}",
    # vLLM (recorded): the output alone is too long.
    rf"max_tokens={_OUTPUT} cannot be greater than max_model_len=(?:max_total_tokens=)?{_WINDOW}",
    # vLLM, earlier versions.
    rf"too large: {_OUTPUT}\. This model's maximum context length is {_WINDOW} tokens "
    rf"and your request has {_PROMPT} input tokens",
    rf"{_OPENING}you requested {_N} tokens \({_PROMPT} in the messages, {_OUTPUT} in the completion\)",
    # OpenAI.
    rf"{_OPENING}your messages resulted in {_PROMPT} tokens",
    # OpenRouter; tool input is counted apart.
    rf"{_OPENING}you requested about {_N} tokens "
    rf"\({_PROMPT} of text input, (?:(?P<tools>{_N}) of tool input, )?{_OUTPUT} in the output\)",
    # llama.cpp (recorded).
    rf"request \({_PROMPT} tokens\) exceeds the available context size \({_WINDOW} tokens\)",
    # SGLang: prompt alone, prompt and output together, and its other check.
    rf"input \({_PROMPT} tokens\) is longer than the model's context length \({_WINDOW} tokens\)",
    rf"maximum context length of {_WINDOW} tokens\W+You requested a total of {_N} tokens: "
    rf"{_PROMPT} tokens from the input messages and {_OUTPUT} tokens for the completion",
    rf"input length \({_PROMPT}(?: tokens)?\) exceeds the maximum allowed length \({_WINDOW}",
    # LM Studio: keeping the front, with the window it loaded.
    rf"trying to keep the first {_PROMPT} tokens.{{0,200}}?context length of only {_WINDOW} tokens",
    rf"reached context length of {_WINDOW} tokens",
    # Text Generation Inference, which gateways put behind the same API.
    rf"must be <= {_WINDOW}\. Given: {_PROMPT} `inputs` tokens and {_OUTPUT}",
)
_LOOSE_WORDINGS = (
    # Anything else that names the window.
    rf"maximum (?:context|model|prompt) length (?:is|of) {_WINDOW}",
    rf"context (?:size|length|window) (?:is |of )?\(?{_WINDOW}",
)
_PHRASES = re.compile(
    r"context size has been exceeded"
    r"|exceeds? the (?:available |model'?s )?context (?:size|length|window)"
    r"|input length exceeds"
    r"|(?:greater|longer) than the (?:model'?s )?(?:maximum )?(?:context|model) (?:length|size)"
    r"|(?:maximum|exceed\w*|overflow\w*|max) (?:the )?(?:model'?s )?context (?:size|length|window)"
    r"|context (?:length|window|size) (?:limit )?(?:is )?exceed"
    r"|maximum model length"
    r"|prompt (?:is )?too long",
    re.IGNORECASE,
)
_PROMPT_WAS_CUT = re.compile(r"no user (?:query|message) (?:was )?found in (?:the )?messages", re.IGNORECASE)


def read_overflow(message: str, codes: tuple[str, ...] = ()) -> Overflow | None:
    """What message says about a full window, or None if it speaks of something else.

    codes are the `type` and `code` of the error object, if it has them.
    """
    if _PROMPT_WAS_CUT.search(message):
        return Overflow(prompt_was_cut=True)
    if match := _first(_WORDINGS, message):
        return _overflow(match)
    if not any(code in OVERFLOW_CODES for code in codes) and not _PHRASES.search(message):
        return None
    match = _first(_LOOSE_WORDINGS, message)
    return _overflow(match) if match else Overflow()


def _first(patterns: tuple[str, ...], message: str) -> re.Match[str] | None:
    """The first match; patterns are compiled when first needed, which is never in most runs."""
    for pattern in patterns:
        if match := re.search(pattern, message, re.IGNORECASE | re.DOTALL):
            return match
    return None


def _overflow(match: re.Match[str]) -> Overflow:
    groups = match.groupdict()

    def number(name: str) -> int | None:
        digits = (groups.get(name) or "").replace(",", "")
        return int(digits) if digits else None

    prompt = number("prompt")
    if prompt is not None:
        prompt += number("tools") or 0
    return Overflow(number("window"), prompt, number("output"), at_least=bool(groups.get("least")))
