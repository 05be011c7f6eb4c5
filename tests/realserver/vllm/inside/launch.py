"""vLLM's own command line, with one change: a request can ask that several tokens come in one step.

`vllm_xargs.steps` is a list such as "1,3,2,4", used again and again. The steps' outputs are merged by vLLM's own
`RequestOutput.add`, before its serving code sees them: that is what accepted draft tokens look like there.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator
from typing import Any


async def merged(outputs: AsyncIterator[Any], steps: list[int]) -> AsyncIterator[Any]:
    """Outputs joined so that each carries as many tokens as its step says, the last one what is left."""
    held: Any = None
    tokens = step = 0
    async for output in outputs:
        tokens += sum(len(completion.token_ids) for completion in output.outputs)
        if held is None:
            held = output
        else:
            held.add(output, aggregate=True)
        if tokens >= steps[step % len(steps)] or held.finished:
            yield held
            held, tokens, step = None, 0, step + 1
    if held is not None:
        yield held


def patch() -> None:
    """Let vLLM's engine merge steps where a request wants it."""
    engine: Any = importlib.import_module("vllm.v1.engine.async_llm").AsyncLLM
    generate = engine.generate

    async def generate_in_steps(self: Any, prompt: Any, params: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        outputs = generate(self, prompt, params, *args, **kwargs)
        extra: dict[str, Any] = getattr(params, "extra_args", None) or {}
        if "steps" in extra:
            outputs = merged(outputs, [int(step) for step in str(extra["steps"]).split(",")])
        async for output in outputs:
            yield output

    engine.generate = generate_in_steps


if __name__ == "__main__":
    patch()
    sys.argv[0] = "vllm"
    importlib.import_module("vllm.entrypoints.cli.main").main()
