"""The command line of `pool serve`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from pool.lab.serve.advice import Advice, advise, advise_own, as_json, list_json
from pool.lab.serve.container import RUNTIMES
from pool.lab.serve.machines import MACHINES
from pool.lab.serve.memory import ELEMENT_BYTES
from pool.lab.serve.setup import DEFAULT_MODEL, MOST_DEPTH, ServeError, Wish, choose
from pool.lab.serve.shapes import Engine
from pool.lab.serve.texts import advice_lines, list_lines, plan_lines, trap_lines

EXIT_USAGE = 2
EXIT_REFUSED = 3

ACTION_WORDS = ("plan", "list")
"""Words that stand for flags: `pool serve plan`, `pool serve xs plan`."""

_MOST_TOKENS = 16 * 1024 * 1024
_PROGRAMS = {
    Engine.VLLM: "vllm",
    Engine.SGLANG: "python3",
    Engine.LLAMACPP: "llama-server",
    Engine.MLX: "mlx_lm.server",
}


def parser() -> argparse.ArgumentParser:
    """The flags of `pool serve`."""
    p = argparse.ArgumentParser(
        prog="pool serve",
        description="Print the command that serves a model on a machine, with a reason for each flag; or plan its "
        "memory, run it, keep it running. Flags for the server itself go behind --.",
        epilog="Exit codes: 0 done or ended in order, 1 the server failed, 2 usage, 3 refused: the command is known to "
        "fail. See docs/serve.md.",
    )
    p.add_argument("model", nargs="*", metavar="MODEL", help="laguna-s-2.1 (default); pool serve --list names all")
    _add_actions(p)
    _add_choices(p)
    _add_start(p)
    p.add_argument("--json", action="store_true", help="JSON; with --watch one object a line")
    return p


def _add_actions(p: argparse.ArgumentParser) -> None:
    actions = p.add_argument_group("what to do, instead of printing the command").add_mutually_exclusive_group()
    actions.add_argument("--plan", action="store_true", help="the memory: weights, cache, how many sessions fit")
    actions.add_argument("--list", action="store_true", help="all models and checkpoints")
    actions.add_argument("--run", action="store_true", help="become the server")
    actions.add_argument("--watch", action="store_true", help="start the server and keep it running; Ctrl-C ends it")
    actions.add_argument("--install", action="store_true", help="a systemd unit of yours that watches it; shown first")
    actions.add_argument("--uninstall", action="store_true", help="take that unit away again")


def _add_choices(p: argparse.ArgumentParser) -> None:
    g = p.add_argument_group("what to serve")
    g.add_argument(
        "--variant", default="", metavar="NAME", help="checkpoint, such as nvfp4, fp8, int4, bf16, gguf, mlx"
    )
    machines = f"machine: {', '.join(MACHINES)}; default: this one, else spark"
    g.add_argument("--on", default="", metavar="MACHINE", help=machines)
    g.add_argument("--memory", type=_positive, metavar="GIB", help="memory of one device, where it is another")
    g.add_argument("--gpus", type=_count, metavar="N", help="devices to share the model out over")
    g.add_argument("--engine", default="", choices=[e.value for e in Engine], help="server program")
    g.add_argument("--context", type=_tokens, metavar="TOKENS", help="longest session (131072, or what fits)")
    g.add_argument("--sessions", type=_count, metavar="N", help="replies written at once (8)")
    g.add_argument(
        "--draft", type=_depth, metavar="K", help="tokens proposed ahead; 0: no draft (3 where there is one)"
    )
    g.add_argument("--kv", default="", choices=ELEMENT_BYTES, help="type of the cache")
    g.add_argument("--step-tokens", type=_tokens, metavar="N", help="most tokens of one step (4096)")
    g.add_argument(
        "--utilization", type=_share, metavar="SHARE", help="of the memory, for the server (0.80 on a Spark)"
    )
    g.add_argument("--kv-gib", type=_positive, metavar="GIB", help="plan with a cache that was measured")


def _add_start(p: argparse.ArgumentParser) -> None:
    g = p.add_argument_group("how to start it")
    g.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where it listens (127.0.0.1)")
    g.add_argument("--port", type=_port, metavar="N", help="default: 8000 for vLLM, 30000 SGLang, 8080 others")
    g.add_argument("--weights", type=_folder, metavar="DIR", help="folder with the weights, instead of Hugging Face's")
    g.add_argument("--venv", type=_folder, metavar="DIR", help="virtual environment with the server's program")
    g.add_argument("--container", default="", choices=RUNTIMES, help="run it in a container")
    g.add_argument("--image", default="", metavar="IMAGE", help="the container's image")
    g.add_argument("--command", default="", metavar="WORDS", help="a command of your own, to check, run or watch")
    g.add_argument("--url", default="", metavar="URL", help="where that says that it is ready (http)")
    g.add_argument("--download", action="store_true", help="let the server fetch weights that are not here")
    g.add_argument("--restarts", type=_times, default=5, metavar="N", help="starts again in a row (5)")
    g.add_argument("--yes", action="store_true", help="answer the question of --install and --uninstall")


def main(argv: Sequence[str]) -> int:
    """Run `pool serve`; returns the exit code."""
    words = list(argv)
    own, extra = (words, []) if "--" not in words else (words[: words.index("--")], words[words.index("--") + 1 :])
    try:
        args = parser().parse_args(own)
    except SystemExit as error:
        return int(error.code or 0)
    for word in ACTION_WORDS:
        if word in args.model:
            args.model.remove(word)
            setattr(args, word, True)
    try:
        return _act(args, own, extra)
    except ServeError as error:
        sys.stderr.write(f"pool serve: {error}\n")
        return EXIT_USAGE


def _act(args: argparse.Namespace, own: Sequence[str], extra: Sequence[str]) -> int:
    if args.list and args.json:
        print(json.dumps(list_json(), indent=2))
        return 0
    if args.list:
        return _print(list_lines())
    if len(args.model) > 1:
        raise ServeError(f"one model at a time: {' '.join(args.model)}; flags for the server go behind --")
    advice = _advice(args, extra)
    if args.plan:
        return _plan(args, advice)
    if args.uninstall:
        from pool.lab.serve.unit import uninstall

        return uninstall(_port_of(advice), os.environ, _asker(args))
    if advice.refused:
        for line in trap_lines(advice.traps):
            sys.stderr.write(f"{line}\n")
        return EXIT_REFUSED
    if args.run or args.watch:
        return _start(args, advice)
    if args.install:
        from pool.lab.serve.unit import install, unit_text

        kept = [word for word in own if word not in ("--install", "--yes")]
        arguments = [*kept, "--", *extra] if extra else kept
        text = unit_text(arguments, advice.setup.title if advice.setup else args.command, os.environ)
        return install(text, _port_of(advice), os.environ, _asker(args))
    if args.json:
        print(json.dumps(as_json(advice), indent=2))
        return 0
    return _print(advice_lines(advice))


def _start(args: argparse.Namespace, advice: Advice) -> int:
    from pool.lab.serve.running import check_startable, run, watch
    from pool.lab.serve.watch import Pace

    for line in trap_lines(advice.traps):
        sys.stderr.write(f"{line}\n")
    check_startable(advice, os.environ, download=args.download)
    if args.run:
        return run(advice, os.environ)
    return watch(advice, os.environ, Pace(restarts=args.restarts), as_json=args.json)


def _plan(args: argparse.Namespace, advice: Advice) -> int:
    if advice.setup is None:
        raise ServeError("--plan knows no profile of that command's model; pool serve --list names those there are")
    if args.json:
        value = as_json(advice)
        print(json.dumps({key: value[key] for key in ("setup", "plan", "traps")}, indent=2))
        return 0
    return _print([*plan_lines(advice.setup), *trap_lines(advice.traps)])


def _advice(args: argparse.Namespace, extra: Sequence[str]) -> Advice:
    if args.command:
        return advise_own(args.command, args.url, args.on, os.environ)
    program = ""
    if args.venv:
        engine = choose(_wish(args)).engine
        program = str(args.venv / "bin" / _PROGRAMS[engine])
    return advise(_wish(args), extra, os.environ, program=program, container=args.container, image=args.image)


def _wish(args: argparse.Namespace) -> Wish:
    return Wish(
        model=args.model[0] if args.model else DEFAULT_MODEL,
        variant=args.variant,
        machine=args.on,
        memory_gib=args.memory,
        devices=args.gpus,
        engine=args.engine,
        context=args.context,
        sessions=args.sessions,
        depth=args.draft,
        cache=args.kv,
        step_tokens=args.step_tokens,
        utilization=args.utilization,
        host=args.host,
        port=args.port,
        weights=args.weights,
        pool_gib=args.kv_gib,
    )


def _port_of(advice: Advice) -> int:
    return urlsplit(advice.url).port or 80


def _asker(args: argparse.Namespace) -> Callable[[str], bool]:
    """Asks on the terminal; --yes answers, and without a terminal the answer is no."""

    def ask(question: str) -> bool:
        if args.yes:
            return True
        if not sys.stdin.isatty():
            sys.stderr.write("pool serve: there is no terminal to ask; --yes answers\n")
            return False
        try:
            return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            return False

    return ask


def _print(lines: Iterable[str]) -> int:
    for line in lines:
        print(line)
    return 0


def _whole(text: str, least: int, most: int, what: str) -> int:
    if not text.isascii() or not text.isdecimal() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what} from {least:,} to {most:,}")
    return int(text)


def _tokens(text: str) -> int:
    return _whole(text, 16, _MOST_TOKENS, "a number of tokens")


def _count(text: str) -> int:
    return _whole(text, 1, 4_096, "a number")


def _times(text: str) -> int:
    return _whole(text, 0, 1_000, "a number")


def _depth(text: str) -> int:
    return _whole(text, 0, MOST_DEPTH, "a number of tokens")


def _port(text: str) -> int:
    return _whole(text, 1, 65_535, "a port")


def _positive(text: str) -> float:
    return _real(text, 1_000_000, "a number of GiB")


def _share(text: str) -> float:
    return _real(text, 1, "a share")


def _real(text: str, most: float, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what} above 0 up to {most:,.0f}")
    return value


def _folder(text: str) -> Path:
    path = Path(text).expanduser().absolute()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return path
