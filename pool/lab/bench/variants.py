"""The command that starts a server, with a value put in: a draft depth, or any flag."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import Any, cast

from pool_tools.frozen import frozen

K_FLAG = "K"
CONFIG_FLAG = "--speculative-config"
CONFIG_KEY = "num_speculative_tokens"
DEPTH_FLAGS = ("--spec-draft-n-max", "--draft-max", "--speculative-num-draft-tokens", "--draft")
"""Flags that hold K: llama.cpp's, its older name, SGLang's, and `pool serve`'s. vLLM has it in a JSON object."""

POOL_SERVE = ("pool", "serve")
POOL_FLAGS = frozenset(
    "variant on memory gpus engine context sessions draft kv step-tokens utilization port image".split()
)
"""Flags of `pool serve` itself that can be swept; all others are the server's, and go behind `--`."""

POOL_ACTIONS = ("--run", "--watch", "run", "watch")

_PLACE = re.compile(r"\{(K|K\+1|VALUE)\}")


@frozen
class Sweep:
    """What is varied: flag is `K` or a flag's name without dashes; the values in order. "" leaves the flag out."""

    flag: str
    values: tuple[str, ...]

    def name(self, value: str) -> str:
        """`K=3`, `moe-backend=marlin`, `moe-backend left out`."""
        return f"{self.flag}={value}" if value else f"{self.flag} left out"


def parse_sweep(text: str) -> Sweep:
    """`FLAG=a,b,c`, dashes before the flag allowed. Raises ValueError."""
    flag, sign, values = text.partition("=")
    flag = flag.lstrip("-")
    if not sign or not flag or "," not in values:
        raise ValueError(f"--sweep wants FLAG=A,B, such as moe-backend=auto,marlin: got {text!r}")
    return Sweep(flag, tuple(dict.fromkeys(values.split(","))))


def command_words(template: str, sweep: Sweep, value: str) -> list[str]:
    """The command for a value, in words for `exec`: no shell reads it. Raises ValueError if it has no place for it."""
    words = shlex.split(template)
    if not words:
        raise ValueError("--serve names no command")
    if tuple(words[:2]) == POOL_SERVE and "--command" not in {word.partition("=")[0] for word in words}:
        return _with_pool(words, sweep, value)
    if any(_PLACE.search(word) for word in words):
        return [_filled(word, value) for word in words]
    if sweep.flag == K_FLAG:
        return _with_depth(words, int(value))
    return _with_flag(words, f"--{sweep.flag}", value)


def _with_pool(words: Sequence[str], sweep: Sweep, value: str) -> list[str]:
    """The words of `pool serve`, which starts the server and has K as `--draft`."""
    cut = words.index("--") if "--" in words else len(words)
    own, servers = [_filled(word, value) for word in words[:cut]], [_filled(word, value) for word in words[cut + 1 :]]
    if not any(word in POOL_ACTIONS for word in own):
        own.append("--run")
    if not any(_PLACE.search(word) for word in words):
        if sweep.flag == K_FLAG:
            own = _with_flag(own, "--draft", value)
        elif sweep.flag in POOL_FLAGS:
            own = _with_flag(own, f"--{sweep.flag}", value)
        else:
            servers = _with_flag(servers, f"--{sweep.flag}", value)
    return [*own, "--", *servers] if servers else own


def _filled(word: str, value: str) -> str:
    def put(found: re.Match[str]) -> str:
        return str(int(value) + 1) if found[1] == "K+1" else value

    return _PLACE.sub(put, word)


def _with_flag(words: Sequence[str], flag: str, value: str) -> list[str]:
    """The words with the flag set to value in its place or at the end; without it for ""."""
    out: list[str] = []
    rest = iter(words)
    put = False
    for word in rest:
        if word == flag:
            next(rest, None)
        elif not word.startswith(f"{flag}="):
            out.append(word)
            continue
        if value and not put:
            out += [flag, value]
        put = True
    return out if put or not value else [*out, flag, value]


def _with_depth(words: Sequence[str], depth: int) -> list[str]:
    config = next((at for at, word in enumerate(words) if word.partition("=")[0] == CONFIG_FLAG), None)
    if config is not None:
        return _with_flag(words, CONFIG_FLAG, _config(words, config, depth) if depth else "")
    for flag in DEPTH_FLAGS:
        if any(word.partition("=")[0] == flag for word in words):
            return _with_flag(words, flag, str(depth))
    known = ", ".join((CONFIG_FLAG, *DEPTH_FLAGS))
    raise ValueError(f"the command has no place for K: write {{K}} into it, or one of {known}")


def _config(words: Sequence[str], at: int, depth: int) -> str:
    _, sign, text = words[at].partition("=")
    text = text if sign else (words[at + 1] if at + 1 < len(words) else "")
    try:
        value: object = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"{CONFIG_FLAG} must be a JSON object: got {text!r}")
    return json.dumps({**cast("dict[str, Any]", value), CONFIG_KEY: depth})
