"""The command line of `pool sim`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pool.sim.settings import SimSettings, parse_step_sizes

USAGE_ERROR = 2
CHUNK_BYTES = 4096
DESCRIPTION = (
    "A simulated Laguna server with vLLM's protocol, for trying Pool out and for tests. Its model is no language "
    "model: it is a set of rules that can see why the tests of a Python project fail and mend some kinds of bug. "
    "The first line on standard output is the server's URL."
)


def build_parser() -> argparse.ArgumentParser:
    """All options; their defaults are those of `SimSettings`."""
    plain = SimSettings()
    parser = argparse.ArgumentParser(prog="pool sim", description=DESCRIPTION)
    add = parser.add_argument
    add("--host", default=plain.host, help="address to listen on (%(default)s)")
    add("--port", type=int, default=plain.port, help="port; 0 takes a free one (%(default)s)")
    add("--model", default=plain.model, help="name of the served model (%(default)s)")
    add("--rate", type=float, default=plain.rate, metavar="N", help="tokens written a second; 0: no limit")
    add("--prefill-rate", type=float, default=plain.prefill_rate, metavar="N", help="prompt tokens read a second")
    add(
        "--step-ms",
        type=float,
        default=plain.step_ms,
        metavar="N",
        help="time of each decoding step, instead of a rate",
    )
    add(
        "--tokens-per-step",
        type=parse_step_sizes,
        default=plain.steps,
        metavar="N|LOW-HIGH",
        help="tokens a decoding step, as with speculative decoding (1)",
    )
    add("--seed", type=int, default=plain.seed, help="for the sizes of steps (%(default)s)")
    add("--max-model-len", type=int, default=plain.max_model_len, metavar="N", help="context window (%(default)s)")
    add("--max-num-seqs", type=int, default=plain.max_num_seqs, metavar="N", help="replies at a time (%(default)s)")
    add("--api-key", default=plain.api_key, metavar="KEY", help="ask for this key below /v1")
    add(
        "--prompt-token-details",
        action=argparse.BooleanOptionalAction,
        default=plain.prompt_token_details,
        help="tell how many prompt tokens were cached",
    )
    add("--reasoning-config", action="store_true", help="accept thinking_token_budget")
    add(
        "--template-thinks",
        action=argparse.BooleanOptionalAction,
        default=plain.template_thinks,
        help="what the chat template does when enable_thinking is absent",
    )
    add("--server-version", default=plain.version, metavar="V", help="version to tell (%(default)s)")
    add(
        "--capture-sizes",
        type=_sizes,
        default=plain.capture_sizes,
        metavar="N,N",
        help="recorded CUDA graphs, told by /server_info (none)",
    )
    add(
        "--fault",
        action="append",
        default=[],
        metavar="NAME[:ARG][@N|@N-M]",
        help="misbehave, in every chat request or in those counted N to M; may be given several times",
    )
    add("--list-faults", action="store_true", help="say what faults there are, and end")
    add("--cheat", default=plain.cheat, metavar="NAME", help="be a model that cheats in this way (--list-cheats)")
    add("--list-cheats", action="store_true", help="say what cheats there are, and end")
    add("--end-with-stdin", action="store_true", help="end when standard input ends, as it does with who started it")
    add("--script", type=Path, metavar="FILE", help="JSON list of raw texts that the model says instead of deciding")
    return parser


def settings_from(options: argparse.Namespace) -> SimSettings:
    """Settings from parsed options. Raises OSError and ValueError for a script that cannot be used."""
    return SimSettings(
        host=options.host,
        port=options.port,
        model=options.model,
        rate=options.rate,
        prefill_rate=options.prefill_rate,
        step_ms=options.step_ms,
        steps=options.tokens_per_step,
        seed=options.seed,
        max_model_len=options.max_model_len,
        max_num_seqs=options.max_num_seqs,
        api_key=options.api_key,
        prompt_token_details=options.prompt_token_details,
        reasoning_config=options.reasoning_config,
        template_thinks=options.template_thinks,
        version=options.server_version,
        capture_sizes=options.capture_sizes,
        faults=tuple(options.fault),
        script=_script(options.script),
        cheat=options.cheat,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line until a signal. Returns 0, or 2 after saying what is wrong with the command."""
    options = build_parser().parse_args(argv)
    try:
        # Only here: `--help` needs neither the server's libraries nor their import time.
        from pool.sim.faults import describe_faults
        from pool.sim.process import serve
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "h11", "anyio"):
            raise
        return _complain(f"{error.name} is not installed: pip install 'laguna-pool[sim]'")
    if options.list_faults:
        print(describe_faults())
        return 0
    if options.list_cheats:
        from pool.sim.cheats import describe_cheats

        print(describe_cheats())
        return 0
    if options.end_with_stdin:
        threading.Thread(target=_end_with_stdin, name="pool-sim-stdin", daemon=True).start()
    try:
        serve(settings_from(options), lambda url: print(url, flush=True))
    except (OSError, ValueError) as error:
        return _complain(str(error))
    return 0


def _end_with_stdin() -> None:
    """However the other end of the pipe goes, by `kill -9` too, its end is seen here."""
    handle = sys.stdin.fileno()
    while os.read(handle, CHUNK_BYTES):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(part) for part in text.split(",")))


def _script(path: Path | None) -> tuple[str, ...]:
    if path is None:
        return ()
    texts: object = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in cast("list[object]", texts)):
        raise ValueError(f"{path}: a script is a JSON list of texts")
    return tuple(cast("list[str]", texts))


def _complain(message: str) -> int:
    print(f"pool sim: {message}", file=sys.stderr)
    return USAGE_ERROR
