"""A program in a server's place: writes a server's log, then answers at a port, or ends, as its first word says.

`python standin.py WHAT PORT`, or as `vllm serve ... --port PORT`, which is polite. What it writes has the form of
vLLM's public logs; the values are the article's and ours.
"""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

START = """\
(APIServer pid=11) INFO 11-30 10:00:00 [api_utils.py:319] vLLM server version 0.25.1, serving model /m
(EngineCore pid=12) INFO 11-30 10:00:09 [cuda.py:368] Using FLASHINFER attention backend out of potential backends: []
(EngineCore pid=12) INFO 11-30 10:00:10 [nvfp4.py:190] Using 'FLASHINFER_CUTLASS' NvFp4 MoE backend
\rLoading safetensors checkpoint shards:   0% Completed | 0/16 [00:00<?, ?it/s]\
\rLoading safetensors checkpoint shards:  50% Completed | 8/16 [01:40<01:40, 12.5s/it]\
\rLoading safetensors checkpoint shards: 100% Completed | 16/16 [03:20<00:00, 12.5s/it]
(EngineCore pid=12) INFO 11-30 10:03:31 [gpu_model_runner.py:4879] Model loading took 66.97 GiB memory and 201.5 seconds
(EngineCore pid=12) INFO 11-30 10:03:40 [backends.py:1128] Dynamo bytecode transform time: 8.52 s
(EngineCore pid=12) INFO 11-30 10:09:40 [gpu_worker.py:440] Available KV cache memory: 27.11 GiB
(EngineCore pid=12) INFO 11-30 10:09:40 [kv_cache.py:1087] GPU KV cache size: 977,533 tokens
(EngineCore pid=12) INFO 11-30 10:09:40 [kv_cache.py:1091] Maximum concurrency for 65,536 tokens per request: 14.92x
\rCapturing CUDA graphs (mixed prefill-decode, PIECEWISE):  57%|###   | 4/7 [00:10<00:08]\
\rCapturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%|######| 7/7 [00:18<00:00]
(EngineCore pid=12) INFO 11-30 10:09:59 [gpu_model_runner.py:5820] Graph capturing finished in 18 secs, took 0.62 GiB
(APIServer pid=11) INFO:     Application startup complete.
"""
NO_CACHE = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.\n"
CRASH = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers /health; after so many good answers it is unwell, if that is wished."""

    good = -1

    def do_GET(self) -> None:
        Handler.good -= 1
        self.send_response(503 if Handler.good == -1 or deaf.is_set() else 200)
        if Handler.good == -1:
            deaf.set()
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


deaf = threading.Event()


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def serve(port: int) -> None:
    http.server.HTTPServer.allow_reuse_address = True
    server = http.server.HTTPServer(("127.0.0.1", port), Handler)
    write(f"{START}(APIServer pid=11) INFO:     Started server process [{os.getpid()}]\n")
    server.serve_forever()


def polite(port: int) -> None:
    """Ends by SIGTERM, with a word."""

    def end(*_: object) -> None:
        write("shutting down\n")
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    serve(port)


def stubborn(port: int) -> None:
    """Takes no notice of SIGTERM, and has a child in a session of its own that takes none either."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    write(f"child {child.pid}\n")
    serve(port)


def unwell(port: int) -> None:
    """Ready once, then never again."""
    Handler.good = 1
    serve(port)


def no_cache(_: int) -> None:
    write(NO_CACHE)
    sys.exit(1)


def crash(_: int) -> None:
    write(CRASH)
    sys.exit(1)


WHAT: dict[str, Callable[[int], None]] = {
    "polite": polite,
    "stubborn": stubborn,
    "unwell": unwell,
    "no-cache": no_cache,
    "crash": crash,
}

if __name__ == "__main__":
    if sys.argv[1] == "serve":
        polite(int(sys.argv[sys.argv.index("--port") + 1]))
    WHAT[sys.argv[1]](int(sys.argv[2]))
