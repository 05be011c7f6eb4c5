"""A logits processor for vLLM that makes the model say what a script says, token by token.

Runs inside vLLM's engine. A request names its script in `vllm_xargs.script`; scripts are JSON lists of token ids in the
folder that the environment variable POOL_SCRIPTS names.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

_BASE: Any = importlib.import_module("vllm.v1.sample.logits_processor").AdapterLogitsProcessor


class Scripted(_BASE):
    """Leaves requests without a script alone."""

    @classmethod
    def validate_params(cls, params: Any) -> None:
        """Any parameters will do."""

    def is_argmax_invariant(self) -> bool:
        """It decides what the most likely token is."""
        return False

    def new_req_logits_processor(self, params: Any) -> Any:
        """The function that forces the next token of a request's script; past its end the last token is repeated."""
        extra: dict[str, Any] = params.extra_args or {}
        if "script" not in extra:
            return None
        torch: Any = importlib.import_module("torch")
        script = json.loads((Path(os.environ["POOL_SCRIPTS"]) / f"{extra['script']}.json").read_text())

        def force(so_far: Any, logits: Any) -> Any:
            forced = torch.full_like(logits, float("-inf"))
            forced[script[min(len(so_far), len(script) - 1)]] = 0.0
            return forced

        return force
