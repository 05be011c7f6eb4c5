"""llama.cpp's own HTTP server in this process, with the tiny agent: `python -m tests.realserver.serve --port 8080`.

Prints `ready http://127.0.0.1:PORT` once it answers, and serves until stdin ends or a signal comes.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

AGENT = Path(__file__).parent / "agent"
MODEL = "tiny-agent"
WINDOW_TOKENS = 16_384
READY = "ready "

_WARNINGS = 2


def main() -> None:
    """Load the model and serve."""
    parser = argparse.ArgumentParser(description="Serve the tiny agent by llama.cpp.")
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    parser.add_argument("--window", type=int, default=WINDOW_TOKENS, help="context window in tokens")
    parser.add_argument("--model", type=Path, default=AGENT / "agent.gguf")
    parser.add_argument("--template", type=Path, default=AGENT / "agent.jinja")
    args = parser.parse_args()
    lib: Any = importlib.import_module("xllamacpp")
    params = lib.CommonParams()
    params.model.path = str(args.model)
    params.model_alias = [MODEL]
    params.chat_template = args.template.read_text(encoding="utf-8")
    params.use_jinja = True
    params.hostnames = ["127.0.0.1"]
    params.port = args.port
    params.n_ctx = args.window
    params.n_parallel = 1
    params.endpoint_slots = True
    params.endpoint_metrics = True
    params.verbosity = _WARNINGS
    # The model is so small that more threads would only wait for each other.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = lib.Server(params)
    print(f"{READY}{server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
