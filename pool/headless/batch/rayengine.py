"""Attempts as tasks of a Ray cluster (extra `ray`): each takes one of its server's places, which are Ray resources.

On a cluster that runs already, the machines that may work tasks offer those places: `ray start
--resources='{"pool:gpu1:8000": 4}'`. On this machine, Ray is started for the batch, with as many places as `--jobs` and
`--server URL=N` say. The folders have to be where the workers can see them. A worker that dies loses its attempt, which
is worked again by another, in a fresh folder; Ray itself tries nothing again.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from pool.headless.batch.engine import Lost, Watch, command_of, ended_of
from pool.headless.batch.ledger import Attempt, Ended
from pool.headless.batch.places import Place
from pool.headless.batch.tasks import BatchError
from pool_tools.withparent import end_with_parent

RESOURCE_PREFIX = "pool"
PASSED_ON = ("POOL_",)
"""Variables of the environment that a worker gets; it has its own besides."""

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Ray tells nobody that it is used."""


def resource_of(url: str) -> str:
    """The name of a server's places, such as `pool:gpu1:8000`; `pool:any` where each run looks for its server."""
    parts = urlsplit(url)
    return f"{RESOURCE_PREFIX}:{parts.netloc.rpartition('@')[2]}" if parts.netloc else f"{RESOURCE_PREFIX}:any"


class RayEngine:
    """Hands attempts to Ray."""

    def __init__(self, places: Sequence[Place], address: str) -> None:
        """Connects to the cluster at address, or starts one here. Raises `BatchError`."""
        os.environ.update(QUIET)
        try:
            import ray  # pyright: ignore[reportMissingImports] the extra `ray` need not be there
        except ModuleNotFoundError as error:
            if error.name != "ray":
                raise
            raise BatchError("--engine ray needs the package 'ray': pip install 'laguna-pool[ray]'") from None
        self._ray: Any = ray
        wanted = {resource_of(place.url): float(place.most) for place in places}
        try:
            if address:
                self._ray.init(address=address, log_to_driver=False, configure_logging=False)
            else:
                self._ray.init(
                    address="local",
                    resources=wanted,
                    include_dashboard=False,
                    log_to_driver=False,
                    configure_logging=False,
                )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise BatchError(f"Ray cannot be used: {error}") from None
        offered: Mapping[str, float] = self._ray.cluster_resources()
        if lacking := [name for name in wanted if name not in offered]:
            self._ray.shutdown()
            raise BatchError(
                f"no machine of the cluster offers {lacking[0]!r}; start one with "
                f"ray start --resources='{json.dumps({lacking[0]: int(wanted[lacking[0]])})}'"
            )
        self._remote: Any = self._ray.remote(work_there)

    async def work(self, attempt: Attempt, watch: Watch) -> Ended:
        """Work an attempt on a worker; nothing is told before its end."""
        env = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
        options = {"num_cpus": 0, "resources": {resource_of(attempt.server): 1}, "max_retries": 0}
        began = time.monotonic()
        reference: Any = self._remote.options(**options).remote(
            command_of(attempt, "json")[1:], attempt.task.prompt, env
        )
        watch({"type": "waiting", "state": "given to Ray"})
        try:
            there = cast(dict[str, Any], await asyncio.wrap_future(reference.future()))
        except asyncio.CancelledError:
            self._ray.cancel(reference, force=True)
            raise
        except self._ray.exceptions.RayError as error:
            raise Lost(f"a Ray worker was lost: {type(error).__name__}") from None
        seconds = time.monotonic() - began
        return ended_of(_result(there["out"]), there["status"], there["err"], seconds, there["worker"])

    async def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        await asyncio.to_thread(self._ray.shutdown)


def work_there(arguments: list[str], prompt: str, env: dict[str, str]) -> dict[str, Any]:
    """On a worker: run it with this machine's Python; what it printed, and by whom. It ends with the worker."""
    import socket
    import sys

    done = subprocess.run(
        [sys.executable, *arguments],
        input=prompt.encode("utf-8", "replace"),
        capture_output=True,
        env={**os.environ, **env},
        start_new_session=True,
        preexec_fn=end_with_parent(),
        check=False,
    )
    return {
        "status": done.returncode,
        "out": done.stdout.decode("utf-8", "replace"),
        "err": done.stderr.decode("utf-8", "replace"),
        "worker": f"{socket.gethostname()}, worker {os.getpid()}",
    }


def _result(out: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(out.strip().rpartition("\n")[2])
    except ValueError:
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
