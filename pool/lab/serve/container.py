"""The same command in a container, by docker or podman."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pool.lab.serve.flags import Command, Flag
from pool.lab.serve.setup import ServeError, Setup
from pool.lab.serve.shapes import Chip, Engine
from pool.lab.serve.weights import hub

RUNTIMES = ("docker", "podman")
IMAGES = {Engine.VLLM: "docker.io/vllm/vllm-openai:v0.25.1", Engine.SGLANG: "docker.io/lmsysorg/sglang:latest"}
LABEL = "pool.serve"
STOP_SECONDS = 30
_IN_HUB = "/root/.cache/huggingface/hub"
_IN_WEIGHTS = "/weights"
_PASSED_ON = ("HF_TOKEN", "VLLM_API_KEY")
"""Handed on by name, so that their values stand in no command line."""


def container_name(port: int) -> str:
    """How the container for a port is called."""
    return f"pool-serve-{port}"


def in_container(command: Command, setup: Setup, runtime: str, image: str, env: Mapping[str, str]) -> Command:
    """The command as a container's. Raises `ServeError` for a server that has no image here."""
    image = image or IMAGES.get(setup.engine, "")
    if not image:
        raise ServeError(f"no container image is known for {setup.engine.value}; name one by --image")
    flags = [
        Flag("--rm", (), "gone when it has stopped; the log is kept by Pool"),
        Flag("--init", (), "signals reach the server, and what it leaves behind is collected"),
        Flag("--name", (container_name(setup.port),), "so that it can be stopped, whoever has started it"),
        Flag("--label", (LABEL,), "it belongs to pool serve"),
        *_devices(setup, runtime),
        Flag("--ipc", ("host",), "the engine's processes share memory"),
        Flag("--publish", (f"{_published(setup)}:{setup.port}:{setup.port}",), "the server's port"),
        *_volumes(setup, env),
        *(Flag("--env", (f"{name}={value}",), why) for name, value, why in command.env),
        *(Flag("--env", (name,), "from your environment") for name in _PASSED_ON if env.get(name)),
    ]
    program = command.program
    if setup.engine is Engine.VLLM:
        # The image's own entry point is `vllm serve`.
        program = ()
    inner = [_inside(flag, setup) for flag in command.flags]
    first = Flag("", (image, *program), "the server's image")
    return Command((runtime, "run"), (*flags, first, *inner))


def _published(setup: Setup) -> str:
    return "127.0.0.1" if setup.host == "localhost" else setup.host


def _inside(flag: Flag, setup: Setup) -> Flag:
    """A flag as it is within: the server listens to all of the container, of which only the published port is seen."""
    if flag.name == "--host":
        return replace(flag, values=("0.0.0.0",), reason="within the container; outside it is what --publish says")
    if setup.weights:
        values = tuple(v.replace(str(setup.weights), _IN_WEIGHTS, 1) if v else v for v in flag.values)
        return replace(flag, values=values)
    return flag


def _devices(setup: Setup, runtime: str) -> list[Flag]:
    if setup.machine.chip is Chip.APPLE:
        raise ServeError("a container on a Mac has no GPU; leave out --container")
    if runtime == "podman":
        return [Flag("--device", ("nvidia.com/gpu=all",), "all devices, by CDI")]
    return [Flag("--gpus", ("all",), "all devices")]


def _volumes(setup: Setup, env: Mapping[str, str]) -> list[Flag]:
    caches = Path(env.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    flags = [Flag("--volume", (f"{hub(env)}:{_IN_HUB}",), "weights are fetched once, to this machine")]
    if setup.weights:
        flags.append(Flag("--volume", (f"{setup.weights}:{_IN_WEIGHTS}:ro",), "the weights"))
    if setup.engine is Engine.VLLM:
        for name, inside in (("vllm", "/root/.cache/vllm"), ("flashinfer", "/root/.cache/flashinfer")):
            flags.append(Flag("--volume", (f"{caches / name}:{inside}",), "compiled kernels survive the container"))
    return flags
