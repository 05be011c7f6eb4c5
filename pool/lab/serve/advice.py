"""A set-up with everything that is said of it: its command, what is wrong with it, its weights, its memory."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pool.lab.serve.catalog import MODELS
from pool.lab.serve.container import RUNTIMES, container_name, in_container
from pool.lab.serve.engines import command_for, health_path
from pool.lab.serve.flags import Arguments, Command, Flag, read_flags
from pool.lab.serve.setup import VLLM_UTILIZATION, ServeError, Setup, Wish, adopted, choose
from pool.lab.serve.shapes import GIB, Engine
from pool.lab.serve.traps import Subject, Trap, traps
from pool.lab.serve.weights import Weights, weights_of
from pool_tools.frozen import frozen

LENGTHS = (8_192, 32_768, 65_536, 131_072, 262_144, 1_048_576)
FIRST_START_MINUTES = (10, 15)
"""Of a 70 GB checkpoint on a DGX Spark: loading, compiling kernels, recording graphs (public reports)."""


@frozen
class Row:
    """What sessions of one length need. read_ms: reading one session's cache, which each of its tokens costs more."""

    length: int
    session_bytes: float
    sessions: float
    read_ms: float


@frozen
class Advice:
    """All of it. setup is None for a command of a person's own that no profile fits."""

    command: Command
    url: str
    setup: Setup | None
    traps: tuple[Trap, ...] = ()
    weights: tuple[Weights, ...] = ()
    stop: tuple[str, ...] = ()

    @property
    def refused(self) -> list[Trap]:
        """What keeps it from being started."""
        return [trap for trap in self.traps if trap.refuse]

    @property
    def missing(self) -> list[Weights]:
        """Checkpoints that are not wholly here."""
        return [one for one in self.weights if one.missing_bytes]


def advise(
    wish: Wish, extra: Sequence[str], env: Mapping[str, str], *, program: str = "", container: str = "", image: str = ""
) -> Advice:
    """The advice for a wish; extra are flags of a person's own for the server. Raises `ServeError`."""
    setup = choose(wish)
    plain = command_for(setup, program).with_extra(extra)
    arguments = Arguments.of(plain.words)
    setup = adopted(setup, arguments)
    variables = {**env, **{name: value for name, value, _ in plain.env}}
    found = traps(Subject(setup, arguments, variables))
    stop: tuple[str, ...] = ()
    command = plain
    if container:
        if container not in RUNTIMES:
            raise ServeError(f"there is no container program {container!r} here; there are: {', '.join(RUNTIMES)}")
        command = in_container(plain, setup, container, image, env)
        stop = (container, "stop", container_name(setup.port))
    url = f"http://{_reachable(setup.host)}:{setup.port}{health_path(setup.engine)}"
    return Advice(command, url, setup, tuple(found), tuple(weights_of(setup, env)), stop)


def advise_own(text: str, url: str, machine: str, env: Mapping[str, str]) -> Advice:
    """The advice for a command of a person's own: checked where it is one of vLLM and its model is known.

    url is where it says that it is ready, "" to take its port. Raises `ServeError`.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ServeError(f"--command cannot be read as words of a shell: {error}") from None
    if not words:
        raise ServeError("--command is empty")
    if url and not url.startswith("http://"):
        raise ServeError(f"--url has to begin with http://: {url!r}")
    command = Command((words[0],), tuple(read_flags(words[1:])))
    arguments = Arguments.of(words)
    engine = _engine_of(words)
    setup = _setup_of(words, arguments, machine) if engine is Engine.VLLM else None
    found = traps(Subject(setup, arguments, env)) if setup else []
    port = arguments.number("--port") or {Engine.SGLANG: 30000, Engine.LLAMACPP: 8080, Engine.MLX: 8080}.get(
        engine, 8000
    )
    host = _reachable(arguments.text("--host"))
    return Advice(command, url or f"http://{host}:{port}{health_path(engine)}", setup, tuple(found))


def _engine_of(words: Sequence[str]) -> Engine:
    text = " ".join(words[:4])
    marks = (("llama", Engine.LLAMACPP), ("sglang", Engine.SGLANG), ("mlx", Engine.MLX))
    return next((engine for mark, engine in marks if mark in text), Engine.VLLM)


def _setup_of(words: Sequence[str], arguments: Arguments, machine: str) -> Setup | None:
    """The set-up that a command of vLLM amounts to; None if its model is not known."""
    place = words.index("serve") + 1 if "serve" in words else 0
    model = words[place] if 0 < place < len(words) else arguments.text("--model")
    draft = arguments.object("--speculative-config").get("num_speculative_tokens")
    try:
        # A folder mostly has the checkpoint's name.
        name = Path(model).name if model.startswith("/") else model
        setup = choose(Wish(model=name, machine=machine, depth=draft if isinstance(draft, int) else 0))
    except ServeError:
        return None
    setup = replace(
        setup,
        context=setup.variant.context,
        sessions=setup.vllm_sequences,
        step_tokens=setup.vllm_step_tokens,
        utilization=VLLM_UTILIZATION,
        weights=Path(model) if model.startswith("/") else None,
    )
    return adopted(setup, arguments)


def _reachable(host: str) -> str:
    """The host of an address under which a server that listens there is reached from here."""
    if host in ("", "0.0.0.0", "::", "localhost"):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def rows(setup: Setup) -> list[Row]:
    """Sessions by length, up to what the checkpoint is made for."""
    layout, pool = setup.layout, setup.pool_bytes
    lengths = [length for length in LENGTHS if length <= setup.variant.context]
    speed = setup.machine.bandwidth_gbs * 1e9 * setup.devices
    return [
        Row(
            length,
            layout.request_bytes(length),
            layout.capacity(pool, length).requests,
            layout.token_bytes * length / speed * 1000,
        )
        for length in lengths
    ]


def as_json(advice: Advice) -> dict[str, Any]:
    """All of it for programs: bytes, tokens, requests, milliseconds."""
    command = advice.command
    out: dict[str, Any] = {
        "command": command.words,
        "env": {name: value for name, value, _ in command.env},
        "flags": [_flag(flag) for flag in command.flags],
        "url": advice.url,
        "traps": [
            {"name": t.name, "words": t.words, "remedy": t.remedy, "source": t.source, "refuse": t.refuse}
            for t in advice.traps
        ],
        "weights": [
            {
                "repo": w.repo,
                "state": w.state.value,
                "place": str(w.place),
                "have_bytes": w.have_bytes,
                "need_bytes": w.need_bytes,
                "free_bytes": w.free_bytes,
                "download": w.download,
            }
            for w in advice.weights
        ],
    }
    if advice.setup:
        out["setup"] = _setup(advice.setup)
        out["plan"] = plan_json(advice.setup)
    return out


def plan_json(setup: Setup) -> dict[str, Any]:
    """The memory plan for programs."""
    layout = setup.layout
    full = layout.capacity(setup.pool_bytes, setup.context)
    return {
        "usable_bytes": round(setup.usable_bytes),
        "weights_bytes": setup.variant.weights_bytes,
        "draft_bytes": setup.draft_bytes,
        "overhead_bytes": round(setup.overhead_bytes),
        "pool_bytes": round(setup.pool_bytes),
        "pool_gib": round(setup.pool_bytes / GIB, 4),
        "token_bytes": layout.token_bytes,
        "session_fixed_bytes": layout.fixed_bytes(setup.context),
        "exact": layout.exact,
        "tokens": full.tokens,
        "sessions": full.requests,
        "rows": [
            {"length": r.length, "session_bytes": r.session_bytes, "sessions": r.sessions, "read_ms": r.read_ms}
            for r in rows(setup)
        ],
    }


def list_json() -> list[dict[str, Any]]:
    """All profiles for programs, each figure with its source."""
    return [
        {
            "name": model.name,
            "source": model.source,
            "variants": [
                {
                    "name": variant.name,
                    "repo": variant.repo,
                    "weights_bytes": variant.weights_bytes,
                    "context": variant.context,
                    "engines": [engine.value for engine in variant.engines],
                    "source": variant.source,
                }
                for variant in model.variants
            ],
        }
        for model in MODELS.values()
    ]


def _flag(flag: Flag) -> dict[str, Any]:
    return {"name": flag.name, "values": list(flag.values), "reason": flag.reason}


def _setup(setup: Setup) -> dict[str, Any]:
    return {
        "model": setup.model.name,
        "variant": setup.variant.name,
        "repo": setup.variant.repo,
        "machine": setup.machine.name,
        "devices": setup.devices,
        "engine": setup.engine.value,
        "context": setup.context,
        "sessions": setup.sessions,
        "draft": setup.depth,
        "cache": setup.cache,
        "step_tokens": setup.step_tokens,
        "utilization": setup.utilization,
        "remarks": list(setup.remarks),
        "sources": {
            "model": setup.model.source,
            "weights": setup.variant.source,
            "machine": setup.machine.source,
            **({"draft": setup.draft.source} if setup.draft else {}),
        },
    }
