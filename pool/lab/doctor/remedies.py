"""Lines to paste that mend a server, one set per kind of server: data, with one place for each fact.

Sources: the help texts of vLLM 0.25.1 and 0.32.0, SGLang 0.5.23 and llama.cpp b11549, the documentation of Ollama and
LM Studio.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace

from pool.wire.dialects import ServerKind
from pool_tools.frozen import frozen

GOOD_WINDOW_TOKENS = 131_072
"""The window that remedies suggest: room for a long session, and within what the Laguna models can do."""

LAGUNA_PARSER = "poolside_v1"
OTHER_PARSER = "NAME"
WINDOW_VARIABLE = f"export POOL_CONTEXT_LENGTH={GOOD_WINDOW_TOKENS}"
START = (
    "vllm serve poolside/Laguna-S-2.1-NVFP4 --enable-auto-tool-choice --tool-call-parser poolside_v1 "
    "--reasoning-parser poolside_v1 --port 8000"
)


@frozen
class Remedies:
    """Remedies for one kind of server.

    reasoning: let thoughts arrive in a field of their own. tools: let calls arrive as calls. window: a larger context
    window. usage: token counts in streams. cached: tell how much of a prompt was in the cache. caching: use a prefix
    cache. history: let earlier thoughts reach the model. upgrade: a newer server. budget: let it limit thoughts.
    blanks: keep JSON from being filled with blanks. switch: mend what clients get that do not switch thinking.
    """

    reasoning: str = "start the server with the reasoning parser of this model"
    tools: str = "start the server with the tool call parser of this model"
    window: str = "start the server with a larger context window"
    usage: str = "update the server, or switch on usage in streams (stream_options.include_usage)"
    cached: str = "start the server so that usage tells prompt_tokens_details.cached_tokens"
    caching: str = "start the server with its prefix cache switched on"
    history: str = "give the server a chat template that renders the reasoning of earlier messages"
    upgrade: str = "update the server"
    budget: str = ""
    blanks: str = ""
    switch: str = 'let such clients send "chat_template_kwargs":{"enable_thinking":false}'


_REMEDIES: Mapping[ServerKind, Remedies] = {
    ServerKind.VLLM: Remedies(
        reasoning=f"--reasoning-parser {LAGUNA_PARSER}",
        tools=f"--enable-auto-tool-choice --tool-call-parser {LAGUNA_PARSER}",
        window=f"--max-model-len {GOOD_WINDOW_TOKENS}",
        usage="--enable-force-include-usage",
        cached="--enable-prompt-tokens-details",
        caching="--enable-prefix-caching",
        upgrade="pip install --upgrade vllm",
        budget='--reasoning-config \'{"reasoning_start_str":"<think>","reasoning_end_str":"</think>"}\'',
        blanks="""--structured-outputs-config '{"backend":"xgrammar","disable_any_whitespace":true}'""",
        switch="""--default-chat-template-kwargs '{"enable_thinking":true}'""",
    ),
    ServerKind.SGLANG: Remedies(
        reasoning=f"--reasoning-parser {LAGUNA_PARSER}",
        tools=f"--tool-call-parser {LAGUNA_PARSER}",
        window=f"--context-length {GOOD_WINDOW_TOKENS}",
        cached="--enable-cache-report",
        caching="start SGLang without --disable-radix-cache",
        upgrade="pip install --upgrade sglang",
    ),
    ServerKind.LLAMACPP: Remedies(
        reasoning="--jinja --reasoning-format auto",
        tools="--jinja --chat-template-file TEMPLATE.jinja",
        window=f"--parallel 1 --ctx-size {GOOD_WINDOW_TOKENS}",
        caching="--cache-prompt",
        history="--jinja --chat-template-file TEMPLATE.jinja",
    ),
    ServerKind.OLLAMA: Remedies(window=f"OLLAMA_CONTEXT_LENGTH={GOOD_WINDOW_TOKENS} ollama serve"),
    ServerKind.OLLAMA_NATIVE: Remedies(window=WINDOW_VARIABLE),
    ServerKind.MLX: Remedies(upgrade="pip install --upgrade mlx-lm"),
    ServerKind.LMSTUDIO: Remedies(window=f"lms load --context-length {GOOD_WINDOW_TOKENS}"),
}


def remedies_for(kind: ServerKind, model: str) -> Remedies:
    """The remedies for a kind of server. Parsers are named for Laguna; for another model a placeholder stands there."""
    found = _REMEDIES.get(kind, Remedies())
    if "laguna" in model.lower():
        return found
    return replace(
        found,
        reasoning=found.reasoning.replace(LAGUNA_PARSER, OTHER_PARSER),
        tools=found.tools.replace(LAGUNA_PARSER, OTHER_PARSER),
    )


def export(variable: str, value: str) -> str:
    """A line that sets a variable, safe to paste whatever value holds."""
    return f"export {variable}={shlex.quote(value)}"


def again(name: str) -> str:
    """The command that makes one check again."""
    return f"pool doctor --only {name}"
